package run

import (
	"fmt"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// The bounds of ends.
const (
	// MostDestroys is the number of Workspaces that may be destroyed within DestroyWindow without a person's consent.
	MostDestroys  = 5
	DestroyWindow = time.Minute
)

// Deletion describes a Workspace that is being deleted.
type Deletion struct {
	// Destroy reports that the Workspace asks for it, and that a Run has held its lock or there is a state.
	Destroy bool
	// Namespace, Definition and Orcon report that these are being deleted too, so that the Workspace was not deleted by
	// itself.
	Namespace, Definition, Orcon bool
	// Begun is when the Workspace was deleted.
	Begun time.Time
	// Destroyed reports that the destroy run has ended well, DestroyFailed that it has not.
	Destroyed, DestroyFailed bool
	// Destroys are the times of the last destroy runs of the cluster.
	Destroys []time.Time
	// Waiting reports that the Workspace waits for a person's consent already: the end of the window is none.
	Waiting bool
	// Confirmed reports that a person agreed to more of them, or that the destroy run was begun.
	Confirmed bool
	Extent    workspace.Extent
	Now       time.Time
}

// Farewell is the next step of a deletion.
type Farewell string

// The steps.
const (
	// AwaitRun waits for the holder of the lock; the controller has cancelled it.
	AwaitRun Farewell = "AwaitRun"
	// AwaitPerson waits for a decision.
	AwaitPerson Farewell = "AwaitPerson"
	// AwaitConsent waits for a person, since too many Workspaces are being destroyed.
	AwaitConsent Farewell = "AwaitConsent"
	// StartDestroy starts the destroy run.
	StartDestroy Farewell = "StartDestroy"
	// LetGo removes the finalizer. State and inputs stay in the store.
	LetGo Farewell = "LetGo"
)

// EndOf returns the next step of a Workspace's deletion, and why (JOBS.md J18). It never waits without a reason.
func EndOf(w workspace.Workspace, d Deletion) (Farewell, string) {
	blocked := w.Startable(d.Extent)
	switch reason := d.going(); {
	case reason != "" && d.stops(w.Lock):
		return AwaitRun, fmt.Sprintf("%s is being deleted: nothing is destroyed, and its run is stopped first, which may take %s", reason,
			w.Lock.Timing.Takeover())
	case reason != "":
		return LetGo, fmt.Sprintf("%s is being deleted: nothing is destroyed, and %s", reason, retained(w))
	case w.Lock.Held() && w.Lock.Recovery.Reason == "":
		return AwaitRun, blocked.Error()
	case !d.Destroy && !w.Lock.Held():
		return LetGo, "nothing is destroyed, and " + retained(w)
	case d.Destroyed:
		return LetGo, "everything was destroyed"
	case blocked != nil:
		return AwaitPerson, blocked.Error()
	case d.DestroyFailed:
		return AwaitPerson, fmt.Sprintf("the destroy run failed: `orcon job run %s --action destroy` tries again; "+
			"spec.deletionPolicy Retain leaves everything", w.Name)
	case (d.Waiting || d.recent() >= MostDestroys) && !d.Confirmed:
		return AwaitConsent, fmt.Sprintf("%d Workspaces were destroyed within a minute: annotation orcon.tengu.io/consent=destroy of %s agrees "+
			"to this one", MostDestroys, w.Name)
	}
	return StartDestroy, "the destroy run starts"
}

// Conditions returns the conditions of a Workspace that is being deleted; why is that of EndOf.
func (f Farewell) Conditions(why string) []condition.Condition {
	if f == AwaitPerson || f == AwaitConsent {
		return condition.Stuck(string(f), why)
	}
	return condition.Waiting(string(f), why)
}

// FarewellMeanings returns every reason that a Workspace shows while it is being deleted.
func FarewellMeanings() []condition.Meaning {
	return []condition.Meaning{
		{Type: condition.Reconciling, Reason: string(AwaitRun), Means: "it is being deleted, and its run is being stopped", Cure: "wait"},
		{Type: condition.Reconciling, Reason: string(StartDestroy), Means: "it is being deleted, and its destroy run starts", Cure: "wait"},
		{Type: condition.Reconciling, Reason: string(LetGo), Means: "it is being deleted, and nothing else is done", Cure: "wait"},
		{Type: condition.Stalled, Reason: string(AwaitPerson), Means: "it is being deleted, and a person must decide first",
			Cure: "use the command in the message"},
		{Type: condition.Stalled, Reason: string(AwaitConsent), Means: "it is being deleted, and so are many others within a minute",
			Cure: "if that is meant, agree with the command in the message"},
	}
}

// retained describes what stays of a Workspace.
func retained(w workspace.Workspace) string {
	return fmt.Sprintf("the state of %s stays in the store", w.Name)
}

// going returns what is being deleted beside the Workspace.
func (d Deletion) going() string {
	switch {
	case d.Namespace:
		return "the namespace"
	case d.Definition:
		return "the kind JobWorkspace"
	case d.Orcon:
		return "Orcon"
	}
	return ""
}

// stops reports whether a process is being stopped that may still store its state. Orcon waits for none when it goes itself.
func (d Deletion) stops(l workspace.Lock) bool {
	runs := l.Claimant.ID != "" && l.Recovery.Reason == ""
	return runs && !d.Orcon && d.Now.Sub(d.Begun) < l.Timing.Takeover()
}

// recent counts the destroy runs within the window.
func (d Deletion) recent() int {
	n := 0
	for _, at := range d.Destroys {
		if d.Now.Sub(at) < DestroyWindow {
			n++
		}
	}
	return n
}

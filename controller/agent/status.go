package agent

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// WriteStatus writes what the agent knows and what it waits for, for a person.
// No value of a databag is in it.
func (a *Agent) WriteStatus(w io.Writer) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "pod\t%s/%s\n", a.settings.Namespace, a.settings.Pod)
	fmt.Fprintf(t, "unit\t%s\n", unitStatus(a.view.Update))
	fmt.Fprintf(t, "controller\t%s\n", a.report.controllerStatus(a.settings.Address))
	fmt.Fprintf(t, "gate\t%s\n", a.Hold().status())
	fmt.Fprintf(t, "files\t%s\n", a.report.filesStatus())
	if a.standby.shown().Stale {
		fmt.Fprint(t, "data\ta copy: the controller has not answered since the start\n")
	}
	if a.handlers != nil {
		fmt.Fprintf(t, "handlers\t%s\n", a.handlers.status())
	}
	if a.signals != nil {
		fmt.Fprintf(t, "signal\t%s\n", a.signals.status())
	}
	fmt.Fprintf(t, "snapshots\t%d applied, %d ignored as older\n", a.report.applied, a.report.refused)
	if a.report.refusal != "" {
		fmt.Fprintf(t, "last ignored\t%s\n", a.report.refusal)
	}
	for _, kind := range slices.Sorted(maps.Keys(a.view.Revisions)) {
		fmt.Fprintf(t, "revision\t%s %d\n", kind, a.view.Revisions[kind])
	}
	fmt.Fprint(t, "\nENDPOINT\tROLE\tID\tINTERFACE\tREMOTE\tUNITS\tKEYS\tSTATE\tWHY\n")
	for _, r := range a.view.View.Relations {
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%d\t%d\t%s\t%s\n",
			r.Endpoint, r.Role, r.ID, r.Interface, r.Remote, len(r.Units), len(a.view.View.Bag(r.RemoteBag)),
			stateOf(r, a.view.Present[key(r)]), cmp.Or(r.Message, r.Reason))
	}
	for _, u := range a.view.Unmet(a.settings.Consumes) {
		if !slices.ContainsFunc(a.view.View.Relations, func(r conversation.Relation) bool { return r.Endpoint == u.Endpoint }) {
			fmt.Fprintf(t, "%s\trequires\t-\t-\t-\t-\t-\tnone\t%s\n", u.Endpoint, u.Why)
		}
	}
	return t.Flush()
}

// unitStatus returns application/number, or why there is none.
func unitStatus(u conversation.Update) string {
	switch {
	case u.Own.Ignored != "":
		return "none: " + u.Own.Ignored
	case u.View.Application == "":
		return "not known yet"
	case !u.Own.Known:
		return u.View.Application + " (no number yet)"
	default:
		return conversation.Unit{Application: u.View.Application, Number: u.Own.Number}.String()
	}
}

// stateOf returns one word for a relation that the latest snapshot had or had not.
func stateOf(r conversation.Relation, present bool) string {
	switch {
	case ended(r):
		return "ended"
	case !present:
		return "unknown, kept"
	case r.Life == conversation.Suspended:
		return "suspended"
	case r.Held:
		return "held"
	case r.Complete:
		return "complete"
	case r.Role == application.Provider || r.Role == application.Peer:
		return "related"
	default:
		return "incomplete"
	}
}

func (r report) controllerStatus(address string) string {
	switch {
	case r.connected:
		return fmt.Sprintf("%s, connected since %s", address, stamp(r.since))
	case r.since.IsZero():
		return fmt.Sprintf("%s, connecting since %s", address, stamp(r.started))
	default:
		return fmt.Sprintf("%s, not connected since %s: %s", address, stamp(r.since), r.why)
	}
}

func (h Hold) status() string {
	a := h.agent
	if a.isOpen() {
		return fmt.Sprintf("open since %s, after %s", stamp(a.report.opened), a.report.waited())
	}
	why := cmp.Or(a.report.waiting, "the first answer of the controller")
	if len(a.view.Unmet(a.settings.Consumes)) == 0 {
		why = "its files"
	}
	return fmt.Sprintf("closed for %s, waiting for %s", a.report.waited(), why)
}

// Hold keeps the containers of the pod from starting, and has what its probes report.
type Hold struct{ agent *Agent }

// Hold returns the hold of the pod.
func (a *Agent) Hold() Hold { return Hold{a} }

// Trouble returns what keeps the gate closed besides missing data; "" if nothing does.
func (h Hold) Trouble() string {
	a := h.agent
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.report
	switch {
	case a.isOpen():
		return ""
	case r.untooled != "":
		return "cannot install the tools: " + r.untooled
	case r.failing != "":
		return "cannot write the files of the relations: " + r.failing
	case !r.connected:
		return fmt.Sprintf("cannot reach the controller at %s: %s", a.settings.Address, cmp.Or(r.why, "no answer yet"))
	default:
		return ""
	}
}

// ToolsInstalled notes whether the tools are there; err is why they are not.
func (h Hold) ToolsInstalled(err error) {
	a := h.agent
	a.mu.Lock()
	defer a.mu.Unlock()
	a.report.untooled = ""
	if err != nil {
		a.report.untooled = err.Error()
	}
}

func (r report) filesStatus() string {
	if r.failing != "" {
		return "not all are written: " + r.failing
	}
	if r.lastChange.IsZero() {
		return "unchanged since the start"
	}
	return "last changed " + stamp(r.lastChange)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

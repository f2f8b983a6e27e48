package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// maxMessage is the size of the message of an end, in bytes.
const maxMessage = 4096

// ToRun returns the identity of a Run.
func ToRun(o *v1alpha1.JobRun) workspace.Run { return workspace.Run{UID: string(o.UID), Name: o.Name} }

// Approves reports whether an approval may count for a Run of the name that it has: it goes with one Run, and not with another
// that was made anew under the same name.
func Approves(o *v1alpha1.JobApproval, r workspace.Run) bool {
	return !slices.ContainsFunc(o.OwnerReferences, func(owner metav1.OwnerReference) bool {
		return owner.Kind == "JobRun" && string(owner.UID) != r.UID
	})
}

// OwnerOf returns the owner of a Run: the Workspace for which it was frozen. It is the zero value before that.
func OwnerOf(o *v1alpha1.JobRun) metav1.OwnerReference {
	for _, owner := range o.OwnerReferences {
		if owner.Kind == "JobWorkspace" {
			return owner
		}
	}
	return metav1.OwnerReference{}
}

// Cancelled reports whether a person cancelled a Run; its deletion is a cancel too.
func Cancelled(o *v1alpha1.JobRun) bool {
	return o.Spec.Cancel == v1alpha1.CancelRequested || !o.DeletionTimestamp.IsZero()
}

// TimedOut reports whether the timeout of a Run has passed before its end.
func TimedOut(o *v1alpha1.JobRun) bool {
	return o.State != nil && o.State.Timeout == v1alpha1.TimeoutPassed
}

// Stopped reports whether the process of a Run is to be stopped, by a cancel or by its timeout.
func Stopped(o *v1alpha1.JobRun) bool { return Cancelled(o) || TimedOut(o) }

// SetTimedOut notes that the timeout of a Run has passed.
func SetTimedOut(o *v1alpha1.JobRun) {
	if o.State == nil {
		o.State = &v1alpha1.JobRunState{}
	}
	o.State.Timeout = v1alpha1.TimeoutPassed
}

// ToWaiting returns a Run as the queue knows it; false for one that has ended.
func ToWaiting(o *v1alpha1.JobRun) (run.Waiting, bool) {
	if o.State != nil && o.State.End != nil {
		return run.Waiting{}, false
	}
	return run.Waiting{Run: ToRun(o), Created: o.CreationTimestamp.UTC(), Cancelled: Cancelled(o)}, true
}

// ToPublished returns the end of a Run that is stored; the zero value before it has ended.
func ToPublished(o *v1alpha1.JobRun) (run.Status, error) {
	if o.State == nil || o.State.End == nil {
		return run.Status{}, nil
	}
	e, r := o.State.End, reader{}
	s := run.Status{
		Phase: known(&r, "state.end.phase", string(e.Phase), phases()...), Reason: e.Reason, Message: e.Message,
		Outcome: r.outcome("state.end.outcome", e.Outcome), Exit: r.exit("state.end.exit", e.Exit),
		Attempt: int(e.Attempt), Fence: e.Fence,
	}
	if !s.Ended() {
		r.fault(errors.New("state.end.outcome: an end needs an outcome: restore the object from a backup"))
	}
	return s, errors.Join(r.faults...)
}

// SetEnd writes the end of a Run into its state, and reports whether it did. One that is there stays, and a status
// without an outcome changes nothing (JOBS.md J4).
func SetEnd(o *v1alpha1.JobRun, s run.Status) bool {
	if !s.Ended() || o.State != nil && o.State.End != nil {
		return false
	}
	if o.State == nil {
		o.State = &v1alpha1.JobRunState{}
	}
	o.State.End = &v1alpha1.JobRunEnd{
		Phase: v1alpha1.JobRunPhase(s.Phase), Reason: s.Reason, Message: condition.Cut(condition.Line(s.Message), maxMessage),
		Outcome: forWord(s.Outcome, outcomes), Exit: forExit(s.Exit), Attempt: value.FromInt(s.Attempt), Fence: s.Fence,
	}
	return true
}

// SetRun writes what is derived of a Run into its status.
func SetRun(o *v1alpha1.JobRun, s run.Status, now time.Time) {
	o.Status.ObservedGeneration = o.Generation
	o.Status.Phase, o.Status.Attempt, o.Status.Fence = v1alpha1.JobRunPhase(s.Phase), value.FromInt(s.Attempt), s.Fence
	o.Status.Conditions = value.SetConditions(o.Status.Conditions, s.Conditions(), o.Generation, now)
}

// ToInput returns the frozen input of a Run; false before it is frozen. An input that does not have its digest was
// changed, and is not to be run.
func ToInput(o *v1alpha1.JobRun) (run.Input, bool, error) {
	if o.State == nil || o.State.Input == nil {
		return run.Input{}, false, nil
	}
	i := o.State.Input
	parameters, err := ToParameters("state.input.parameters", i.Parameters)
	if err != nil {
		return run.Input{}, true, err
	}
	if parameters == nil {
		parameters = map[string]any{}
	}
	env, err := toEnv("state.input.env", i.Env)
	if err != nil {
		return run.Input{}, true, err
	}
	safety, err := toWord("state.input.safety", i.Safety, safeties)
	if err != nil {
		return run.Input{}, true, err
	}
	kind, err := toWord("state.input.type", i.Type, types)
	if err != nil {
		return run.Input{}, true, err
	}
	input := run.Input{
		Type: kind, Action: i.Action, Safety: safety, Artifact: run.Artifact{Image: i.Image, Content: i.Content},
		Entrypoint: some(i.Entrypoint), Args: some(i.Args), Contract: i.Contract, Parameters: parameters, Env: env,
		Files: run.Files{Exclude: some(i.Exclude), Rescue: some(i.Rescue), RestoreLogs: restores(i.Logs)},
		Surroundings: run.Surroundings{
			Confidential: run.Confidential{Secrets: ToSecrets(i.Secrets), SensitiveOutputs: i.SensitiveOutputs}, Target: ToTarget(i.Target),
		},
		Steps: run.Steps{Plan: i.Plan},
	}
	if i.Planned != nil {
		input.Planned = run.Action{Entrypoint: some(i.Planned.Entrypoint), Args: some(i.Planned.Args)}
	}
	if i.Destroy != nil {
		input.Destroy = run.Action{Entrypoint: some(i.Destroy.Entrypoint), Args: some(i.Destroy.Args)}
	}
	digest, err := input.Digest()
	switch {
	case err != nil:
		return run.Input{}, true, fmt.Errorf("state.input: %w", err)
	case digest != i.Digest:
		return run.Input{}, true, fmt.Errorf("state.input: its digest is %s, but it was frozen with %s: create another JobRun", digest, i.Digest)
	}
	return input, true, nil
}

// SetInput freezes the input of a Run. One that is there stays.
func SetInput(o *v1alpha1.JobRun, i run.Input) error {
	if o.State != nil && o.State.Input != nil {
		return nil
	}
	parameters, err := json.Marshal(i.Parameters)
	if err != nil {
		return fmt.Errorf("cannot freeze the parameters: %w", err)
	}
	frozen := &v1alpha1.JobInput{
		Type: forWord(i.Type, types), Action: i.Action, Safety: forWord(i.Safety, safeties), Image: i.Image, Content: i.Content,
		Contract: i.Contract, Entrypoint: some(i.Entrypoint), Args: some(i.Args), Env: forEnv(i.Env),
		Exclude: some(i.Exclude), Rescue: some(i.Rescue), Parameters: &runtime.RawExtension{Raw: parameters}, Secrets: forSecrets(i.Secrets),
		SensitiveOutputs: i.SensitiveOutputs, Target: forTarget(i.Target), Plan: i.Plan,
	}
	if d := i.Planned; len(d.Entrypoint)+len(d.Args) > 0 {
		frozen.Planned = &v1alpha1.JobCommand{Entrypoint: some(d.Entrypoint), Args: some(d.Args)}
	}
	if i.RestoreLogs {
		frozen.Logs = &v1alpha1.JobLogs{Restore: v1alpha1.RestoreAlways}
	}
	if d := i.Destroy; len(d.Entrypoint)+len(d.Args) > 0 {
		frozen.Destroy = &v1alpha1.JobCommand{Entrypoint: some(d.Entrypoint), Args: some(d.Args)}
	}
	if frozen.Digest, err = i.Digest(); err != nil {
		return err
	}
	if o.State == nil {
		o.State = &v1alpha1.JobRunState{}
	}
	o.State.Input = frozen
	return nil
}

// SetStanding writes what is derived of a Workspace into its status, with its conditions.
func SetStanding(
	o *v1alpha1.JobWorkspace, w workspace.Workspace, e workspace.Extent, queued int, conditions []condition.Condition, now time.Time,
) {
	o.Status.ObservedGeneration = o.Generation
	o.Status.Phase, o.Status.QueuedRuns = string(w.Phase(e)), value.FromInt(queued)
	o.Status.Conditions = value.SetConditions(o.Status.Conditions, conditions, o.Generation, now)
}

// phases returns the phases with which a Run may end.
func phases() []run.Phase {
	return []run.Phase{run.Lost, run.Succeeded, run.Failed, run.Cancelled, run.TimedOut, run.Rejected}
}

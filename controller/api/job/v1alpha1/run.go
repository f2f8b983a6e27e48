package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TimeoutPassed is the value of state.timeout once it has passed.
const TimeoutPassed = "Passed"

// CancelRequested is the value of cancel that stops a JobRun.
const CancelRequested = "Requested"

// JobRun is one execution of an action of a JobWorkspace. It waits until the lock is free, and never starts twice after
// it has ended. To stop it, set spec.cancel or delete it: its state is kept all the same.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=jr,categories=orcon
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",message="a JobRun's name has at most 52 characters"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.state) || has(self.state)",message="state cannot be removed: leave it as it is"
// +kubebuilder:printcolumn:name="Workspace",type=string,JSONPath=`.spec.workspace`
// +kubebuilder:printcolumn:name="Action",type=string,JSONPath=`.spec.action`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Attempt",type=integer,JSONPath=`.status.attempt`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.state.end.outcome`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type JobRun struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what is run; only cancel can be changed.
	// +required
	Spec JobRunSpec `json:"spec"`
	// state holds what cannot be computed again: the frozen input, a timeout that has passed, and the end. It is written by
	// Orcon alone.
	// +optional
	State *JobRunState `json:"state,omitempty"`
	// status is written by the controller.
	// +optional
	Status JobRunStatus `json:"status,omitempty"`
}

// JobRunSpec says what is run.
//
// +kubebuilder:validation:XValidation:rule="has(self.timeout) == has(oldSelf.timeout)",message="timeout never changes: use another JobRun"
// +kubebuilder:validation:XValidation:rule="has(self.plan) == has(oldSelf.plan)",message="plan never changes: use another JobRun"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.cancel) || has(self.cancel)",message="a cancel is final: create another JobRun"
type JobRunSpec struct {
	// workspace is the name of a JobWorkspace of this namespace; it cannot be changed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=45
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="workspace never changes: use another JobRun"
	Workspace string `json:"workspace"`
	// action is the name of an action of the template; it cannot be changed.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([a-z0-9-]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="action never changes: use another JobRun"
	Action string `json:"action"`
	// plan is the name of the JobRun whose plan is applied, which a JobApproval must have approved; unset for a run that
	// applies none. It cannot be changed. orcon job approve has such a JobRun made.
	// +optional
	// +kubebuilder:validation:MaxLength=52
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="plan never changes: use another JobRun"
	Plan string `json:"plan,omitempty"`
	// timeout is how long the run may take from its admission, at least 1s, before it is stopped as by a cancel; unset for
	// no limit. It cannot be changed.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(\.[0-9]{1,6})?(ns|us|µs|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="timeout must be at least 1s"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="timeout never changes: use another JobRun"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// cancel is Requested to stop the run: SIGTERM, the grace of the JobWorkspace, SIGKILL; then its state is kept. It
	// cannot be taken back.
	// +optional
	// +kubebuilder:validation:Enum=Requested
	Cancel string `json:"cancel,omitempty"`
}

// JobRunState holds what cannot be computed again.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.input) || has(self.input)",message="the input of a JobRun is frozen"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.timeout) || has(self.timeout)",message="a timeout that has passed stays so"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.report) || has(self.report)",message="a report stays"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.end) || has(self.end)",message="the end of a JobRun is final"
type JobRunState struct {
	// input is everything that decides what the run does, as it was when the controller first saw the JobRun.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the input of a JobRun is frozen"
	Input *JobInput `json:"input,omitempty"`
	// timeout is Passed once spec.timeout had passed before the run ended: it is stopped then, as by a cancel.
	// +optional
	// +kubebuilder:validation:Enum=Passed
	Timeout string `json:"timeout,omitempty"`
	// report holds what the template left under the highest fence that reported; unset before that.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf || self.fence > oldSelf.fence",message="the report of a fence never changes"
	Report *JobReport `json:"report,omitempty"`
	// end is the end of the run; unset until then.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the end of a JobRun is final"
	End *JobRunEnd `json:"end,omitempty"`
}

// JobReport holds what a template left beside its state. It is stored before the end is recorded.
type JobReport struct {
	// fence is the number of the hold under which the template ran.
	// +required
	// +kubebuilder:validation:Minimum=1
	Fence int64 `json:"fence"`
	// outputs are the outputs of the template, at most 256 KiB; unset for none. A sensitive one is {"sensitive": true}: its
	// value is in Secret WORKSPACE-outputs alone.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Outputs *runtime.RawExtension `json:"outputs,omitempty"`
	// message explains a bad outcome; unset for a good one.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Message string `json:"message,omitempty"`
}

// JobInput is everything that decides what a run does.
type JobInput struct {
	// digest is the digest of the other fields.
	// +required
	// +kubebuilder:validation:MaxLength=71
	Digest string `json:"digest"`
	// action is the name of the action.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Action string `json:"action"`
	// safety is that of the template; unset is Exclusive.
	// +optional
	Safety JobSafety `json:"safety,omitempty"`
	// image is the image of the program, by digest.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Image string `json:"image"`
	// content is the digest of the content that is copied to /work; unset for a program whose image has its content.
	// +optional
	// +kubebuilder:validation:MaxLength=71
	Content string `json:"content,omitempty"`
	// contract is the version of the runner contract.
	// +required
	// +kubebuilder:validation:MaxLength=16
	Contract string `json:"contract"`
	// type is the type of the template; unset for none.
	// +optional
	Type JobToolType `json:"type,omitempty"`
	// entrypoint is the program and its first arguments.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4096
	Entrypoint []string `json:"entrypoint,omitempty"`
	// args are further arguments; unset for none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=4096
	Args []string `json:"args,omitempty"`
	// parameters are the values of the parameters; unset for none.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Parameters *runtime.RawExtension `json:"parameters,omitempty"`
	// env lists variables of the program.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Env []JobVariable `json:"env,omitempty"`
	// exclude are patterns of files below /state that are not kept.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	Exclude []string `json:"exclude,omitempty"`
	// rescue are patterns of files below /work that are kept with the state.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	Rescue []string `json:"rescue,omitempty"`
	// logs has the policy for log files; unset for the defaults.
	// +optional
	Logs *JobLogs `json:"logs,omitempty"`
	// secrets are files with values of Secrets.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Secrets []JobSecret `json:"secrets,omitempty"`
	// sensitiveOutputs are the names of outputs whose values are in Secret WORKSPACE-outputs alone.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=128
	SensitiveOutputs []string `json:"sensitiveOutputs,omitempty"`
	// target is where the run is carried out; unset is the cluster.
	// +optional
	Target *JobTarget `json:"target,omitempty"`
	// destroy is the command of action destroy, for the deletion of the JobWorkspace; unset if the template has none.
	// +optional
	Destroy *JobCommand `json:"destroy,omitempty"`
	// planned is the command of the action that the action plans; unset if it plans none.
	// +optional
	Planned *JobCommand `json:"planned,omitempty"`
	// plan is the digest of the plan that is applied; unset for none.
	// +optional
	// +kubebuilder:validation:MaxLength=71
	Plan string `json:"plan,omitempty"`
}

// JobCommand is a command.
type JobCommand struct {
	// entrypoint is the program and its first arguments.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4096
	Entrypoint []string `json:"entrypoint,omitempty"`
	// args are further arguments; unset for none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=4096
	Args []string `json:"args,omitempty"`
}

// JobRunEnd is the end of a run.
type JobRunEnd struct {
	// phase is the last phase of the run.
	// +required
	Phase JobRunPhase `json:"phase"`
	// reason is the reason of its condition.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`
	// message describes the end, and what helps.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Message string `json:"message,omitempty"`
	// outcome tells what became of the state.
	// +required
	Outcome JobOutcome `json:"outcome"`
	// exit tells how the process ended; unset for success.
	// +optional
	Exit *JobExit `json:"exit,omitempty"`
	// attempt is the last attempt of the run; unset if it never held the lock.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// fence is the number of its last hold of the lock; unset if it never held it.
	// +optional
	Fence int64 `json:"fence,omitempty"`
}

// JobRunStatus is the observed state of a JobRun.
type JobRunStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase is the state of the run in one word. Succeeded, Failed, Cancelled, TimedOut and Rejected are ends; Lost is one
	// once state.end is set.
	// +optional
	Phase JobRunPhase `json:"phase,omitempty"`
	// attempt counts the starts of the run; unset before the first one.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// fence is the number of its hold of the lock; unset before that.
	// +optional
	Fence int64 `json:"fence,omitempty"`
	// conditions are Ready, Reconciling and Stalled. Ready is true once the run has succeeded.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// JobRunList is a list of JobRuns.
//
// +kubebuilder:object:root=true
type JobRunList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of a list.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the JobRuns.
	Items []JobRun `json:"items"`
}

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Finalizer keeps a JobRun until its end is recorded and what carried it out is gone, and a JobWorkspace until its run
// has ended, and everything is destroyed if it asks for that.
const Finalizer = "orcon.tengu.io/job"

// DestroyLabel is the label of the destroy runs of JobWorkspaces that are deleted. Its value is the JobWorkspace.
const DestroyLabel = "orcon.tengu.io/destroys"

// ConsentKey is the annotation of a JobWorkspace by which a person agrees that it is destroyed although many others are,
// and ConsentDestroy its value.
const (
	ConsentKey     = "orcon.tengu.io/consent"
	ConsentDestroy = "destroy"
)

// JobWorkspace is the lock and the lineage of states of runs that follow each other: a JobTemplate with parameters,
// run again and again, one JobRun at a time.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=jw,categories=orcon
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 45",message="a JobWorkspace's name has at most 45 characters"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.state) || has(self.state)",message="state cannot be removed: leave it as it is"
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Run",type=string,JSONPath=`.state.lock.run.name`
// +kubebuilder:printcolumn:name="Generation",type=integer,JSONPath=`.state.generation.number`
// +kubebuilder:printcolumn:name="Queued",type=integer,JSONPath=`.status.queuedRuns`
// +kubebuilder:printcolumn:name="Template",type=string,JSONPath=`.spec.template`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type JobWorkspace struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +required
	Spec JobWorkspaceSpec `json:"spec"`
	// state holds the lock and the lineage of states, which cannot be computed again. It is written by Orcon alone, each
	// time as a whole.
	// +optional
	State *JobWorkspaceState `json:"state,omitempty"`
	// status is written by the controller.
	// +optional
	Status JobWorkspaceStatus `json:"status,omitempty"`
}

// JobWorkspaceSpec is the desired state. A change counts for the next run.
type JobWorkspaceSpec struct {
	// template is the name of a JobTemplate of this namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Template string `json:"template"`
	// version is the name of a JobTemplateVersion of that template; unset is the one in its status.version when a run is
	// created. A template that names an image has no versions.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Version string `json:"version,omitempty"`
	// parameters are the values of the template's parameters; unset for none.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Parameters *runtime.RawExtension `json:"parameters,omitempty"`
	// secrets are files of folder /run/orcon/secrets of each run, in memory. One whose name is that of a sensitive parameter
	// has its value. Values of 4 bytes or more are replaced in logs.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Secrets []JobSecret `json:"secrets,omitempty"`
	// outputs names the relation that has the outputs of runs as its data; unset for none.
	// +optional
	Outputs *JobOutputs `json:"outputs,omitempty"`
	// target is where runs are carried out; unset is the cluster.
	// +optional
	Target *JobTarget `json:"target,omitempty"`
	// concurrency decides about a JobRun that is created while another one is queued or running: Queue (default) runs
	// them in order of creation, Reject ends the new one at once, SupersedeQueued keeps only the newest that is queued.
	// +optional
	// +kubebuilder:validation:Enum=Queue;Reject;SupersedeQueued
	Concurrency string `json:"concurrency,omitempty"`
	// approval is Plan for runs whose changes a person approves: an action other than plan, plan-NAME and check runs only to
	// apply a plan that a JobApproval names. None (default) runs each action at once. The deletion of the JobWorkspace needs
	// no approval.
	// +optional
	// +kubebuilder:validation:Enum=None;Plan
	Approval string `json:"approval,omitempty"`
	// check has action check of the template run by a schedule: condition Drifted shows what the last one found; unset for
	// no schedule.
	// +optional
	Check *JobCheck `json:"check,omitempty"`
	// lostAfter is how long a run may send no renewal before it counts as lost, from 1s to 1h; unset is 60s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(\.[0-9]{1,6})?(ns|us|µs|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="use 1s to 1h"
	LostAfter *metav1.Duration `json:"lostAfter,omitempty"`
	// cancelGracePeriod is how long a program has between SIGTERM and SIGKILL, at most 1h; unset is 120s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(\.[0-9]{1,6})?(ns|us|µs|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('1h')",message="use at most 1h"
	CancelGracePeriod *metav1.Duration `json:"cancelGracePeriod,omitempty"`
	// holdOnFailure is how long the container of a run is kept if its program fails, from 1m to 24h, so that it can be looked
	// at by kubectl exec; unset is not at all. The run keeps the lock until then, and the state that is left is captured. A
	// cancel ends it.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(\.[0-9]{1,6})?(ns|us|µs|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('24h')",message="1m to 24h"
	HoldOnFailure *metav1.Duration `json:"holdOnFailure,omitempty"`
	// keepGenerations is how many earlier generations of the state are kept, from 1 to 100; unset is 20.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	KeepGenerations int32 `json:"keepGenerations,omitempty"`
	// state tells how states are stored; unset is the default of each field.
	// +optional
	State *JobStatePolicy `json:"state,omitempty"`
	// logs tells how long the logs of runs are kept; unset is the default of each field.
	// +optional
	Logs *JobLogPolicy `json:"logs,omitempty"`
	// deletionPolicy is Destroy to run action destroy when the JobWorkspace is deleted, with the frozen input of its last
	// run; Retain (default) leaves everything. If its namespace, its definition or Orcon is deleted, nothing is destroyed.
	// The states stay in the store either way.
	// +optional
	// +kubebuilder:validation:Enum=Retain;Destroy
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
}

// JobStatePolicy tells how states are stored.
type JobStatePolicy struct {
	// encryption is Disabled to store new states in plain: all that can read the store can read them. Enabled (default)
	// encrypts states, checkpoints and orphans, unless that is switched off for the installation. States that are stored
	// already stay as they are, and readable.
	// +optional
	// +kubebuilder:validation:Enum=Enabled;Disabled
	Encryption string `json:"encryption,omitempty"`
	// maxSize is how large a state may be as an archive, from 1Mi to 512Mi; unset is 64Mi. A larger one is not a generation:
	// up to eight times as much, and 512Mi at most, is kept as an orphan.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^[0-9]{1,9}(Ki|Mi|k|M)?$`
	// +kubebuilder:validation:XValidation:rule="!quantity(self).isLessThan(quantity('1Mi'))",message="use 1Mi to 512Mi"
	// +kubebuilder:validation:XValidation:rule="!quantity(self).isGreaterThan(quantity('512Mi'))",message="use 1Mi to 512Mi"
	MaxSize string `json:"maxSize,omitempty"`
	// checkpointInterval is the time between checkpoints of a state that changes while a run goes on, from 1s to 1h; unset is
	// 30s. A write of Terraform's state over HTTP is a checkpoint at once.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(\.[0-9]{1,6})?(ns|us|µs|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="use 1s to 1h"
	CheckpointInterval *metav1.Duration `json:"checkpointInterval,omitempty"`
}

// EncryptionDisabled is the encryption of states that are stored in plain.
const EncryptionDisabled = "Disabled"

// JobLogPolicy tells how long the logs of runs are kept. Those of the last run stay.
type JobLogPolicy struct {
	// keepRuns is the number of runs that have ended whose logs are kept, from 1 to 1000; unset is 100.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	KeepRuns int32 `json:"keepRuns,omitempty"`
	// keepFor is how long the logs of a run are kept after its end, at least 1h; unset sets no such limit.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(\.[0-9]{1,6})?(ns|us|µs|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1h')",message="use at least 1h"
	KeepFor *metav1.Duration `json:"keepFor,omitempty"`
}

// JobOutputs names a relation's endpoint that has the outputs of runs as its data.
type JobOutputs struct {
	// service is the name of a Service of this namespace that provides the endpoint. It gets annotation data.tengu.io/ENDPOINT
	// with the outputs of the last run, and secret.tengu.io/ENDPOINT for the sensitive ones.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Service string `json:"service"`
	// endpoint is the name of the endpoint.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([a-z0-9_-]*[a-z0-9])?$`
	Endpoint string `json:"endpoint"`
}

// DeletionPolicyDestroy is the deletionPolicy by which the deletion of a JobWorkspace runs action destroy.
const DeletionPolicyDestroy = "Destroy"

// JobWorkspaceState is the lock and the lineage of states.
type JobWorkspaceState struct {
	// fence is the highest fence that was used. Each hold of the lock has a higher one.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:XValidation:rule="self >= oldSelf",message="a fence that was used is never used again"
	Fence int64 `json:"fence"`
	// lock is the hold of the lock; unset while it is free.
	// +optional
	Lock *JobLock `json:"lock,omitempty"`
	// generation is the current state; unset for the empty one, which has number 0.
	// +optional
	Generation *JobGeneration `json:"generation,omitempty"`
	// kept are earlier generations, the newest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Kept []JobGeneration `json:"kept,omitempty"`
	// checkpoint is the last checkpoint of the hold; unset for none.
	// +optional
	Checkpoint *JobCheckpoint `json:"checkpoint,omitempty"`
	// orphans are stored states that are not generations, in the order of their arrival. They are kept for 30 days.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	Orphans []JobOrphan `json:"orphans,omitempty"`
	// lastEnd is the end of the last run; unset before the first one.
	// +optional
	LastEnd *JobEnd `json:"lastEnd,omitempty"`
	// plan is the newest plan that a run has left; unset for none.
	// +optional
	Plan *JobPlan `json:"plan,omitempty"`
}

// JobHolder identifies the holder of a lock.
type JobHolder struct {
	// uid is the UID of the JobRun, or that of a push.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	UID string `json:"uid"`
	// name is the name of the JobRun, or of the person who pushes.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"name,omitempty"`
	// origin is Push for a person's change of the state; unset for a JobRun.
	// +optional
	// +kubebuilder:validation:Enum=Push
	Origin string `json:"origin,omitempty"`
}

// OriginPush is the origin of a person's change of the state.
const OriginPush = "Push"

// JobClaimant identifies what may start the process.
type JobClaimant struct {
	// id is the UID of a pod, or the name of a node.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ID string `json:"id"`
	// where is its node or machine.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Where string `json:"where,omitempty"`
}

// JobLock is the hold of a run.
type JobLock struct {
	// run is the holder.
	// +required
	Run JobHolder `json:"run"`
	// attempt counts the starts of the run, from 1.
	// +required
	// +kubebuilder:validation:Minimum=1
	Attempt int32 `json:"attempt"`
	// fence is the number of the hold.
	// +required
	// +kubebuilder:validation:Minimum=1
	Fence int64 `json:"fence"`
	// base is the number of the generation that the attempt begins from.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Base int64 `json:"base,omitempty"`
	// claimant is the pod or node that may have started the process; unset before that.
	// +optional
	Claimant *JobClaimant `json:"claimant,omitempty"`
	// since is the time at which the run was admitted.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// safety is that of the template at that time; unset is Exclusive.
	// +optional
	Safety JobSafety `json:"safety,omitempty"`
	// lostAfter is spec.lostAfter at that time.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	LostAfter metav1.Duration `json:"lostAfter"`
	// cancelGracePeriod is spec.cancelGracePeriod at that time.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	CancelGracePeriod metav1.Duration `json:"cancelGracePeriod"`
	// recovery tells why a person must decide; unset while no decision is needed.
	// +optional
	Recovery *JobRecovery `json:"recovery,omitempty"`
	// earlier is GivenUp if a process of an earlier attempt may have run, and a person gave it up and had the run tried
	// again; unset otherwise.
	// +optional
	// +kubebuilder:validation:Enum=GivenUp
	Earlier string `json:"earlier,omitempty"`
}

// EarlierGivenUp is the value of earlier for a run whose earlier attempt was given up.
const EarlierGivenUp = "GivenUp"

// JobRecovery tells why a hold needs a person's decision.
type JobRecovery struct {
	// reason is Silent if the holder sends no renewals, Vanished if its pod ended without an outcome, StateTooLarge if the
	// state is larger than spec.state.maxSize, and CaptureFailed if it could not be committed for another reason.
	// +required
	// +kubebuilder:validation:Enum=Silent;Vanished;CaptureFailed;StateTooLarge
	Reason string `json:"reason"`
	// outcome is the outcome that the holder reported; unset for none.
	// +optional
	Outcome JobOutcome `json:"outcome,omitempty"`
	// exit tells how the process ended; unset for success.
	// +optional
	Exit *JobExit `json:"exit,omitempty"`
}

// JobExit tells how a process ended.
type JobExit struct {
	// code is the exit code; unset is 0.
	// +optional
	Code int32 `json:"code,omitempty"`
	// cause is the reason why the process did not end by itself; unset for one that did.
	// +optional
	// +kubebuilder:validation:Enum=Killed;OutOfMemory;NotStarted;Unreported
	Cause string `json:"cause,omitempty"`
}

// JobArchive is a stored state.
type JobArchive struct {
	// digest is the digest of the plain archive.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Digest string `json:"digest,omitempty"`
	// key is the key of the archive in the store.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Key string `json:"key,omitempty"`
	// fence is the number of the hold that wrote the archive.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Fence int64 `json:"fence,omitempty"`
}

// JobGeneration is one state of the lineage.
type JobGeneration struct {
	// number counts the generations; 0 is the empty state.
	// +required
	// +kubebuilder:validation:Minimum=0
	Number int64 `json:"number"`
	// base is the number of the generation that it was made from.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Base int64 `json:"base,omitempty"`
	// archive is the stored state; unset for the empty one.
	// +optional
	Archive *JobArchive `json:"archive,omitempty"`
	// exit tells how the process that left the state ended; unset for success.
	// +optional
	Exit *JobExit `json:"exit,omitempty"`
	// acceptance is Accepted if a person accepted the state of a process that was killed.
	// +optional
	// +kubebuilder:validation:Enum=Accepted
	Acceptance string `json:"acceptance,omitempty"`
	// author is the run or person that made it.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Author string `json:"author,omitempty"`
}

// AcceptanceAccepted is the acceptance of a state that a person accepted.
const AcceptanceAccepted = "Accepted"

// JobCheckpoint is a state in the middle of a hold.
type JobCheckpoint struct {
	// archive is the stored state.
	// +optional
	Archive *JobArchive `json:"archive,omitempty"`
	// sequence counts the checkpoints of the hold.
	// +required
	// +kubebuilder:validation:Minimum=0
	Sequence int64 `json:"sequence"`
	// consistency is Torn if a process may have been writing.
	// +optional
	Consistency JobConsistency `json:"consistency,omitempty"`
}

// JobOrphan is a stored state that is not a generation.
type JobOrphan struct {
	// archive is the stored state.
	// +optional
	Archive *JobArchive `json:"archive,omitempty"`
	// base is the number of the generation that its process began from.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Base int64 `json:"base,omitempty"`
	// author is the run that made it.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Author string `json:"author,omitempty"`
	// exit tells how the process ended; unset for success.
	// +optional
	Exit *JobExit `json:"exit,omitempty"`
	// consistency is Torn if a process may have been writing.
	// +optional
	Consistency JobConsistency `json:"consistency,omitempty"`
	// since is the time of its arrival.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// decision is Discarded if a person does not need it.
	// +optional
	// +kubebuilder:validation:Enum=Discarded
	Decision string `json:"decision,omitempty"`
}

// DecisionDiscarded is the decision about an orphan that is not needed.
const DecisionDiscarded = "Discarded"

// JobEnd is the end of a run's hold.
type JobEnd struct {
	// run is the holder.
	// +required
	Run JobHolder `json:"run"`
	// attempt is the last attempt of the run.
	// +required
	Attempt int32 `json:"attempt"`
	// fence is the number of the hold.
	// +required
	Fence int64 `json:"fence"`
	// outcome tells what became of the state.
	// +required
	Outcome JobOutcome `json:"outcome"`
	// exit tells how the process ended; unset for success.
	// +optional
	Exit *JobExit `json:"exit,omitempty"`
}

// JobWorkspaceStatus is the observed state of a JobWorkspace.
type JobWorkspaceStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase is the state of the lock in one word.
	// +optional
	// +kubebuilder:validation:Enum=Ready;Starting;Running;NeedsRecovery;NeedsAccept;StoreAhead
	Phase string `json:"phase,omitempty"`
	// queuedRuns is the number of JobRuns that wait for the lock.
	// +optional
	QueuedRuns int32 `json:"queuedRuns,omitempty"`
	// conditions are Ready, Reconciling and Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// JobWorkspaceList is a list of JobWorkspaces.
//
// +kubebuilder:object:root=true
type JobWorkspaceList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of a list.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the JobWorkspaces.
	Items []JobWorkspace `json:"items"`
}

package v1alpha1

// JobSafety tells what may happen when a run of a template is started while an earlier one may still be running.
//
// +kubebuilder:validation:Enum=ReadOnly;Idempotent;Exclusive
type JobSafety string

// The levels.
const (
	SafetyReadOnly   JobSafety = "ReadOnly"
	SafetyIdempotent JobSafety = "Idempotent"
	SafetyExclusive  JobSafety = "Exclusive"
)

// JobToolType tells which tool a template runs.
//
// +kubebuilder:validation:Enum=OpenTofu;Ansible
type JobToolType string

// The types.
const (
	TypeOpenTofu JobToolType = "OpenTofu"
	TypeAnsible  JobToolType = "Ansible"
)

// JobTypeMode tells how content reaches the runs of a template.
//
// +kubebuilder:validation:Enum=Image;AdHoc
type JobTypeMode string

// The modes.
const (
	ModeImage JobTypeMode = "Image"
	ModeAdHoc JobTypeMode = "AdHoc"
)

// JobOutcome tells what became of the state at the end of a hold.
//
// +kubebuilder:validation:Enum=None;Unchanged;Committed;Orphaned;Failed;Unknown
type JobOutcome string

// The outcomes.
const (
	OutcomeNone      JobOutcome = "None"
	OutcomeUnchanged JobOutcome = "Unchanged"
	OutcomeCommitted JobOutcome = "Committed"
	OutcomeOrphaned  JobOutcome = "Orphaned"
	OutcomeFailed    JobOutcome = "Failed"
	OutcomeUnknown   JobOutcome = "Unknown"
)

// JobConsistency is Torn for a state that a process may have been writing.
//
// +kubebuilder:validation:Enum=Torn
type JobConsistency string

// ConsistencyTorn is the consistency of a state that a process may have been writing.
const ConsistencyTorn JobConsistency = "Torn"

// JobRunPhase is the phase of a JobRun.
//
// +kubebuilder:validation:Enum=Queued;Starting;Running;Capturing;Lost;Succeeded;Failed;Cancelled;TimedOut;Rejected
type JobRunPhase string

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// JobTemplate describes a program that JobWorkspaces run again and again: its image, its parameters and its actions.
// It never changes: a new version is a new JobTemplate, which a JobWorkspace then names.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=jt,categories=orcon
// +kubebuilder:printcolumn:name="Safety",type=string,JSONPath=`.spec.safety`
// +kubebuilder:printcolumn:name="Contract",type=string,JSONPath=`.spec.contract`
// +kubebuilder:printcolumn:name="Actions",type=string,JSONPath=`.spec.actions[*].name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.image`
type JobTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec describes the program; it cannot be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a JobTemplate never changes: use another one"
	Spec JobTemplateSpec `json:"spec"`
}

// JobTemplateSpec describes a program.
type JobTemplateSpec struct {
	// image is the image of the program, by digest: NAME@sha256:….
	// +required
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^@\\\\s]+@sha256:[0-9a-f]{64}$')",message="name a digest: NAME@sha256:…"
	Image string `json:"image"`
	// contract is the version of the runner contract that the program follows.
	// +required
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self == 'v1'",message="contract is unknown: use v1"
	Contract string `json:"contract"`
	// type is OpenTofu for a program that runs OpenTofu or Terraform in /work, where it finds its parameters in
	// terraform.tfvars.json and stores its state with Orcon, and Ansible for one that runs Ansible there, with
	// --extra-vars @extra-vars.json. Unset: the program reads its parameters itself.
	// +optional
	Type JobToolType `json:"type,omitempty"`
	// safety is ReadOnly for a program that changes nothing outside, Idempotent for one that may be repeated and may
	// overlap for a moment, and Exclusive (default) for one whose runs must never overlap: a person decides about a run
	// that is lost.
	// +optional
	Safety JobSafety `json:"safety,omitempty"`
	// parameters is the JSON Schema (draft 2020-12) of the parameters, at most 256 KiB; it may not refer to anything outside
	// of it. Unset allows everything.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Parameters *runtime.RawExtension `json:"parameters,omitempty"`
	// actions are the ways to run the program, such as deploy, destroy and check.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Actions []JobAction `json:"actions"`
	// env lists variables of the program.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Env []JobVariable `json:"env,omitempty"`
	// exclude are patterns of files below /state that are not kept, such as .terraform.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Exclude []string `json:"exclude,omitempty"`
	// logs has the policy for the files below /logs; unset for the defaults.
	// +optional
	Logs *JobLogs `json:"logs,omitempty"`
	// rescue are patterns of files below /work that are kept with the state, such as errored.tfstate.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Rescue []string `json:"rescue,omitempty"`
}

// JobLogs is the policy for log files.
type JobLogs struct {
	// restore is Always for a program that finds the files below /logs as its last run left them; Never (default) for one
	// that finds none.
	// +required
	// +kubebuilder:validation:Enum=Never;Always
	Restore string `json:"restore"`
}

// RestoreAlways has the log files of the last run restored.
const RestoreAlways = "Always"

// JobVariable is an environment variable.
type JobVariable struct {
	// name is the name of the variable. Names that begin with ORCON_ or TF_HTTP_ belong to Orcon.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	// +kubebuilder:validation:XValidation:rule="!self.matches('^(ORCON|TF_HTTP)_')",message="it belongs to Orcon: use another name"
	Name string `json:"name"`
	// value is the value of the variable; unset is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Value string `json:"value,omitempty"`
}

// JobAction is a way to run a program.
type JobAction struct {
	// name is the name by which a JobRun chooses the action.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([a-z0-9-]*[a-z0-9])?$`
	Name string `json:"name"`
	// entrypoint is the program and its first arguments.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4096
	Entrypoint []string `json:"entrypoint"`
	// args are further arguments; unset for none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=4096
	Args []string `json:"args,omitempty"`
}

// JobTemplateList is a list of JobTemplates.
//
// +kubebuilder:object:root=true
type JobTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of a list.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the JobTemplates.
	Items []JobTemplate `json:"items"`
}

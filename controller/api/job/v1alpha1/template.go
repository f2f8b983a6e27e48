package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// JobTemplate describes a program that JobWorkspaces run again and again. One that names an image never changes: a new
// version is a new JobTemplate, which a JobWorkspace then names. One that is built from content has a JobTemplateVersion
// for each content, type and setting; it may be changed, and JobWorkspaces run the version in status.version unless they
// name another.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=jt,categories=orcon
// +kubebuilder:printcolumn:name="Safety",type=string,JSONPath=`.spec.safety`
// +kubebuilder:printcolumn:name="Contract",type=string,JSONPath=`.spec.contract`
// +kubebuilder:printcolumn:name="Actions",type=string,JSONPath=`.spec.actions[*].name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.image`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type JobTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec describes the program; it cannot be changed if it names an image.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf || has(self.build) && has(oldSelf.build)",message="never changes: use another"
	Spec JobTemplateSpec `json:"spec"`
	// status is written by the controller, for templates that are built.
	// +optional
	Status JobTemplateStatus `json:"status,omitempty"`
}

// JobTemplateSpec describes a program, or how it is built.
//
// +kubebuilder:validation:XValidation:rule="has(self.build) != has(self.image)",message="name an image, or how it is built"
// +kubebuilder:validation:XValidation:rule="!has(self.image) || has(self.contract) && has(self.actions)",message="add contract and actions"
// +kubebuilder:validation:XValidation:rule="!has(self.build) || !has(self.contract) && !has(self.type)",message="leave out contract, type"
type JobTemplateSpec struct {
	JobProgram `json:",inline"`

	// build says how the program is made from a JobTemplateType and content; unset for a program whose image is named.
	// The other fields then add to those of the type.
	// +optional
	Build *JobTemplateBuild `json:"build,omitempty"`
}

// JobProgram describes a program.
type JobProgram struct {
	// image is the image of the program, by digest: NAME@sha256:….
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^@\\\\s]+@sha256:[0-9a-f]{64}$')",message="name a digest: NAME@sha256:…"
	Image string `json:"image,omitempty"`
	// contract is the version of the runner contract that the program follows.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self == 'v1'",message="contract is unknown: use v1"
	Contract string `json:"contract,omitempty"`
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
	// of it. A default counts if no value is given, and a parameter with "sensitive: true" reaches a run as a file. Unset
	// allows everything, but for a program that is built: nothing.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Parameters *runtime.RawExtension `json:"parameters,omitempty"`
	// actions are the ways to run the program, such as deploy, destroy and check.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Actions []JobAction `json:"actions,omitempty"`
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

// JobTemplateBuild says how a program is made.
type JobTemplateBuild struct {
	// type is the name of a JobTemplateType.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Type string `json:"type"`
	// source is where the content comes from.
	// +required
	Source JobTemplateSource `json:"source"`
	// fixed has values of parameters of the type that no JobWorkspace gives; unset for none.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Fixed *runtime.RawExtension `json:"fixed,omitempty"`
	// defaults has values of parameters of the type that count unless a JobWorkspace gives others; unset for none. The
	// parameters that are neither here nor in fixed are as the type has them.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Defaults *runtime.RawExtension `json:"defaults,omitempty"`
	// outputs is the JSON Schema of further outputs, as that of parameters; unset for none.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Outputs *runtime.RawExtension `json:"outputs,omitempty"`
}

// JobTemplateSource names the source of content: a repository, or content that a person pushes. Without both, no content
// was pushed yet.
//
// +kubebuilder:validation:XValidation:rule="!has(self.reference) || !has(self.digest)",message="keep one of reference and digest"
type JobTemplateSource struct {
	// reference is git+https://HOST/REPOSITORY@COMMIT, or with a branch or tag in place of the commit, whose moves make new
	// versions. #folder=PATH names a folder of it. Unset is for content that is pushed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^git\+https?://`
	Reference string `json:"reference,omitempty"`
	// digest is that of content which was pushed with `orcon job template push`, or will be; unset for a repository, or before
	// the first push.
	// +optional
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	Digest string `json:"digest,omitempty"`
	// interval is how often a branch or tag is looked up, from 10s to 24h; unset is 5m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(\.[0-9]{1,6})?(ns|us|µs|ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="10s to 24h"
	Interval *metav1.Duration `json:"interval,omitempty"`
}

// JobTemplateStatus is the observed state of a JobTemplate that is built.
type JobTemplateStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// version is the name of the JobTemplateVersion that JobWorkspaces run; the last one that could be built.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Version string `json:"version,omitempty"`
	// source is the origin of the version's content: the reference with its commit, or the digest of pushed content.
	// +optional
	// +kubebuilder:validation:MaxLength=2200
	Source string `json:"source,omitempty"`
	// conditions are Ready, Reconciling and Stalled. Ready is true once the version is that of the spec.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
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

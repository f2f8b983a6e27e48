package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// JobTemplateVersion is a JobTemplate that is frozen with its type and its content: runs of it need neither of them.
// Orcon makes it and never changes it. It cannot be deleted while status.users is not empty.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=jtv,categories=orcon
// +kubebuilder:printcolumn:name="Template",type=string,JSONPath=`.spec.origin.template`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.origin.type`
// +kubebuilder:printcolumn:name="Source",type=string,JSONPath=`.spec.origin.source`
// +kubebuilder:printcolumn:name="Users",type=string,JSONPath=`.status.users`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.image`
type JobTemplateVersion struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the frozen program; it cannot be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a JobTemplateVersion never changes: change the JobTemplate"
	Spec JobTemplateVersionSpec `json:"spec"`
	// status is written by the controller.
	// +optional
	Status JobTemplateVersionStatus `json:"status,omitempty"`
}

// JobTemplateVersionSpec is a frozen program.
//
// +kubebuilder:validation:XValidation:rule="has(self.image) && has(self.contract) && has(self.actions)",message="required: all of them"
type JobTemplateVersionSpec struct {
	JobProgram `json:",inline"`

	// content is the digest of content that is copied to /work of each run; unset for a program whose image has it.
	// +optional
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	Content string `json:"content,omitempty"`
	// fixed has the values of parameters that no JobWorkspace gives; unset for none.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Fixed *runtime.RawExtension `json:"fixed,omitempty"`
	// outputs is the JSON Schema of the outputs; unset for none.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Outputs *runtime.RawExtension `json:"outputs,omitempty"`
	// origin names the sources of the version.
	// +required
	Origin JobVersionOrigin `json:"origin"`
}

// JobVersionOrigin names the sources of a version.
type JobVersionOrigin struct {
	// template is the name of the JobTemplate.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Template string `json:"template"`
	// type is the name of the JobTemplateType.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Type string `json:"type"`
	// base is the image of the type.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Base string `json:"base"`
	// path is the folder of the image that has the content.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path"`
	// content is the digest of the content: paths, modes and bytes of its files.
	// +required
	// +kubebuilder:validation:MaxLength=71
	Content string `json:"content"`
	// source is where the content came from: the reference with its commit, or the digest of pushed content.
	// +required
	// +kubebuilder:validation:MaxLength=2200
	Source string `json:"source"`
}

// JobTemplateVersionStatus is the observed state of a JobTemplateVersion.
type JobTemplateVersionStatus struct {
	// users are the objects of the namespace that run this version, such as jobworkspace/web: at most 16 of them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=300
	Users []string `json:"users,omitempty"`
}

// JobTemplateVersionList is a list of JobTemplateVersions.
//
// +kubebuilder:object:root=true
type JobTemplateVersionList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of a list.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the JobTemplateVersions.
	Items []JobTemplateVersion `json:"items"`
}

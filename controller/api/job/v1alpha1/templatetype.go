package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// JobTemplateType is the base of JobTemplates of all namespaces: an image with a tool, its actions and its
// parameters. A change makes new versions of the templates that name it; the versions that there are stay as they are.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=jtt,categories=orcon
// +kubebuilder:printcolumn:name="Tool",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Safety",type=string,JSONPath=`.spec.safety`
// +kubebuilder:printcolumn:name="Actions",type=string,JSONPath=`.spec.actions[*].name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.image`
type JobTemplateType struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec describes the program that templates of this type share.
	// +required
	Spec JobTemplateTypeSpec `json:"spec"`
}

// JobTemplateTypeSpec describes the program that templates share.
//
// +kubebuilder:validation:XValidation:rule="has(self.image) && has(self.contract)",message="image and contract are required"
type JobTemplateTypeSpec struct {
	JobProgram `json:",inline"`

	// mode is Image for templates whose content becomes a layer over the image, in an image of each version (default), and
	// AdHoc for those whose content is copied to /work of each run: no image is built, and no registry is needed.
	// +optional
	Mode JobTypeMode `json:"mode,omitempty"`
	// path is the folder of the image that content is laid into; unset is /work, the working directory.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^/[^/].*[^/]$`
	Path string `json:"path,omitempty"`
	// outputs is the JSON Schema of the outputs that each template of this type has; unset for none.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Outputs *runtime.RawExtension `json:"outputs,omitempty"`
}

// JobTemplateTypeList is a list of JobTemplateTypes.
//
// +kubebuilder:object:root=true
type JobTemplateTypeList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of a list.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the JobTemplateTypes.
	Items []JobTemplateType `json:"items"`
}

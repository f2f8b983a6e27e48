package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Databag holds what one application says on one endpoint. It is generated;
// change the Service or its data.tengu.io annotation, not this.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=orcon
// +kubebuilder:printcolumn:name="Application",type=string,JSONPath=`.spec.application`
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.spec.endpoint`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Databag struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says whose bag it is; it cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a databag belongs to one endpoint for ever"
	Spec DatabagSpec `json:"spec"`
	// status holds the content, written by the controller.
	// +optional
	Status DatabagStatus `json:"status,omitempty"`
}

// DatabagSpec says whose bag it is.
type DatabagSpec struct {
	// application that says it.
	// +kubebuilder:validation:MaxLength=63
	Application string `json:"application"`
	// endpoint on which it is said.
	// +kubebuilder:validation:MaxLength=63
	Endpoint string `json:"endpoint"`
}

// DatabagStatus is the content.
type DatabagStatus struct {
	// observedGeneration is the generation that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// data maps keys to values, 512 KiB in all.
	// +optional
	Data map[string]string `json:"data,omitempty"`
	// version is a hash of data; versions differ or do not, none is later.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`
	// conditions: Ready, Reconciling and Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// DatabagList is a list of Databags.
//
// +kubebuilder:object:root=true
type DatabagList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Databag `json:"items"`
}

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NamespaceRecord is the name of the one RelatedNamespace of a namespace.
const NamespaceRecord = "namespace"

// RelatedNamespace holds what the controller keeps of a namespace, in one object named namespace. It
// is generated.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=rns,categories=orcon
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'namespace'",message="a namespace has one record, named namespace"
// +kubebuilder:printcolumn:name="Last relation",type=integer,JSONPath=`.state.lastRelation`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type RelatedNamespace struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// state holds what the controller keeps of the namespace and cannot compute again.
	// +required
	State RelatedNamespaceState `json:"state,omitzero"`
}

// RelatedNamespaceState holds what the controller keeps of a namespace.
type RelatedNamespaceState struct {
	// lastRelation is the highest id that a relation of the namespace was given. It never falls.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:XValidation:rule="self >= oldSelf",message="an id that was given is never given again"
	LastRelation int64 `json:"lastRelation,omitempty"`
}

// RelatedNamespaceList is a list of RelatedNamespaces.
// +kubebuilder:object:root=true
type RelatedNamespaceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RelatedNamespace `json:"items"`
}

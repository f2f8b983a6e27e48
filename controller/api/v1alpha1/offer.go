package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Offer is a namespace's consent that applications of others relate to an endpoint
// of one of its own. It lives in the provider's namespace. Taking it back, or a
// namespace out of it, suspends the relations that use it; giving it again resumes
// them.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=off,categories=orcon
// +kubebuilder:printcolumn:name="Application",type=string,JSONPath=`.spec.application`
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.spec.endpoint`
// +kubebuilder:printcolumn:name="Consumers",type=string,JSONPath=`.spec.consumers`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Why",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Relations",type=integer,JSONPath=`.status.relations`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Offer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what is offered to whom.
	Spec OfferSpec `json:"spec"`
	// status is written by the controller.
	// +optional
	Status OfferStatus `json:"status,omitempty"`
}

// OfferSpec says what is offered to whom.
type OfferSpec struct {
	// application is the name of an application of this namespace; a Service that
	// joins one is not its name.
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	Application string `json:"application"`
	// endpoint is the one that it provides.
	// +kubebuilder:validation:Pattern=`^[a-z]([a-z0-9_-]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	Endpoint string `json:"endpoint"`
	// consumers are the namespaces, by name, whose applications may relate to it.
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	Consumers []string `json:"consumers"`
	// secrets are the names of those Secrets of this namespace that the endpoint may
	// grant to them, if the Secret consents too; unset is none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`
	Secrets []string `json:"secrets,omitempty"`
}

// OfferStatus is what the controller says of an Offer.
type OfferStatus struct {
	// observedGeneration is the generation that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// relations is how many are open by it.
	// +optional
	Relations int64 `json:"relations,omitempty"`
	// conditions: Ready, Reconciling and Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// OfferList is a list of Offers.
//
// +kubebuilder:object:root=true
type OfferList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Offer `json:"items"`
}

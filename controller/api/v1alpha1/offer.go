package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Offer allows applications of other namespaces to relate to an endpoint of an application of this
// one. Deleting it, or removing a namespace from it, suspends the relations that use it; restoring
// it resumes them.
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
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec names what is offered, and the namespaces it is offered to.
	// +required
	Spec OfferSpec `json:"spec"`
	// status is written by the controller; unset before its first look.
	// +optional
	Status OfferStatus `json:"status,omitempty"`
}

// OfferSpec names what is offered, and the namespaces it is offered to.
type OfferSpec struct {
	// application is the name of an application of this namespace, at most 63 characters. A Service
	// that belongs to a workload's application is not an application of its own.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	Application string `json:"application"`
	// endpoint is the name of an endpoint that the application provides, at most 63 characters.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-z]([a-z0-9_-]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	Endpoint string `json:"endpoint"`
	// consumers lists the names of the namespaces whose applications may relate to the endpoint, at
	// most 1024.
	// +required
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	Consumers []string `json:"consumers"`
	// consumerNamespaces has the UID of each consumer, which the controller records when it first sees the namespace.
	// The Offer is to that namespace: one that is made again under the name has another UID, and gets nothing until
	// orcon offer renew records it. Unset: no consumer has been seen.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1024
	ConsumerNamespaces []NamespaceIdentity `json:"consumerNamespaces,omitempty"`
	// secrets lists the names of the Secrets of this namespace that the endpoint may grant to the
	// consumers, if each Secret consents too; at most 16. Unset: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`
	Secrets []string `json:"secrets,omitempty"`
}

// NamespaceIdentity identifies a namespace.
type NamespaceIdentity struct {
	// name is the name of the namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// uid is the UID of the namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid"`
}

// OfferStatus is the observed state of an Offer.
type OfferStatus struct {
	// observedGeneration is the generation of the object that this status describes. Unset: not
	// observed yet.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// relations is the number of open relations that use the Offer. Default 0.
	// +optional
	Relations int64 `json:"relations,omitempty"`
	// replacedNamespaces lists the consumers that were deleted and made again since they were recorded, with
	// their present UIDs. Unset: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1024
	ReplacedNamespaces []NamespaceIdentity `json:"replacedNamespaces,omitempty"`
	// conditions has Ready, Reconciling and Stalled, and Suspended while a consumer was made again. At most 16.
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

package v1alpha1

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Finalizer keeps a deleted Relation until its units have heard of the end.
const Finalizer = "orcon.tengu.io/teardown"

// Origin is what made a Relation.
// +kubebuilder:validation:Enum=Declared;Manual
type Origin string

// The origins.
const (
	// OriginDeclared relations come from annotations.
	OriginDeclared Origin = "Declared"
	// OriginManual relations a person or a tool made.
	OriginManual Origin = "Manual"
)

// Relation says that two endpoints are related, or the units of one application
// on its peers endpoint, which is then both ends. It lives in the requirer's
// namespace. Delete it to end the relation.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=rel,categories=orcon
// +kubebuilder:printcolumn:name="ID",type=integer,JSONPath=`.status.id`
// +kubebuilder:printcolumn:name="Requirer",type=string,JSONPath=`.status.requirer`
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.status.provider`
// +kubebuilder:printcolumn:name="Interface",type=string,JSONPath=`.spec.interface`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.relationStatus`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Why",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Held",type=date,JSONPath=`.status.heldSince`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Relation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says who is related; it cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a relation cannot be changed: delete it and make another"
	// +kubebuilder:validation:XValidation:rule="self.origin == 'Declared' || has(self.provider.__namespace__) || self.requirer.application != self.provider.application",message="an application does not relate to itself; peer relations come of themselves from tengu.io/peers"
	Spec RelationSpec `json:"spec"`
	// status is written by the controller.
	// +optional
	Status RelationStatus `json:"status,omitempty"`
}

// RelationSpec says who is related.
type RelationSpec struct {
	// requirer is the end that consumes; its namespace is the Relation's own.
	// +kubebuilder:validation:XValidation:rule="!has(self.__namespace__)",message="a relation lives in its requirer's namespace: leave the namespace out"
	Requirer RelationEnd `json:"requirer"`
	// provider is the end that provides.
	Provider RelationEnd `json:"provider"`
	// interface is what both ends agree on.
	// +kubebuilder:validation:Pattern=`^[a-z]([a-z0-9_-]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	Interface string `json:"interface"`
	// interfaceVersion is the highest common version; 0, the default, where
	// neither end names one.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1048576
	InterfaceVersion int32 `json:"interfaceVersion,omitempty"`
	// origin says what made the relation: Declared by annotations, or Manual,
	// the default.
	// +optional
	// +kubebuilder:default=Manual
	Origin Origin `json:"origin,omitempty"`
}

// RelationEnd is one end of a Relation.
type RelationEnd struct {
	// application is the name of the application.
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	Application string `json:"application"`
	// endpoint is the name of its endpoint.
	// +kubebuilder:validation:Pattern=`^[a-z]([a-z0-9_-]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	Endpoint string `json:"endpoint"`
	// namespace is the application's; unset means the Relation's own.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// RelationStatus is what the controller says of a Relation.
type RelationStatus struct {
	// observedGeneration is the generation that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// id is unique in the namespace and never used again; 0 before it is given.
	// +optional
	ID int64 `json:"id,omitempty"`
	// requirer is application:endpoint, for people.
	// +optional
	// +kubebuilder:validation:MaxLength=200
	Requirer string `json:"requirer,omitempty"`
	// provider is application:endpoint, for people.
	// +optional
	// +kubebuilder:validation:MaxLength=200
	Provider string `json:"provider,omitempty"`
	// heldSince is when its declaration was found missing; unset while it is
	// declared.
	// +optional
	HeldSince *metav1.Time `json:"heldSince,omitempty"`
	// retain is how long it outlives its declaration.
	// +optional
	Retain *metav1.Duration `json:"retain,omitempty"`
	// endReason says why it ends; unset while it lives.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	EndReason string `json:"endReason,omitempty"`
	// left are the units whose handlers have handled its end, as application/number, or
	// application.namespace/number of another namespace.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=4096
	Left []string `json:"left,omitempty"`
	// closed are those whose handlers have handled its suspension; unset while it is not
	// suspended.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=4096
	Closed []string `json:"closed,omitempty"`
	// departures are the units that have departed and are remembered here, since
	// handlers at the other end have yet to handle it, or had to an hour ago.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Departures []Departure `json:"departures,omitempty"`
	// relationStatus is its status in Juju's words: joining, joined, suspending,
	// suspended, broken or error.
	// +optional
	// +kubebuilder:validation:Enum=joining;joined;suspending;suspended;broken;error
	RelationStatus string `json:"relationStatus,omitempty"`
	// requirerStatus is what the requirer's leader says of how it is in the relation,
	// by status-set -r; of a peer relation what the application's does. Unset as long
	// as it has not.
	// +optional
	RequirerStatus *SideStatus `json:"requirerStatus,omitempty"`
	// providerStatus is what the provider's leader says.
	// +optional
	ProviderStatus *SideStatus `json:"providerStatus,omitempty"`
	// offer is the name of the provider's Offer that opened it, where the provider is
	// in another namespace; unset as long as none has.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Offer string `json:"offer,omitempty"`
	// suspendedSince is when that Offer was found withdrawn; unset while the sides may
	// see each other.
	// +optional
	SuspendedSince *metav1.Time `json:"suspendedSince,omitempty"`
	// conditions: Ready, Reconciling, Stalled, Held while it is held, HandlerFailed
	// while a handler fails, and RequirerStatus and ProviderStatus.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Departure is a unit that has departed.
type Departure struct {
	// unit is written as application/number.
	// +kubebuilder:validation:MaxLength=300
	Unit string `json:"unit"`
	// reason is scaled-down, replaced or application-removed.
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`
	// address was its pod's.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Address string `json:"address,omitempty"`
	// since is when it was found gone.
	Since metav1.Time `json:"since"`
	// owed are the units whose handlers have yet to answer, as application/number.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Owed []string `json:"owed,omitempty"`
	// handled is Handled once one of them has handled it.
	// +optional
	Handled Handled `json:"handled,omitempty"`
	// overSince is when it was found to be owed to nobody any more.
	// +optional
	OverSince *metav1.Time `json:"overSince,omitempty"`
}

// Handled says whether somebody has handled something.
// +kubebuilder:validation:Enum=Handled;Pending
type Handled string

// IsHandled says that somebody has.
const IsHandled Handled = "Handled"

// RelationList is a list of Relations.
//
// +kubebuilder:object:root=true
type RelationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Relation `json:"items"`
}

// String returns the end for people.
func (e RelationEnd) String() string {
	text := fmt.Sprintf("%s:%s", e.Application, e.Endpoint)
	if e.Namespace != "" {
		text += " in " + e.Namespace
	}
	return text
}

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Finalizer keeps a deleted Relation until its sides have taken note of the end.
const Finalizer = "orcon.tengu.io/teardown"

// Origin tells what made a Relation.
// +kubebuilder:validation:Enum=Declared;Manual
type Origin string

// The origins.
const (
	OriginDeclared Origin = "Declared"
	OriginManual   Origin = "Manual"
)

// Relation joins an endpoint of a requirer to an endpoint of a provider, or the units of one
// application on its peers endpoint, which is then both ends. It lives in the requirer's namespace.
// Deleting it ends the relation.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=rel,categories=orcon
// +kubebuilder:printcolumn:name="ID",type=integer,JSONPath=`.state.id`
// +kubebuilder:printcolumn:name="Requirer",type=string,JSONPath=`.status.requirer`
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.status.provider`
// +kubebuilder:printcolumn:name="Interface",type=string,JSONPath=`.spec.interface`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.relationStatus`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Why",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Held",type=date,JSONPath=`.status.holdTime`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Relation struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec names the two ends; it cannot be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a relation cannot be changed: delete it and make another"
	// +kubebuilder:validation:XValidation:rule="self.origin == 'Declared' || has(self.provider.__namespace__) || self.requirer.application != self.provider.application",message="an application cannot relate to itself; peer relations are created from tengu.io/peers alone"
	Spec RelationSpec `json:"spec"`
	// state holds what the controller keeps of the Relation and cannot compute again; unset before
	// its first look. Only accounts that may update relations/status may write it.
	// +optional
	State RelationState `json:"state,omitzero"`
	// status is written by the controller; unset before its first look.
	// +optional
	Status RelationStatus `json:"status,omitempty"`
}

// RelationSpec names the two ends of a Relation.
type RelationSpec struct {
	// requirer is the end that consumes. Its namespace is the Relation's own, and must be unset.
	// +required
	// +kubebuilder:validation:XValidation:rule="!has(self.__namespace__)",message="a relation lives in its requirer's namespace: leave the namespace out"
	Requirer RelationEnd `json:"requirer"`
	// provider is the end that provides.
	// +required
	Provider RelationEnd `json:"provider"`
	// interface is the name of the interface of both endpoints.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-z]([a-z0-9_-]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self != 'juju' && !self.startsWith('juju-')",message="juju and names that begin with juju- are reserved"
	Interface string `json:"interface"`
	// interfaceVersion is the highest version that both ends support, up to 1048576. Default 0:
	// neither end names a version.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1048576
	InterfaceVersion int32 `json:"interfaceVersion,omitempty"`
	// origin is Declared if annotations made the Relation, or Manual (default) if a person or a
	// tool did.
	// +optional
	// +default="Manual"
	Origin Origin `json:"origin,omitempty"`
}

// RelationState holds what the controller keeps of a Relation.
type RelationState struct {
	// identity identifies the relation in databags, handlers and agents, also after a restore, which
	// gives the Relation another UID. Unset: the Relation's UID.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the identity of a relation never changes"
	Identity string `json:"identity,omitempty"`
	// id is the number of the relation, from 1, unique in the namespace and never reused. Unset:
	// none assigned yet, or the Relation is refused.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the id of a relation never changes"
	ID int64 `json:"id,omitempty"`
	// startTime is the time at which the relation got its id, also after a restore, which makes the object anew. Unset:
	// none assigned yet, or the Relation began when its object was made.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// providerNamespaceUID is the UID of the provider's namespace, if that is another one, when the relation was
	// opened. Unset: it has not been opened, or the provider is in this namespace.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ProviderNamespaceUID string `json:"providerNamespaceUID,omitempty"`
}

// RelationEnd is one end of a Relation.
type RelationEnd struct {
	// application is the name of the application, at most 63 characters.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	Application string `json:"application"`
	// endpoint is the name of the application's endpoint, at most 63 characters.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-z]([a-z0-9_-]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self != 'juju' && !self.startsWith('juju-')",message="juju and names that begin with juju- are reserved"
	Endpoint string `json:"endpoint"`
	// namespace is the application's namespace. Unset: the Relation's own.
	// +optional
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([a-z0-9-]*[a-z0-9])?)?$`
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// RelationStatus is the observed state of a Relation.
type RelationStatus struct {
	// observedGeneration is the generation of the object that this status describes. Unset: not
	// observed yet.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// requirer is the requirer's end as application:endpoint, for display. Unset before the first
	// look.
	// +optional
	// +kubebuilder:validation:MaxLength=200
	Requirer string `json:"requirer,omitempty"`
	// provider is the provider's end as application:endpoint, with its namespace if that is another
	// one, for display. Unset before the first look.
	// +optional
	// +kubebuilder:validation:MaxLength=200
	Provider string `json:"provider,omitempty"`
	// holdTime is the time since which the Relation is held. Unset: it is not held.
	// +optional
	HoldTime *metav1.Time `json:"holdTime,omitempty"`
	// holdReason is DeclarationGone, or LimitReached if the relation is declared again but other
	// relations use up a limit; its retain time does not run then. Unset: the Relation is not held.
	// +optional
	// +kubebuilder:validation:Enum=DeclarationGone;LimitReached
	HoldReason string `json:"holdReason,omitempty"`
	// data is Complete if the data that the requirer waits for is there, else Missing. Unset before
	// the first look.
	// +optional
	// +kubebuilder:validation:Enum=Complete;Missing
	Data string `json:"data,omitempty"`
	// retention is how long the Relation is kept after its declaration is gone, from tengu.io/retain
	// (default 24h). Unset: a Relation made by hand, which is never held.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`
	Retention *metav1.Duration `json:"retention,omitempty"`
	// endReason is the reason why the Relation ends, at most 64 characters. Unset: it does not end.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	EndReason string `json:"endReason,omitempty"`
	// endTime is the time at which the controller found that the Relation ends. Unset: it does not end.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`
	// suspendedUnits lists the units whose handlers have handled the suspension, at most 4096. Unset:
	// none, or the Relation is not suspended.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=4096
	SuspendedUnits []string `json:"suspendedUnits,omitempty"`
	// departures lists units that departed and whose departure handlers at the other end still have
	// to handle, or did handle less than an hour ago, or that are still listed as units of their
	// application; at most 64. Unset: none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Departures []Departure `json:"departures,omitempty"`
	// relationStatus is the status in Juju's words: joining, joined, suspending, suspended, broken
	// or error. Unset before the first look.
	// +optional
	// +kubebuilder:validation:Enum=joining;joined;suspending;suspended;broken;error
	RelationStatus string `json:"relationStatus,omitempty"`
	// requirerStatus is the status that the requirer's leader reports for this relation with
	// status-set -r; in a peer relation, the application's own. Unset: none reported.
	// +optional
	RequirerStatus *SideStatus `json:"requirerStatus,omitempty"`
	// providerStatus is the status that the provider's leader reports for this relation with
	// status-set -r. Unset: none reported.
	// +optional
	ProviderStatus *SideStatus `json:"providerStatus,omitempty"`
	// offer is the name of the Offer that opened the Relation, if the provider is in another
	// namespace. Unset: no Offer has.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Offer string `json:"offer,omitempty"`
	// suspensionTime is the time at which no Offer covered the Relation any more. Unset: it is not
	// suspended.
	// +optional
	SuspensionTime *metav1.Time `json:"suspensionTime,omitempty"`
	// conditions has Ready, Reconciling and Stalled; Held, HandlerFailed and SchemaViolated while
	// they are true; and RequirerStatus and ProviderStatus once a side reports a status. At most
	// 16.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Departure is the departure of one unit.
type Departure struct {
	// unit is the unit that departed, as application/number.
	// +required
	// +kubebuilder:validation:MaxLength=300
	Unit string `json:"unit"`
	// reason is scaled-down, replaced or application-removed.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`
	// address is the IP address that the unit's pod had. Unset: it had none.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Address string `json:"address,omitempty"`
	// time is the time at which the unit was found gone.
	// +required
	Time metav1.Time `json:"time"`
	// pendingUnits lists the units whose handlers still have to handle the departure, as
	// application/number; at most 128. Unset: none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	PendingUnits []string `json:"pendingUnits,omitempty"`
	// state is Handled once a unit has handled the departure, or Pending (default).
	// +optional
	State DepartureState `json:"state,omitempty"`
	// completionTime is the time since which no unit has to handle the departure any more. Unset:
	// some unit still has to.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// DepartureState tells whether a unit has handled a departure.
// +kubebuilder:validation:Enum=Pending;Handled
type DepartureState string

// DepartureHandled is the state of a departure, or an end, that a unit has handled.
const DepartureHandled DepartureState = "Handled"

// RelationList is a list of Relations.
//
// +kubebuilder:object:root=true
type RelationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Relation `json:"items"`
}

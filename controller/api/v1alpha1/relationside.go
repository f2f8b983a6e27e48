package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LabelRelation is the label of a RelationSide that holds the identity of its relation.
const LabelRelation = "orcon.tengu.io/relation"

// EndKey is the annotation of a RelationSide with a person's choice about the relation's end, also before it comes.
const EndKey = "orcon.tengu.io/end"

// The choices about an end.
const (
	// EndConfirm ends the relation, however many end with it.
	EndConfirm = "Confirm"
	// EndKeep takes back an end that is held: the relation goes on when it is made again.
	EndKeep = "Keep"
	// EndWaive ends the relation without its handlers.
	EndWaive = "Waive"
)

// The roles of sides.
const (
	RoleRequirer = "Requirer"
	RoleProvider = "Provider"
	RolePeer     = "Peer"
)

// RelationSide holds what the namespace of one end of a relation keeps of it. It outlives the Relation until the
// handlers of that end have handled the relation's end. A person confirms, keeps or waives an end with annotation
// orcon.tengu.io/end: see orcon ends. It is generated.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=rside,categories=orcon
// +kubebuilder:printcolumn:name="ID",type=integer,JSONPath=`.spec.id`
// +kubebuilder:printcolumn:name="Requirer",type=string,JSONPath=`.spec.requirer.application`
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.spec.provider.application`
// +kubebuilder:printcolumn:name="Role",type=string,JSONPath=`.spec.role`
// +kubebuilder:printcolumn:name="Ended",type=date,JSONPath=`.state.end.time`
// +kubebuilder:printcolumn:name="End",type=string,JSONPath=`.state.end.state`
// +kubebuilder:printcolumn:name="Owed to",type=string,JSONPath=`.state.end.pendingUnits`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type RelationSide struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec identifies the relation and its two ends; it cannot be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a side is of one relation"
	Spec RelationSideSpec `json:"spec"`
	// state holds what the controller keeps of the side and cannot compute again.
	// +optional
	State RelationSideState `json:"state,omitzero"`
}

// RelationSideSpec identifies a relation and its two ends.
type RelationSideSpec struct {
	// relation is the identity of the relation.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Relation string `json:"relation"`
	// id is the number of the relation in this namespace, from 1, never reused.
	// +required
	// +kubebuilder:validation:Minimum=1
	ID int64 `json:"id"`
	// role is the part that this side plays.
	// +required
	// +kubebuilder:validation:Enum=Requirer;Provider;Peer
	Role string `json:"role"`
	// requirer is the end that consumes. Unset namespace: this one.
	// +required
	Requirer RelationEnd `json:"requirer"`
	// provider is the end that provides. Unset namespace: this one.
	// +required
	Provider RelationEnd `json:"provider"`
	// interface is the name of the interface of both endpoints.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Interface string `json:"interface"`
	// interfaceVersion is the highest version that both ends support. Default 0: neither names one.
	// +optional
	// +kubebuilder:validation:Minimum=0
	InterfaceVersion int32 `json:"interfaceVersion,omitempty"`
}

// Audience tells whether units with handlers may have heard of a relation.
// +kubebuilder:validation:Enum=Handlers;NoHandlers
type Audience string

// AudienceHandlers is the audience of a side whose units with handlers may have heard of the relation.
const AudienceHandlers Audience = "Handlers"

// RelationSideState holds what the controller keeps of a side.
type RelationSideState struct {
	// knownTo is Handlers once units with handlers may have heard of the relation, or NoHandlers (default).
	// +optional
	KnownTo Audience `json:"knownTo,omitempty"`
	// end is the end of the relation. Unset: it has not ended.
	// +optional
	End *RelationSideEnd `json:"end,omitempty"`
}

// RelationSideEnd is the end of a relation, as a side owes it to its handlers.
type RelationSideEnd struct {
	// time is the time at which the end was found.
	// +required
	Time metav1.Time `json:"time"`
	// reason is the reason of the end, at most 64 characters.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`
	// pendingUnits lists the units that still have to answer, as application/number; at most 128. Unset: none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	PendingUnits []string `json:"pendingUnits,omitempty"`
	// remoteUnits lists the numbers of the units that the other end had. A unit that did not know the relation runs departed
	// for each before it runs broken; at most 128. Unset: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=128
	RemoteUnits []int64 `json:"remoteUnits,omitempty"`
	// state is Handled once a unit that led has handled the end, Held while the end waits for a person because too many
	// relations ended at once, or Pending (default): if no unit has to answer, the next leader has to handle it.
	// +optional
	State EndState `json:"state,omitempty"`
}

// EndState tells how far a side is with the end of its relation.
// +kubebuilder:validation:Enum=Pending;Handled;Held
type EndState string

// The states of an end that are stored.
const (
	EndHandled EndState = "Handled"
	EndHeld    EndState = "Held"
)

// RelationSideList is a list of RelationSides.
// +kubebuilder:object:root=true
type RelationSideList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RelationSide `json:"items"`
}

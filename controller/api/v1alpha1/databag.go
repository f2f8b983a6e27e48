package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Databag holds the data of one endpoint for all relations, the data of an application or a unit in
// one relation, or a unit's transaction that is not in all databags yet. It is generated: change
// the Service or its data.tengu.io annotation, or use relation-set.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=orcon
// +kubebuilder:validation:XValidation:rule="self.spec.purpose == 'Outbox' || !self.?state.transaction.hasValue()",message="only an Outbox commits"
// +kubebuilder:validation:XValidation:rule="self.spec.purpose != 'Outbox' || !self.?state.data.hasValue()",message="an Outbox holds no data"
// +kubebuilder:selectablefield:JSONPath=`.spec.relation`
// +kubebuilder:printcolumn:name="Application",type=string,JSONPath=`.spec.application`
// +kubebuilder:printcolumn:name="Purpose",type=string,JSONPath=`.spec.purpose`
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.spec.endpoint`
// +kubebuilder:printcolumn:name="Unit",type=string,JSONPath=`.spec.unit`
// +kubebuilder:printcolumn:name="Relation",type=string,JSONPath=`.spec.relation`,priority=1
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.state.version`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Databag struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec names the owner of the databag; it cannot be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a databag belongs to one endpoint for ever"
	Spec DatabagSpec `json:"spec"`
	// state holds what the controller keeps and cannot compute again: a copy of the object without
	// its status is whole. Unset: nothing was written yet.
	// +optional
	State DatabagState `json:"state,omitempty"`
	// status shows whether the databag can be read and an Outbox delivered, and is written by the
	// controller. Unset: it can.
	// +optional
	Status DatabagStatus `json:"status,omitempty"`
}

// Purpose names the content of a databag.
// +kubebuilder:validation:Enum=Declared;Relation;Outbox
type Purpose string

// The purposes.
const (
	PurposeDeclared Purpose = "Declared"
	PurposeRelation Purpose = "Relation"
	PurposeOutbox   Purpose = "Outbox"
)

// DatabagSpec names the owner of a databag.
//
// +kubebuilder:validation:XValidation:rule="has(self.endpoint) == (self.purpose != 'Outbox')",message="an Outbox alone has no endpoint"
// +kubebuilder:validation:XValidation:rule="has(self.relation) == (self.purpose == 'Relation')",message="purpose Relation alone has a relation"
// +kubebuilder:validation:XValidation:rule="has(self.unit) || self.purpose != 'Outbox'",message="an Outbox has a unit"
// +kubebuilder:validation:XValidation:rule="!has(self.unit) || self.purpose != 'Declared'",message="a unit declares nothing"
// +kubebuilder:validation:XValidation:rule="!has(self.home) || self.purpose == 'Relation'",message="only purpose Relation has a home"
type DatabagSpec struct {
	// purpose is Declared for what an endpoint declares to all its relations, Relation for the data
	// of an application or a unit in one relation, or Outbox for a unit's transactions.
	// +required
	Purpose Purpose `json:"purpose"`
	// application is the name of the application that writes the databag.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Application string `json:"application"`
	// endpoint is the name of the application's endpoint. Unset: an Outbox.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Endpoint string `json:"endpoint,omitempty"`
	// relation is the UID of the Relation that the data belongs to. Unset: not a databag of a
	// relation.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Relation string `json:"relation,omitempty"`
	// home locates the Relation, if it is in another namespace. Unset: it is in the databag's own.
	// +optional
	Home *RelationHome `json:"home,omitempty"`
	// unit is the number of the unit that writes the databag. Unset: the application.
	// +optional
	// +kubebuilder:validation:Pattern=`^(0|[1-9][0-9]{0,9})$`
	Unit string `json:"unit,omitempty"`
}

// RelationHome locates a Relation.
type RelationHome struct {
	// namespace is the namespace of the Relation.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// name is the name of the Relation.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// DatabagState is the content of a databag.
type DatabagState struct {
	// data maps keys to values, at most 512 KiB in all. Unset: empty.
	// +optional
	Data map[string]string `json:"data,omitempty"`
	// version is a hash of data; versions can be compared for equality only. Unset: never written.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`
	// term is the term of the leader that last wrote an application's databag; a leader of a lower
	// term is refused. Default 0: no leader wrote it.
	// +optional
	Term int64 `json:"term,omitempty"`
	// writer is the number of the unit that last wrote an application's databag. Unset: no unit
	// wrote it.
	// +optional
	// +kubebuilder:validation:Pattern=`^(0|[1-9][0-9]{0,9})$`
	Writer string `json:"writer,omitempty"`
	// podUID is the UID of the pod of the unit that last wrote its databag or its Outbox. Unset: an
	// application's databag, or one of a version that did not store it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	PodUID string `json:"podUID,omitempty"`
	// commits is the number of changes of data. Default 0.
	// +optional
	Commits int64 `json:"commits,omitempty"`
	// record lists the last commits with unit, time, cause and changes, as gzip of one JSON object
	// a line, at most 128 KiB and less where data needs the room. `orcon record` prints it, and so
	// does base64 -d | gunzip. Unset: none.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	Record []byte `json:"record,omitempty"`
	// transaction is a unit's transaction that is committed and not in all databags yet. Unset: none,
	// or not an Outbox.
	// +optional
	Transaction *Transaction `json:"transaction,omitempty"`
}

// DatabagStatus shows that a databag cannot be read, or that the transaction of an Outbox is refused.
type DatabagStatus struct {
	// observedGeneration is the generation of the object that this status describes. Unset: not
	// observed.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions has Ready, Reconciling and Stalled. At most 16. Unset: the databag can be read, and
	// no transaction is refused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Transaction is a transaction that a unit has committed.
type Transaction struct {
	// id identifies the transaction, so that it changes each secret once.
	// +required
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id"`
	// term is the term of the leader that committed the transaction. Default 0: no leader did.
	// +optional
	Term int64 `json:"term,omitempty"`
	// cause is the handler or the tool that wrote the transaction, for the record. Unset: none.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Cause string `json:"cause,omitempty"`
	// changes lists the changes of databags. Unset: none.
	// +optional
	// +listType=atomic
	Changes []Change `json:"changes,omitempty"`
	// secretWrites lists the changes of secrets, in order and without their content. Unset: none.
	// +optional
	// +listType=atomic
	SecretWrites []SecretWrite `json:"secretWrites,omitempty"`
}

// Change lists the changes of a transaction to one databag.
type Change struct {
	// relation is the name of the Relation.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Relation string `json:"relation"`
	// relationNamespace is the namespace of the Relation. Unset: the databag's own.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	RelationNamespace string `json:"relationNamespace,omitempty"`
	// relationUID is the UID of the Relation.
	// +required
	// +kubebuilder:validation:MaxLength=64
	RelationUID string `json:"relationUID"`
	// endpoint is the writer's own endpoint.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Endpoint string `json:"endpoint"`
	// unit is the number of the unit that owns the changed databag. Unset: the application owns it.
	// +optional
	// +kubebuilder:validation:MaxLength=10
	Unit string `json:"unit,omitempty"`
	// values maps keys to new values; an empty value deletes the key.
	// +required
	Values map[string]string `json:"values"`
	// secretKeys lists the keys whose values are never recorded. Unset: none.
	// +optional
	// +listType=atomic
	SecretKeys []string `json:"secretKeys,omitempty"`
	// term is the leader's term, for an application's databag. Default 0: a unit's databag.
	// +optional
	Term int64 `json:"term,omitempty"`
}

// DatabagList is a list of Databags.
//
// +kubebuilder:object:root=true
type DatabagList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Databag `json:"items"`
}

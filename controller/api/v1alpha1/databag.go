package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Databag holds what an application says on one endpoint to everybody, what it or
// one of its units says in one relation, or a unit's transaction on its way there.
// It is generated; change the Service or its data.tengu.io annotation, or use
// relation-set, not this.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=orcon
// +kubebuilder:selectablefield:JSONPath=`.spec.relation`
// +kubebuilder:printcolumn:name="Application",type=string,JSONPath=`.spec.application`
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.spec.endpoint`
// +kubebuilder:printcolumn:name="Unit",type=string,JSONPath=`.spec.unit`
// +kubebuilder:printcolumn:name="Relation",type=string,JSONPath=`.spec.relation`,priority=1
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
	// endpoint on which it is said; unset for a unit's transactions.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Endpoint string `json:"endpoint,omitempty"`
	// relation is the UID of the one relation in which it is said; unset for what is
	// said to everybody.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Relation string `json:"relation,omitempty"`
	// home is where that relation is, if in another namespace than the bag.
	// +optional
	Home *RelationHome `json:"home,omitempty"`
	// unit is the number of the unit that says it; unset for the application.
	// +optional
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:Pattern=`^(0|[1-9][0-9]*)$`
	Unit string `json:"unit,omitempty"`
}

// RelationHome is where a Relation is.
type RelationHome struct {
	// namespace is the Relation's.
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// name is the Relation's.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
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
	// term is that of the leader who wrote an application's bag last; a lower one is
	// refused.
	// +optional
	Term int64 `json:"term,omitempty"`
	// writer is the number of the unit that wrote an application's bag last.
	// +optional
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:Pattern=`^(0|[1-9][0-9]*)$`
	Writer string `json:"writer,omitempty"`
	// commits is how many changes of data there were; record has the last of them.
	// +optional
	Commits int64 `json:"commits,omitempty"`
	// record says of the last commits who made them, when, why, and what they changed:
	// JSON, one a line, 128 KiB at most and less where data needs the room, as gzip.
	// `orcon record` shows it, and so does base64 -d | gunzip.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	Record []byte `json:"record,omitempty"`
	// pending is a unit's transaction that is committed and not yet in all bags.
	// +optional
	// +listType=atomic
	Pending []Change `json:"pending,omitempty"`
	// pendingSecrets is what it does to secrets, without their content.
	// +optional
	// +listType=atomic
	PendingSecrets []SecretWrite `json:"pendingSecrets,omitempty"`
	// transaction names what is pending, so that it changes a secret once.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Transaction string `json:"transaction,omitempty"`
	// pendingTerm is that of the leader whose it is.
	// +optional
	PendingTerm int64 `json:"pendingTerm,omitempty"`
	// pendingCause is why it was said, for the record.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	PendingCause string `json:"pendingCause,omitempty"`
	// conditions: Ready, Reconciling and Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Change is what a transaction changes in one bag.
type Change struct {
	// relation is the name of the Relation.
	// +kubebuilder:validation:MaxLength=253
	Relation string `json:"relation"`
	// relationNamespace is where it is; unset for the bag's own namespace.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	RelationNamespace string `json:"relationNamespace,omitempty"`
	// relationUID is its UID.
	// +kubebuilder:validation:MaxLength=64
	RelationUID string `json:"relationUID"`
	// endpoint is the writer's own.
	// +kubebuilder:validation:MaxLength=63
	Endpoint string `json:"endpoint"`
	// unit is the number of the unit whose bag it is; unset for the application's.
	// +optional
	// +kubebuilder:validation:MaxLength=10
	Unit string `json:"unit,omitempty"`
	// set maps keys to new values; an empty value deletes the key.
	Set map[string]string `json:"set"`
	// secret names the keys of the bag whose values no record keeps.
	// +optional
	// +listType=atomic
	Secret []string `json:"secret,omitempty"`
	// term is the leader's, for an application's bag.
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

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RelatedSecret is what Orcon knows of one secret but for its content: who owns
// it, to whom it was granted, and who keeps to which revision. Its name is the
// secret's ID. It is generated; use secret-add and secret-set, not this. Deleting
// it ends the secret.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=rsec,categories=orcon
// +kubebuilder:printcolumn:name="Application",type=string,JSONPath=`.spec.application`
// +kubebuilder:printcolumn:name="Unit",type=string,JSONPath=`.spec.unit`
// +kubebuilder:printcolumn:name="Label",type=string,JSONPath=`.status.label`
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.latest`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type RelatedSecret struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says whose secret it is; it cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a secret belongs to one owner for ever"
	Spec RelatedSecretSpec `json:"spec"`
	// status is written by the controller.
	// +optional
	Status RelatedSecretStatus `json:"status,omitempty"`
}

// RelatedSecretSpec says whose secret it is.
type RelatedSecretSpec struct {
	// application that owns it, itself or by one of its units.
	// +kubebuilder:validation:MaxLength=63
	Application string `json:"application"`
	// unit is the number of the unit that owns it; unset where the application does.
	// +optional
	// +kubebuilder:validation:MaxLength=10
	// +kubebuilder:validation:Pattern=`^(0|[1-9][0-9]*)$`
	Unit string `json:"unit,omitempty"`
}

// RelatedSecretStatus is what Orcon knows of a secret.
type RelatedSecretStatus struct {
	// observedGeneration is the generation that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// label is the owner's name for it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Label string `json:"label,omitempty"`
	// description is for people.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Description string `json:"description,omitempty"`
	// rotation is how often a new revision is due; unset for never.
	// +optional
	Rotation Rotation `json:"rotation,omitempty"`
	// rotates is when the next one is due.
	// +optional
	Rotates *metav1.Time `json:"rotates,omitempty"`
	// latest is the highest number that a revision was ever given.
	// +optional
	Latest int64 `json:"latest,omitempty"`
	// revisions that somebody may read, in order of number.
	// +optional
	// +listType=map
	// +listMapKey=number
	Revisions []SecretRevision `json:"revisions,omitempty"`
	// access is to whom it was granted.
	// +optional
	// +listType=atomic
	Access []SecretAccess `json:"access,omitempty"`
	// readers are the units that keep to a revision.
	// +optional
	// +listType=atomic
	Readers []SecretReader `json:"readers,omitempty"`
	// term is that of the leader who wrote it last; a lower one is refused.
	// +optional
	Term int64 `json:"term,omitempty"`
	// transaction is the last one that changed it, so that it does so once.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Transaction string `json:"transaction,omitempty"`
	// conditions: Ready, Reconciling and Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Rotation is how often a new revision of a secret is due.
// +kubebuilder:validation:Enum=never;hourly;daily;weekly;monthly;quarterly;yearly
type Rotation string

// SecretRevision is one content of a secret.
type SecretRevision struct {
	// number counts from 1 and is never given twice.
	Number int64 `json:"number"`
	// shard is the number of the Secret orcon-secrets-N that holds the content.
	Shard int32 `json:"shard"`
	// key is what its keys there begin with.
	// +kubebuilder:validation:MaxLength=64
	Key string `json:"key"`
	// created is when it was made.
	Created metav1.Time `json:"created"`
	// expires is when its owner is told that it has ended; unset for never.
	// +optional
	Expires *metav1.Time `json:"expires,omitempty"`
}

// SecretAccess is a grant: it lives as long as its relation.
type SecretAccess struct {
	// relation is the name of the Relation; unset where a write narrows nothing down
	// by it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Relation string `json:"relation,omitempty"`
	// relationNamespace is where it is; unset for the secret's own namespace.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	RelationNamespace string `json:"relationNamespace,omitempty"`
	// relationUID is its UID.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	RelationUID string `json:"relationUID,omitempty"`
	// application that may read; application.namespace of another one.
	// +optional
	// +kubebuilder:validation:MaxLength=127
	Application string `json:"application,omitempty"`
	// unit is the number of the one that may; unset for all.
	// +optional
	// +kubebuilder:validation:MaxLength=10
	Unit string `json:"unit,omitempty"`
	// taken is Back where it was granted and revoked; unset while it is in force.
	// +optional
	Taken Taken `json:"taken,omitempty"`
}

// Taken says whether a grant was taken back.
// +kubebuilder:validation:Enum=Back
type Taken string

// TakenBack is a grant that was revoked.
const TakenBack Taken = "Back"

// SecretReader is a unit that keeps to a revision.
type SecretReader struct {
	// application of the unit; application.namespace of another one.
	// +kubebuilder:validation:MaxLength=127
	Application string `json:"application"`
	// unit is its number.
	// +kubebuilder:validation:MaxLength=10
	Unit string `json:"unit"`
	// revision that it reads until it asks for a later one; unset for the latest.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// label is the unit's own name for the secret.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Label string `json:"label,omitempty"`
}

// SecretWrite is what a transaction does to a secret. Its content is not here.
type SecretWrite struct {
	// kind is add, set, remove, grant or revoke.
	// +kubebuilder:validation:Enum=add;set;remove;grant;revoke
	Kind string `json:"kind"`
	// id names the secret.
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id"`
	// owner of what is added.
	// +optional
	Owner SecretOwner `json:"owner,omitempty"`
	// shard and key are where the content of a new revision lies.
	// +optional
	Shard int32 `json:"shard,omitempty"`
	// key is unset where there is no new revision.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Key string `json:"key,omitempty"`
	// label is unset where it stays.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Label string `json:"label,omitempty"`
	// description is unset where it stays.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Description string `json:"description,omitempty"`
	// rotation is unset where it stays.
	// +optional
	Rotation Rotation `json:"rotation,omitempty"`
	// expires is unset where it stays.
	// +optional
	Expires *metav1.Time `json:"expires,omitempty"`
	// revision that is removed; unset for all.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// access that is granted, or narrows down what is revoked.
	// +optional
	Access *SecretAccess `json:"access,omitempty"`
}

// SecretOwner is whose secret it is.
// +kubebuilder:validation:Enum=Application;Unit
type SecretOwner string

// The owners of a secret.
const (
	// OwnedByApplication is by its leader.
	OwnedByApplication SecretOwner = "Application"
	// OwnedByUnit is by the unit that made it.
	OwnedByUnit SecretOwner = "Unit"
)

// RelatedSecretList is a list of RelatedSecrets.
//
// +kubebuilder:object:root=true
type RelatedSecretList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RelatedSecret `json:"items"`
}

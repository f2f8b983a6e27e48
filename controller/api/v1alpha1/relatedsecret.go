package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RelatedSecret is one secret without its content: its owner, its revisions, its grants and its
// readers. Its name is the secret's ID. It is generated: use secret-add and secret-set. Deleting it
// ends the secret; its content stays for a day, in case it is restored.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=rsec,categories=orcon
// +kubebuilder:printcolumn:name="Application",type=string,JSONPath=`.spec.application`
// +kubebuilder:printcolumn:name="Unit",type=string,JSONPath=`.spec.unit`
// +kubebuilder:printcolumn:name="Label",type=string,JSONPath=`.state.label`
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.state.latestRevision`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type RelatedSecret struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec names the owner of the secret; it cannot be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a secret belongs to one owner for ever"
	Spec RelatedSecretSpec `json:"spec"`
	// state holds what the controller keeps and cannot compute again. Unset: nothing is known of the
	// secret, and nothing of it is removed.
	// +optional
	State RelatedSecretState `json:"state,omitempty"`
}

// RelatedSecretSpec names the owner of a secret.
type RelatedSecretSpec struct {
	// application is the name of the application that owns the secret, itself or through one of its
	// units.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Application string `json:"application"`
	// unit is the number of the unit that owns the secret. Unset: the application owns it.
	// +optional
	// +kubebuilder:validation:Pattern=`^(0|[1-9][0-9]{0,9})$`
	Unit string `json:"unit,omitempty"`
}

// RelatedSecretState holds what the controller keeps of a secret and cannot compute again.
type RelatedSecretState struct {
	// label is the owner's own name for the secret. Unset: none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Label string `json:"label,omitempty"`
	// description explains what the secret is for, in at most 4096 characters. Unset: none.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Description string `json:"description,omitempty"`
	// rotation is how often a new revision is due: never, hourly, daily, weekly, monthly, quarterly
	// or yearly. Unset: never.
	// +optional
	Rotation Rotation `json:"rotation,omitempty"`
	// rotationTime is the time at which the next revision is due. Unset: never.
	// +optional
	RotationTime *metav1.Time `json:"rotationTime,omitempty"`
	// latestRevision is the highest revision number so far. Default 0: no revision.
	// +optional
	LatestRevision int64 `json:"latestRevision,omitempty"`
	// removalTime is the time at which its owner removed the secret, soon after making it. The object
	// stays for up to two hours, so that a late request does not make the secret again. Unset: the
	// secret was not removed.
	// +optional
	RemovalTime *metav1.Time `json:"removalTime,omitempty"`
	// revisions lists the revisions that can still be read, in order of number. Unset: none.
	// +optional
	// +listType=map
	// +listMapKey=number
	Revisions []SecretRevision `json:"revisions,omitempty"`
	// access lists the grants of the secret. Unset: none.
	// +optional
	// +listType=atomic
	Access []SecretAccess `json:"access,omitempty"` //nolint:kubeapilinter // a write revokes all that it does not narrow down
	// readers lists the units that read the secret, with the revision that each keeps. Unset: none.
	// +optional
	// +listType=atomic
	Readers []SecretReader `json:"readers,omitempty"`
	// term is the term of the leader that last wrote the secret; a leader of a lower term is
	// refused. Default 0: no leader wrote it.
	// +optional
	Term int64 `json:"term,omitempty"`
	// transaction identifies the last transaction that changed the secret, so that it does so once.
	// Unset: none.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Transaction string `json:"transaction,omitempty"`
}

// Rotation is how often a new revision of a secret is due.
// +kubebuilder:validation:Enum=never;hourly;daily;weekly;monthly;quarterly;yearly
type Rotation string

// SecretRevision is one revision of a secret.
type SecretRevision struct {
	// number is the number of the revision, from 1; it is never reused.
	// +required
	Number int64 `json:"number"`
	// shard is the N of the Secret orcon-secrets-N that holds the content.
	// +required
	Shard int32 `json:"shard"`
	// key is the prefix of the content's keys in that Secret.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Key string `json:"key"`
	// creationTime is the time at which the revision was written.
	// +required
	CreationTime metav1.Time `json:"creationTime"`
	// expirationTime is the time at which the owner is notified that the revision has expired. Unset:
	// never.
	// +optional
	ExpirationTime *metav1.Time `json:"expirationTime,omitempty"`
}

// SecretAccess is a grant of a secret; it ends with its relation.
type SecretAccess struct {
	// relation is the name of the Relation. Unset in a write that does not restrict itself to a
	// relation.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Relation string `json:"relation,omitempty"`
	// relationNamespace is the namespace of the Relation. Unset: the secret's own.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	RelationNamespace string `json:"relationNamespace,omitempty"`
	// relationUID is the UID of the Relation. Unset if relation is.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	RelationUID string `json:"relationUID,omitempty"`
	// application is the application that may read the secret, or application.namespace in another
	// namespace. Unset in a write that does not restrict itself to an application.
	// +optional
	// +kubebuilder:validation:MaxLength=127
	Application string `json:"application,omitempty"`
	// unit is the number of the unit that may read the secret. Unset: all units.
	// +optional
	// +kubebuilder:validation:MaxLength=10
	Unit string `json:"unit,omitempty"`
	// state is Granted (default), or Revoked.
	// +optional
	State AccessState `json:"state,omitempty"`
}

// AccessState tells whether a grant is in force.
// +kubebuilder:validation:Enum=Granted;Revoked
type AccessState string

// AccessRevoked is the state of a grant that was revoked.
const AccessRevoked AccessState = "Revoked"

// SecretReader is a unit that reads a secret.
type SecretReader struct {
	// application is the unit's application, or application.namespace in another namespace.
	// +required
	// +kubebuilder:validation:MaxLength=127
	Application string `json:"application"`
	// unit is the number of the unit.
	// +required
	// +kubebuilder:validation:MaxLength=10
	Unit string `json:"unit"`
	// revision is the revision that the unit reads until it requests a later one. Unset: the
	// latest.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// label is the unit's own name for the secret. Unset: none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Label string `json:"label,omitempty"`
	// readTime is the time at which the unit came to that revision or label. Unset: not known.
	// +optional
	ReadTime *metav1.Time `json:"readTime,omitempty"`
}

// SecretWrite is a transaction's change of a secret, without its content.
type SecretWrite struct {
	// kind is add, set, remove, grant or revoke.
	// +required
	// +kubebuilder:validation:Enum=add;set;remove;grant;revoke
	Kind string `json:"kind"`
	// id is the ID of the secret.
	// +required
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id"`
	// owner is Application or Unit, for a secret that is added. Unset: the secret exists already.
	// +optional
	Owner SecretOwner `json:"owner,omitempty"`
	// shard is the N of the Secret orcon-secrets-N that holds the content of a new revision.
	// Default 0.
	// +optional
	Shard int32 `json:"shard,omitempty"`
	// key is the prefix of the content's keys in that Secret. Unset: no new revision.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Key string `json:"key,omitempty"`
	// label is the new label. Unset: it does not change.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Label string `json:"label,omitempty"`
	// description is the new description. Unset: it does not change.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Description string `json:"description,omitempty"`
	// rotation is the new rotation. Unset: it does not change.
	// +optional
	Rotation Rotation `json:"rotation,omitempty"`
	// expirationTime is the new time of expiry. Unset: it does not change.
	// +optional
	ExpirationTime *metav1.Time `json:"expirationTime,omitempty"`
	// revision is the number of the revision that is removed. Unset: all of them.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// access is the grant that is added, or that restricts what is revoked. Unset: none.
	// +optional
	Access *SecretAccess `json:"access,omitempty"`
}

// SecretOwner tells whether an application or one of its units owns a secret.
// +kubebuilder:validation:Enum=Application;Unit
type SecretOwner string

// The owners of a secret.
const (
	OwnedByApplication SecretOwner = "Application"
	OwnedByUnit        SecretOwner = "Unit"
)

// RelatedSecretList is a list of RelatedSecrets.
//
// +kubebuilder:object:root=true
type RelatedSecretList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RelatedSecret `json:"items"`
}

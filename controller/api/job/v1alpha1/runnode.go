package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RunNode is a machine outside of the cluster that carries out runs as containers. Its agent dials out to Orcon, joins by a
// token that orcon job node join prints, and takes runs once a person has adopted its key.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=rn,categories=orcon
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="a RunNode's name has at most 63 characters"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.state) || has(self.state)",message="state cannot be removed: leave it as it is"
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Seen",type=date,JSONPath=`.status.seen`
// +kubebuilder:printcolumn:name="Capacity",type=integer,JSONPath=`.spec.capacity`
// +kubebuilder:printcolumn:name="Namespaces",type=string,JSONPath=`.spec.namespaces`
// +kubebuilder:printcolumn:name="Contract",type=string,JSONPath=`.status.contract`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type RunNode struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what the machine may do.
	// +optional
	Spec RunNodeSpec `json:"spec,omitempty"`
	// state holds what its agent is known by. It is written by Orcon alone.
	// +optional
	State *RunNodeState `json:"state,omitempty"`
	// status is written by the controller.
	// +optional
	Status RunNodeStatus `json:"status,omitempty"`
}

// RunNodeSpec says what a machine may do.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.order) || has(self.order) || oldSelf.order != 'Revoked'",message="it is revoked"
type RunNodeSpec struct {
	// key is the digest of the key that a person has adopted, as state.key shows it; unset adopts none. An agent that joins
	// anew has another key, and waits until that is adopted; the one before goes on until then.
	// +optional
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:Pattern=`^sha256:[0-9a-f]{64}$`
	Key string `json:"key,omitempty"`
	// order is Suspended to give the machine no further run, and Revoked to refuse each of its calls for ever; unset for
	// none.
	// +optional
	// +kubebuilder:validation:Enum=Suspended;Revoked
	// +kubebuilder:validation:XValidation:rule="self == oldSelf || oldSelf != 'Revoked'",message="a revocation is final: make another RunNode"
	Order string `json:"order,omitempty"`
	// namespaces are those whose JobWorkspaces may run on the machine; unset permits none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=63
	Namespaces []string `json:"namespaces,omitempty"`
	// capacity is how many runs the machine carries out at once, from 1 to 100; unset is 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Capacity int32 `json:"capacity,omitempty"`
	// accepted names checks of the runner contract that the machine may fail, as status.conformance names them: a person has
	// decided that its runs need not be carried out so. Unset accepts none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	Accepted []string `json:"accepted,omitempty"`
}

// The orders about a RunNode.
const (
	OrderSuspended = "Suspended"
	OrderRevoked   = "Revoked"
)

// RunNodeState holds what an agent is known by.
type RunNodeState struct {
	// key is the digest of the key of the agent that joined last; unset before one has.
	// +optional
	// +kubebuilder:validation:MaxLength=71
	Key string `json:"key,omitempty"`
	// former is the digest of the key that was adopted when the last agent joined: it may call as long as spec.key adopts it.
	// Unset for none.
	// +optional
	// +kubebuilder:validation:MaxLength=71
	Former string `json:"former,omitempty"`
	// expires is the end of the last certificate of key, which may be renewed for 30 days more; unset before one has joined.
	// +optional
	Expires *metav1.Time `json:"expires,omitempty"`
	// token lets an agent join once; unset for none.
	// +optional
	Token *RunNodeToken `json:"token,omitempty"`
}

// RunNodeToken describes a token. The token itself is not stored.
type RunNodeToken struct {
	// digest is the digest of its secret.
	// +required
	// +kubebuilder:validation:MaxLength=71
	Digest string `json:"digest"`
	// expires is when it is no longer good.
	// +required
	Expires metav1.Time `json:"expires"`
	// user is the digest of the key that has used it; unset for none.
	// +optional
	// +kubebuilder:validation:MaxLength=71
	User string `json:"user,omitempty"`
}

// RunNodeStatus is the observed state of a RunNode.
type RunNodeStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase is its state in one word.
	// +optional
	// +kubebuilder:validation:Enum=Unjoined;Pending;Suspended;Revoked;Silent;Unproven;Differing;Ready
	Phase string `json:"phase,omitempty"`
	// caller is the digest of the key of the agent that seen, contract and conformance are about; unset before it has called.
	// +optional
	// +kubebuilder:validation:MaxLength=71
	Caller string `json:"caller,omitempty"`
	// seen is when its agent called last, to about ten seconds; unset before that.
	// +optional
	Seen *metav1.Time `json:"seen,omitempty"`
	// contract is the version of the runner contract that its agent has; unset before it has called.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	Contract string `json:"contract,omitempty"`
	// conformance holds the result of runs by which its agent tests that contract; unset before it has. A machine
	// takes runs once that is known, and no difference is left that spec.accepted does not name.
	// +optional
	Conformance *RunNodeConformance `json:"conformance,omitempty"`
	// untested tells why its agent cannot test that contract; unset for no reason.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Untested string `json:"untested,omitempty"`
	// conditions are Ready and Stalled. Ready is true while it takes runs.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// RunNodeConformance holds the result of an agent that tests the runner contract on its machine.
type RunNodeConformance struct {
	// subject names the runner and the engine that were tested.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Subject string `json:"subject"`
	// differences are checks whose results are not those that the contract promises; unset for none.
	// +optional
	// +listType=map
	// +listMapKey=check
	// +kubebuilder:validation:MaxItems=64
	Differences []RunNodeDifference `json:"differences,omitempty"`
}

// RunNodeDifference is a check of the runner contract that a machine fails.
type RunNodeDifference struct {
	// check is its name.
	// +required
	// +kubebuilder:validation:MaxLength=256
	Check string `json:"check"`
	// found describes the result.
	// +required
	// +kubebuilder:validation:MaxLength=256
	Found string `json:"found"`
}

// RunNodeList is a list of RunNodes.
//
// +kubebuilder:object:root=true
type RunNodeList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of a list.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are the RunNodes.
	Items []RunNode `json:"items"`
}

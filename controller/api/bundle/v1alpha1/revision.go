package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BundleRevision is one version of a BundleDeployment: exactly what was planned, and how it
// ended. Immutable Secrets, named after their content, hold its objects (BUNDLES.md).
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=br,categories=orcon
// +kubebuilder:printcolumn:name="Deployment",type=string,JSONPath=`.spec.deployment`
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.spec.revision`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Content",type=integer,JSONPath=`.spec.content`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.summary`
type BundleRevision struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the plan; it never changes.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a BundleRevision's spec never changes"
	Spec BundleRevisionSpec `json:"spec"`
	// status is written by the controller.
	// +optional
	Status BundleRevisionStatus `json:"status,omitempty"`
}

// BundleRevisionSpec is the plan of a revision.
type BundleRevisionSpec struct {
	// deployment is the name of the BundleDeployment.
	// +required
	// +kubebuilder:validation:MaxLength=52
	Deployment string `json:"deployment"`
	// revision is the number of the revision, from 1.
	// +required
	Revision int64 `json:"revision"`
	// content is the oldest revision with the same objects: the revision itself, or after a
	// rollback an older one.
	// +required
	Content int64 `json:"content"`
	// base is the healthy revision that the plan changes; unset for none.
	// +optional
	Base int64 `json:"base,omitempty"`
	// manifestDigest is the digest of the objects in their order.
	// +required
	// +kubebuilder:validation:MaxLength=64
	ManifestDigest string `json:"manifestDigest"`
	// planDigest is the digest that an Approval names.
	// +required
	// +kubebuilder:validation:MaxLength=64
	PlanDigest string `json:"planDigest"`
	// contents are the Secrets that hold the plan and its objects, named after the digest of
	// their content.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=253
	Contents []string `json:"contents"`
	// objects is the number of objects.
	// +required
	Objects int64 `json:"objects"`
	// actions lists what the plan does, one line each, at most 500; orcon diff and orcon approve
	// show all of them, field by field.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=501
	Actions []string `json:"actions,omitempty"`
}

// BundleRevisionStatus is the state of a revision.
type BundleRevisionStatus struct {
	// state is Proposed, Active, Succeeded, Failed or Superseded.
	// +optional
	// +kubebuilder:validation:Enum=Proposed;Active;Succeeded;Failed;Superseded
	State string `json:"state,omitempty"`
	// message explains why it failed, or which revision replaced it.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Message string `json:"message,omitempty"`
	// summary is the beginning of the message, for one line.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Summary string `json:"summary,omitempty"`
	// health is Proven once the revision has succeeded, also after another has replaced it;
	// Unproven from when it is carried out until then, and Untried before.
	// +optional
	Health Health `json:"health,omitempty"`
	// library is the version of Orcon's probes that judged its objects when it began.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Library string `json:"library,omitempty"`
}

// Health tells whether a revision was ever carried out, and has succeeded.
// +kubebuilder:validation:Enum=Untried;Unproven;Proven
type Health string

// The healths of a revision.
const (
	HealthUntried  Health = "Untried"
	HealthUnproven Health = "Unproven"
	HealthProven   Health = "Proven"
)

// BundleRevisionList is a list of BundleRevisions.
//
// +kubebuilder:object:root=true
type BundleRevisionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BundleRevision `json:"items"`
}

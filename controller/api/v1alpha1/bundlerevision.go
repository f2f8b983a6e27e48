package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BundleRevision is one version of a BundleDeployment: exactly what was planned, and how
// it ended. Its objects lie in immutable Secrets named by their content, and are never
// rendered again (BUNDLES.md).
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=br,categories=orcon
// +kubebuilder:printcolumn:name="Deployment",type=string,JSONPath=`.spec.deployment`
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.spec.revision`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Content",type=integer,JSONPath=`.spec.content`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`
type BundleRevision struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what was planned; it never changes.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a BundleRevision's spec never changes"
	Spec BundleRevisionSpec `json:"spec"`
	// status is written by the controller.
	// +optional
	Status BundleRevisionStatus `json:"status,omitempty"`
}

// BundleRevisionSpec is what was planned.
type BundleRevisionSpec struct {
	// deployment is the name of the BundleDeployment.
	// +kubebuilder:validation:MaxLength=52
	Deployment string `json:"deployment"`
	// revision counts from 1.
	Revision int64 `json:"revision"`
	// content is the revision whose objects it has: itself, or on the way back an older one.
	Content int64 `json:"content"`
	// base is the healthy revision that it was planned against; unset for none.
	// +optional
	Base int64 `json:"base,omitempty"`
	// manifestDigest is that of the objects in their order.
	// +kubebuilder:validation:MaxLength=64
	ManifestDigest string `json:"manifestDigest"`
	// planDigest is what an Approval approves.
	// +kubebuilder:validation:MaxLength=64
	PlanDigest string `json:"planDigest"`
	// contents are the Secrets that hold the plan and its objects, named by the digest of
	// what they hold.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=253
	Contents []string `json:"contents"`
	// objects is how many there are.
	Objects int64 `json:"objects"`
	// actions are what the plan does, one line each, 500 at most; orcon shows them all,
	// field by field.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=501
	Actions []string `json:"actions,omitempty"`
}

// BundleRevisionStatus is how a revision fares.
type BundleRevisionStatus struct {
	// state is Proposed, Active, Succeeded, Failed or Superseded.
	// +optional
	// +kubebuilder:validation:Enum=Proposed;Active;Succeeded;Failed;Superseded
	State string `json:"state,omitempty"`
	// message says why it failed, or by what it was replaced.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Message string `json:"message,omitempty"`
	// healthy says that it has succeeded once.
	// +optional
	Healthy bool `json:"healthy,omitempty"`
}

// BundleRevisionList is a list of BundleRevisions.
//
// +kubebuilder:object:root=true
type BundleRevisionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BundleRevision `json:"items"`
}

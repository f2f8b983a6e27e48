package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Approval is a person's word on one plan of a BundleDeployment of its namespace: on bytes,
// never on a recipe (BUNDLES.md). It counts if and only if what would be done is still
// what was planned. Deleting it takes the word back until the plan has begun.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=orcon
// +kubebuilder:printcolumn:name="Deployment",type=string,JSONPath=`.spec.deployment`
// +kubebuilder:printcolumn:name="By",type=string,JSONPath=`.spec.author`
// +kubebuilder:printcolumn:name="Plan",type=string,JSONPath=`.spec.planDigest`
// +kubebuilder:printcolumn:name="Expires",type=date,JSONPath=`.spec.expires`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Approval struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is approved; it never changes.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="an Approval never changes: delete it and make another"
	Spec ApprovalSpec `json:"spec"`
}

// ApprovalSpec is what is approved.
type ApprovalSpec struct {
	// deployment is the name of the BundleDeployment.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=52
	Deployment string `json:"deployment"`
	// planDigest is the plan's.
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	// +kubebuilder:validation:MaxLength=64
	PlanDigest string `json:"planDigest"`
	// author is who approves: the name of the user who makes this object, which the API
	// server checks.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Author string `json:"author"`
	// confirmed are held objects whose end is confirmed, as Kind/name or
	// Kind.group/namespace/name.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MaxLength=600
	Confirmed []string `json:"confirmed,omitempty"`
	// expires is until when it counts; unset for ever.
	// +optional
	Expires *metav1.Time `json:"expires,omitempty"`
}

// ApprovalList is a list of Approvals.
//
// +kubebuilder:object:root=true
type ApprovalList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Approval `json:"items"`
}

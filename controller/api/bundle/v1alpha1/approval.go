package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Approval approves one plan of a BundleDeployment of its namespace, or one of each of several: exact objects, never
// a recipe (BUNDLES.md). It is valid only as long as the plan stays the same. Deleting it withdraws
// the approval, until the plan is carried out.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=orcon
// +kubebuilder:printcolumn:name="Deployment",type=string,JSONPath=`.spec.deployment`
// +kubebuilder:printcolumn:name="By",type=string,JSONPath=`.spec.author`
// +kubebuilder:printcolumn:name="Plan",type=string,JSONPath=`.spec.planDigest`
// +kubebuilder:printcolumn:name="Expires",type=string,JSONPath=`.spec.expirationTime`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Approval struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the approved plan; it never changes.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="an Approval never changes: delete it and make another"
	Spec ApprovalSpec `json:"spec"`
}

// ApprovalSpec is the approved plan.
//
// +kubebuilder:validation:XValidation:rule="has(self.deployment) != has(self.plans)",message="set deployment, or plans for several"
// +kubebuilder:validation:XValidation:rule="!has(self.plans) || !has(self.confirmedObjects)",message="confirm objects in an Approval of one deployment"
type ApprovalSpec struct {
	// deployment is the name of the BundleDeployment; unset for plans of several.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=52
	Deployment string `json:"deployment,omitempty"`
	// plans are the approved plans of several BundleDeployments. One that changes is no longer approved; others are.
	// +optional
	// +listType=map
	// +listMapKey=deployment
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1024
	Plans []ApprovedPlan `json:"plans,omitempty"`
	// planDigest is the digest of the plan, from status.plan.digest of the BundleDeployment, or of the IntegrationSet
	// for plans of its members.
	// +required
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	// +kubebuilder:validation:MaxLength=64
	PlanDigest string `json:"planDigest"`
	// author is the name of the user who creates this object; the API server checks it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Author string `json:"author"`
	// confirmedObjects lists held objects whose deletion is confirmed, as Kind/name or
	// Kind.group/namespace/name.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MaxLength=600
	ConfirmedObjects []string `json:"confirmedObjects,omitempty"`
	// expirationTime is the end of the approval; unset means never.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^[0-9T:.+Z-]+$`
	ExpirationTime *metav1.Time `json:"expirationTime,omitempty"`
}

// ApprovedPlan is the plan of one BundleDeployment.
type ApprovedPlan struct {
	// deployment is the name of the BundleDeployment.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=52
	Deployment string `json:"deployment"`
	// planDigest is the digest of the plan, from status.plan.digest of the BundleDeployment.
	// +required
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	// +kubebuilder:validation:MaxLength=64
	PlanDigest string `json:"planDigest"`
}

// ApprovalList is a list of Approvals.
//
// +kubebuilder:object:root=true
type ApprovalList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Approval `json:"items"`
}

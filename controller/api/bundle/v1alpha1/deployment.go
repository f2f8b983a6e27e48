package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Finalizer keeps a BundleDeployment until all that it made is deleted.
const Finalizer = "orcon.tengu.io/bundle"

// RetryKey is an annotation of a BundleDeployment: each new value retries content that failed
// before.
const RetryKey = "orcon.tengu.io/retry"

// RequesterKey is the annotation of a BundleDeployment with the user who requested its last
// change; admission enforces it.
const RequesterKey = "orcon.tengu.io/requester"

// BundleDeployment describes a bundle to be installed in a namespace: its content, how that is
// rendered, and how changes are carried out (BUNDLES.md). Deleting it deletes every object that
// it made, in reverse order.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=bd,categories=orcon
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",message="a BundleDeployment's name has at most 52 characters, since names of Secrets and revisions contain it"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Why",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Active",type=integer,JSONPath=`.status.activeRevision`
// +kubebuilder:printcolumn:name="Healthy",type=integer,JSONPath=`.status.healthyRevision`
// +kubebuilder:printcolumn:name="Plan",type=string,JSONPath=`.status.plan.digest`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type BundleDeployment struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +required
	Spec BundleDeploymentSpec `json:"spec"`
	// status is written by the controller.
	// +optional
	Status BundleDeploymentStatus `json:"status,omitempty"`
}

// BundleDeploymentSpec is the desired state.
type BundleDeploymentSpec struct {
	// paused stops all work: nothing is written until it is false again.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// sources are merged in this order: files of later ones replace files of earlier ones.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Sources []BundleSource `json:"sources"`
	// format is the format of the content; unset, it is detected.
	// +optional
	// +kubebuilder:validation:Enum=plain;helm;registry-v1;kustomize;openshift-template
	Format string `json:"format,omitempty"`
	// render configures how the content becomes objects.
	// +optional
	Render BundleRender `json:"render,omitempty"`
	// healthChecks define when objects of a kind are healthy; other kinds are judged by their
	// status.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	HealthChecks []BundleHealthCheck `json:"healthChecks,omitempty"`
	// dependsOn names BundleDeployments of this namespace that must be ready first.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=52
	DependsOn []string `json:"dependsOn,omitempty"`
	// canaries are names of workloads that are healthy before other workloads of the bundle change; * matches any part of a
	// name. A name that no workload has has no effect.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9.*-]+$`
	Canaries []string `json:"canaries,omitempty"`
	// serviceAccountName is the ServiceAccount of this namespace that reads and writes everything;
	// it needs every permission that the bundle uses, and a RoleBinding of the namespace to ClusterRole
	// orcon-bundle-account lets the controller act as it. Unset is "default".
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// conflicts decides what happens to existing objects that this deployment did not make: Prevent,
	// the default, changes none of them; AdoptUnowned adopts those that nothing else manages; Take
	// also takes over fields and objects of others, as the plan lists them.
	// +optional
	// +kubebuilder:validation:Enum=Prevent;AdoptUnowned;Take
	Conflicts string `json:"conflicts,omitempty"`
	// drift decides what happens when others change or delete objects of the bundle.
	// +optional
	Drift BundleDrift `json:"drift,omitempty"`
	// prune decides which deletions need confirmation.
	// +optional
	Prune BundlePrune `json:"prune,omitempty"`
	// rollback decides what follows a failure.
	// +optional
	Rollback BundleRollback `json:"rollback,omitempty"`
	// approval decides who approves plans.
	// +optional
	Approval BundleApproval `json:"approval,omitempty"`
	// deletionPolicy decides what happens to the objects when the deployment is deleted: Delete, the default,
	// deletes what it made and gives back what it adopted; Orphan leaves every object as it is, without Orcon's marks.
	// +optional
	// +kubebuilder:validation:Enum=Delete;Orphan
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
	// historyLimit is the number of revisions that are kept; unset is 10.
	// +optional
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=50
	HistoryLimit int32 `json:"historyLimit,omitempty"`
}

// EmptyContentAllow is the value of emptyContent by which content may come to no objects.
const EmptyContentAllow = "Allow"

// DeletionPolicyOrphan leaves the objects of a deleted deployment as they are.
const DeletionPolicyOrphan = "Orphan"

// BundleSource is a source of content.
type BundleSource struct {
	// reference is oci://REGISTRY/REPOSITORY@sha256:…, git+https://HOST/REPOSITORY@COMMIT,
	// https://HOST/ARCHIVE#sha256=…, or configmaps:NAME,NAME of this namespace. Data of an IntegrationSet may also come
	// from https://HOST/BUNDLE.json and graphql+https://HOST/graphql.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Reference string `json:"reference"` //nolint:kubeapilinter // not to an object: a URL
	// resolve is Pinned, the default, for a reference with a digest, commit or checksum, or Track
	// to follow a tag, branch or address.
	// +optional
	// +kubebuilder:validation:Enum=Pinned;Track
	Resolve string `json:"resolve,omitempty"`
	// auth are the credentials of the source.
	// +optional
	Auth *BundleAuth `json:"auth,omitempty"`
	// destination is the folder in which the content is placed; unset is the top.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Destination string `json:"destination,omitempty"`
}

// BundleAuth are the credentials of a source.
type BundleAuth struct {
	// secretRef names a Secret of this namespace with the keys username and password, or token, or
	// ssh-privatekey and known_hosts, and optionally ca.crt.
	// +required
	SecretRef BundleSecretRef `json:"secretRef"`
}

// BundleSecretRef names a Secret of the namespace.
type BundleSecretRef struct {
	// name is the name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// BundleHealthCheck defines in CEL, over the variable "object", when objects of a kind are healthy.
type BundleHealthCheck struct {
	// group is the API group of the kind; unset is the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
	// kind is the kind of the objects.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// ready is an expression that is true for a healthy object: object.status.phase == "Running".
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Ready string `json:"ready,omitempty"`
	// failed is an expression that is true for an object that will not become healthy.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Failed string `json:"failed,omitempty"`
}

// BundleDrift decides what happens when others change or delete objects of the bundle.
type BundleDrift struct {
	// mode is Correct, the default, which undoes such changes, or Report, which only reports them.
	// +optional
	// +kubebuilder:validation:Enum=Correct;Report
	Mode string `json:"mode,omitempty"`
	// ignore names fields that others may set: their changes there are no drift.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Ignore []BundleIgnore `json:"ignore,omitempty"`
}

// BundleIgnore names fields that others may set.
type BundleIgnore struct {
	// apiVersion is the group and version of the objects; only the group counts.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion"`
	// kind is the kind of the objects.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// name selects one object; unset selects all of the kind.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// paths are the fields, as plans print them: spec.replicas,
	// spec.template.spec.containers[name="web"].image; [*] is every element of a list.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=512
	Paths []string `json:"paths"`
}

// BundlePrune decides which deletions need confirmation, and when a replaced workload is deleted.
type BundlePrune struct {
	// confirmKinds are kinds, as Kind or Kind.group, whose deletion needs confirmation, besides
	// Namespaces, PersistentVolumes, PersistentVolumeClaims and CustomResourceDefinitions.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	ConfirmKinds []string `json:"confirmKinds,omitempty"`
	// maxDeletions is the number of objects that an upgrade may delete without confirmation; unset
	// is 10.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxDeletions *int32 `json:"maxDeletions,omitempty"`
	// kindChange decides when a workload is deleted whose name another kind of workload gets, as Deployment and
	// StatefulSet: DeleteLast, the default, once the new one is healthy; DeleteFirst, with its pods, before the new
	// one is created. Claims of a StatefulSet stay.
	// +optional
	// +kubebuilder:validation:Enum=DeleteLast;DeleteFirst
	KindChange string `json:"kindChange,omitempty"`
}

// BundleRollback decides what follows a failure.
type BundleRollback struct {
	// onFailure decides what follows a failure: Restore, the default, brings back the last healthy
	// content; Keep leaves the failed content for a person.
	// +optional
	OnFailure OnFailure `json:"onFailure,omitempty"`
	// progressDeadline is how long an object may make no progress before its revision fails; unset
	// is 10m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(\.[0-9]{1,6})?(ns|us|µs|ms|s|m|h))+$`
	ProgressDeadline *metav1.Duration `json:"progressDeadline,omitempty"`
}

// OnFailure decides what follows the failure of a revision.
// +kubebuilder:validation:Enum=Restore;Keep
type OnFailure string

// OnFailureKeep is the value of OnFailure that leaves the failed content.
const OnFailureKeep OnFailure = "Keep"

// BundleApproval decides who approves plans.
type BundleApproval struct {
	// mode is Auto, the default, which carries out every plan; Digest, which waits for an Approval of
	// each plan; or Policy, which waits for an Approval of plans that the policy refuses.
	// +optional
	// +kubebuilder:validation:Enum=Auto;Digest;Policy
	Mode string `json:"mode,omitempty"`
	// policy lists the rules of mode Policy. A plan has to satisfy all of them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Policy []BundleRule `json:"policy,omitempty"`
	// selfApproval decides whether the user who requested a change may approve it: Allow, the default,
	// or Forbid, which requires the Approval of another user.
	// +optional
	SelfApproval SelfApproval `json:"selfApproval,omitempty"`
}

// SelfApproval decides whether the user who requested a change may approve it.
// +kubebuilder:validation:Enum=Allow;Forbid
type SelfApproval string

// SelfApprovalForbid is the value of SelfApproval that requires another user.
const SelfApprovalForbid SelfApproval = "Forbid"

// BundleRule is one rule that a plan has to satisfy.
type BundleRule struct {
	// name is shown when the rule refuses a plan.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// expression is CEL over the variable "plan", in the form that orcon plan -o json prints:
	// plan.actions.all(a, a.verb != "delete").
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Expression string `json:"expression"`
	// message explains a refusal; unset is the expression.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// BundleDeploymentStatus is the observed state of a BundleDeployment.
type BundleDeploymentStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// sources are the references with the digests that they resolved to.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Sources []string `json:"sources,omitempty"`
	// notes list what is left out of the content, such as hooks of a chart that never run here; at most 20.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Notes []string `json:"notes,omitempty"`
	// plan is the plan that waits for approval; unset for none.
	// +optional
	Plan *BundlePlan `json:"plan,omitempty"`
	// activeRevision is the newest revision that was begun; unset for none.
	// +optional
	ActiveRevision int64 `json:"activeRevision,omitempty"`
	// healthyRevision is the newest revision that has succeeded; unset for none.
	// +optional
	HealthyRevision int64 `json:"healthyRevision,omitempty"`
	// finishedObjects is the number of objects that are up to date and healthy, of all objects.
	// +optional
	FinishedObjects int64 `json:"finishedObjects,omitempty"`
	// objects is the number of objects.
	// +optional
	Objects int64 `json:"objects,omitempty"`
	// waits lists objects that are not finished and why, in their order, at most 20.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Waits []BundleWait `json:"waits,omitempty"`
	// drift lists objects that others have changed or deleted and that are not corrected yet, at
	// most 20.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Drift []string `json:"drift,omitempty"`
	// lastRetry is the value of annotation orcon.tengu.io/retry that was handled last.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	LastRetry string `json:"lastRetry,omitempty"`
	// conditions are Ready, Reconciling and Stalled, which sum up; Sourced, Rendered, Planned and
	// Approved, the stages before a change; Progressing, Healthy and Degraded, the state after it.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BundlePlan is a plan that waits for approval.
type BundlePlan struct {
	// revision is the BundleRevision that holds the plan; unset for a deletion.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Revision string `json:"revision,omitempty"`
	// digest is the digest that an Approval names.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Digest string `json:"digest"`
	// cluster is the UID of namespace kube-system, which is part of the digest.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Cluster string `json:"cluster"`
	// heldObjects lists the objects whose deletion must be confirmed, as Kind/namespace/name.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	HeldObjects []string `json:"heldObjects,omitempty"`
}

// BundleWait is an object that is not finished, and why.
type BundleWait struct {
	// object is the object that is not finished.
	// +required
	// +kubebuilder:validation:MaxLength=600
	Object string `json:"object"`
	// phase is the phase of the object.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Phase string `json:"phase"` //nolint:kubeapilinter // of the bundle, not of the object's life
	// message names the object that it waits for, or the state that it is in.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message"`
	// startTime is the time at which that state began; unset if it waits for another object.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
}

// BundleDeploymentList is a list of BundleDeployments.
//
// +kubebuilder:object:root=true
type BundleDeploymentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BundleDeployment `json:"items"`
}

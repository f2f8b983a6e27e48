package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// BundleDeployment is what somebody wants to have installed in a namespace: content, how
// it is rendered, and how it is carried out (BUNDLES.md). Deleting it deletes all that it
// made, in reverse order.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=bd,categories=orcon
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",message="a BundleDeployment's name has at most 52 characters: it stands in those of Secrets and revisions"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Why",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Active",type=integer,JSONPath=`.status.active`
// +kubebuilder:printcolumn:name="Healthy",type=integer,JSONPath=`.status.lastHealthy`
// +kubebuilder:printcolumn:name="Plan",type=string,JSONPath=`.status.plan.digest`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type BundleDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what is wanted.
	Spec BundleDeploymentSpec `json:"spec"`
	// status is written by the controller.
	// +optional
	Status BundleDeploymentStatus `json:"status,omitempty"`
}

// BundleDeploymentSpec says what is wanted.
type BundleDeploymentSpec struct {
	// paused stops everything where it is: nothing is written until it is false again.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// sources are laid over each other in this order.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Sources []BundleSource `json:"sources"`
	// format is that of the content; unset is what it looks like.
	// +optional
	// +kubebuilder:validation:Enum=plain;helm;registry-v1;kustomize
	Format string `json:"format,omitempty"`
	// render says how the content becomes objects.
	// +optional
	Render BundleRender `json:"render,omitempty"`
	// healthChecks say when objects of a kind are healthy; other kinds are judged by their
	// conditions.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	HealthChecks []BundleHealthCheck `json:"healthChecks,omitempty"`
	// dependsOn are the BundleDeployments of this namespace, by name, that are healthy first.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=52
	DependsOn []string `json:"dependsOn,omitempty"`
	// serviceAccountName is the account of this namespace by which everything is read and
	// written; unset is default.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// conflicts says what becomes of objects that somebody else has made; unset is Prevent.
	// +optional
	// +kubebuilder:validation:Enum=Prevent;AdoptUnowned;Take
	Conflicts string `json:"conflicts,omitempty"`
	// drift says what becomes of changes by others.
	// +optional
	Drift BundleDrift `json:"drift,omitempty"`
	// prune says what of the deletions waits for a person.
	// +optional
	Prune BundlePrune `json:"prune,omitempty"`
	// rollback says what follows a failure.
	// +optional
	Rollback BundleRollback `json:"rollback,omitempty"`
	// approval says who approves plans.
	// +optional
	Approval BundleApproval `json:"approval,omitempty"`
	// historyLimit is how many revisions are kept; unset is 10.
	// +optional
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=50
	HistoryLimit int32 `json:"historyLimit,omitempty"`
}

// BundleSource is a place that content comes from.
type BundleSource struct {
	// reference is oci://REGISTRY/REPOSITORY@sha256:…, git+https://HOST/REPOSITORY@COMMIT,
	// https://HOST/ARCHIVE#sha256=…, or configmaps:NAME,NAME of this namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Reference string `json:"reference"`
	// resolve is Pinned, the default, where the reference says which content it means, or
	// Track for whatever its tag, branch or address means now.
	// +optional
	// +kubebuilder:validation:Enum=Pinned;Track
	Resolve string `json:"resolve,omitempty"`
	// auth is how to be let in.
	// +optional
	Auth *BundleAuth `json:"auth,omitempty"`
	// destination is the folder that the content is laid into; unset is the top.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Destination string `json:"destination,omitempty"`
}

// BundleAuth is how to be let in.
type BundleAuth struct {
	// secretRef is a Secret of this namespace with username and password, or token;
	// ssh-privatekey and known_hosts; ca.crt.
	SecretRef BundleSecretRef `json:"secretRef"`
}

// BundleSecretRef names a Secret of the namespace.
type BundleSecretRef struct {
	// name is the Secret's.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// BundleRender says how content becomes objects.
type BundleRender struct {
	// path is the folder of the content that is rendered; unset is the top.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path,omitempty"`
	// values are those of a chart, over those of valuesFrom.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Values *runtime.RawExtension `json:"values,omitempty"`
	// valuesFrom are texts of values in this namespace; later ones count over earlier ones.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	ValuesFrom []BundleValues `json:"valuesFrom,omitempty"`
	// installNamespace is where objects without a namespace go; unset is this one.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	InstallNamespace string `json:"installNamespace,omitempty"`
	// watchNamespaces are those that an operator watches; unset is as many as it can.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	WatchNamespaces []string `json:"watchNamespaces,omitempty"`
	// configChecksum replaces the pods of a workload when what they read of the bundle's own
	// ConfigMaps and Secrets changes, by a digest of that in the pod template.
	// +optional
	ConfigChecksum bool `json:"configChecksum,omitempty"`
}

// BundleHealthCheck says in CEL over "object" when objects of a kind are healthy.
type BundleHealthCheck struct {
	// group is the kind's API group; unset for the core.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
	// kind is the kind.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// ready is true of what is healthy: object.status.phase == "Running".
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Ready string `json:"ready,omitempty"`
	// failed is true of what will not become healthy.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Failed string `json:"failed,omitempty"`
}

// BundleValues is a text of values.
type BundleValues struct {
	// kind is ConfigMap or Secret.
	// +kubebuilder:validation:Enum=ConfigMap;Secret
	Kind string `json:"kind"`
	// name is the object's.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// key is where the text stands; unset is values.yaml.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// BundleDrift says what becomes of changes by others.
type BundleDrift struct {
	// mode is Correct, the default, or Report, which leaves them as they are and says so.
	// +optional
	// +kubebuilder:validation:Enum=Correct;Report
	Mode string `json:"mode,omitempty"`
	// ignore names fields that others shall set: what they set there is no drift.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Ignore []BundleIgnore `json:"ignore,omitempty"`
}

// BundleIgnore names fields that others shall set.
type BundleIgnore struct {
	// apiVersion and kind say of which objects; only the group of the version counts.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// name is one object's; unset for all of the kind.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// paths lead to the fields, as plans print them: spec.replicas,
	// spec.template.spec.containers[name="web"].image; [*] is every element of a list.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=512
	Paths []string `json:"paths"`
}

// BundlePrune says what of the deletions waits for a person.
type BundlePrune struct {
	// confirmKinds are kinds, as Kind or Kind.group, whose deletion a person confirms,
	// besides namespaces, volumes, claims and definitions.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	ConfirmKinds []string `json:"confirmKinds,omitempty"`
	// maxDeletions is how many objects may leave at a time without a person; unset is 10.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxDeletions *int32 `json:"maxDeletions,omitempty"`
}

// BundleRollback says what follows a failure.
type BundleRollback struct {
	// onFailure brings the last healthy content back; unset is true.
	// +optional
	OnFailure *bool `json:"onFailure,omitempty"`
	// progressDeadline is how long an object may go without progress; unset is 10m.
	// +optional
	ProgressDeadline *metav1.Duration `json:"progressDeadline,omitempty"`
}

// BundleApproval says who approves plans.
type BundleApproval struct {
	// mode is Auto, the default; Digest, which waits for an Approval of each plan; or Policy,
	// which does so for plans that the policy does not allow.
	// +optional
	// +kubebuilder:validation:Enum=Auto;Digest;Policy
	Mode string `json:"mode,omitempty"`
	// policy are rules that a plan has to keep with mode Policy.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Policy []BundleRule `json:"policy,omitempty"`
	// fourEyes asks that somebody else approves than who has asked for the change.
	// +optional
	FourEyes bool `json:"fourEyes,omitempty"`
}

// BundleRule is one rule that a plan has to keep.
type BundleRule struct {
	// name is how people know it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// expression is CEL over "plan", as orcon plan -o json prints it:
	// plan.actions.all(a, a.verb != "delete").
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Expression string `json:"expression"`
	// message says why a plan is refused; unset is the expression.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// BundleDeploymentStatus is what the controller says of a BundleDeployment.
type BundleDeploymentStatus struct {
	// observedGeneration is the generation that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// sources are the references with the digests that they have turned out to mean.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Sources []string `json:"sources,omitempty"`
	// plan is what waits for approval; unset for none.
	// +optional
	Plan *BundlePlan `json:"plan,omitempty"`
	// active is the newest revision that was begun; unset for none.
	// +optional
	Active int64 `json:"active,omitempty"`
	// lastHealthy is the newest revision that has succeeded; unset for none.
	// +optional
	LastHealthy int64 `json:"lastHealthy,omitempty"`
	// finished and objects are how many objects are as they shall be, of how many.
	// +optional
	Finished int64 `json:"finished,omitempty"`
	// +optional
	Objects int64 `json:"objects,omitempty"`
	// waits are what is not finished, first things first, 20 at most.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Waits []BundleWait `json:"waits,omitempty"`
	// drift are the objects that others have changed, with mode Report, 20 at most.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Drift []string `json:"drift,omitempty"`
	// retried is the value of annotation orcon.tengu.io/retry that was heeded last.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Retried string `json:"retried,omitempty"`
	// conditions: Ready, Reconciling and Stalled; Sourced, Rendered, Planned, Approved,
	// Progressing, Healthy and Degraded.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BundlePlan is what waits for approval.
type BundlePlan struct {
	// revision is the BundleRevision that was proposed with it; unset for a deletion.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Revision string `json:"revision,omitempty"`
	// digest is what an Approval approves.
	// +kubebuilder:validation:MaxLength=64
	Digest string `json:"digest"`
	// cluster is the UID of namespace kube-system, which the digest is of too.
	// +kubebuilder:validation:MaxLength=253
	Cluster string `json:"cluster"`
	// held are the objects whose end must be confirmed, as Kind/namespace/name.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	Held []string `json:"held,omitempty"`
}

// BundleWait is what an object waits for.
type BundleWait struct {
	// object is the one that waits.
	// +kubebuilder:validation:MaxLength=600
	Object string `json:"object"`
	// phase is the object's.
	// +kubebuilder:validation:MaxLength=63
	Phase string `json:"phase"`
	// for is what it waits for.
	// +kubebuilder:validation:MaxLength=1024
	For string `json:"for"`
	// since is when that began; unset where it waits for another object.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// BundleDeploymentList is a list of BundleDeployments.
//
// +kubebuilder:object:root=true
type BundleDeploymentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BundleDeployment `json:"items"`
}

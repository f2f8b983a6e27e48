package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	bundle "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
)

// Finalizer keeps an IntegrationSet until its members no longer name it.
const Finalizer = "orcon.tengu.io/integrationset"

// ConfirmKey is an annotation of an IntegrationSet with the digest of the removal that its user confirms.
const ConfirmKey = "orcon.tengu.io/confirm"

// FetchKey is an annotation of an IntegrationSet with the time at which its webhook has last asked for a fetch.
const FetchKey = "orcon.tengu.io/fetch"

// SetLabel is the label of a member with the name of its set.
const SetLabel = "orcon.tengu.io/integrationset"

// ClaimPrefix begins the annotations of a member that name the other sets that want it: their names follow.
const ClaimPrefix = "orcon.tengu.io/integrationset-claim."

// Annotations of a member.
const (
	// IntegrationKey holds the name of the integration; it is empty for what a namespace shares.
	IntegrationKey = "orcon.tengu.io/integration"
	// FileKey holds the file of the integration, LineKey the line of the entry, NamespaceKey the file of the namespace.
	FileKey      = "orcon.tengu.io/integration-file"
	LineKey      = "orcon.tengu.io/integration-line"
	NamespaceKey = "orcon.tengu.io/integration-namespace"
	// DataKey holds the references of the data that last changed the member, with what they resolved to.
	DataKey = "orcon.tengu.io/integration-data"
	// WorkloadsKey holds the number of shards that run, DigestKey the digest of all that the set stamped.
	WorkloadsKey = "orcon.tengu.io/integration-workloads"
	DigestKey    = "orcon.tengu.io/integration-digest"
)

// IntegrationSet stamps a BundleDeployment for each integration and namespace that data files declare.
// Deleting it deletes no member, unless spec.deletionPolicy is Delete: they go on as BundleDeployments of their own.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=iset,categories=orcon
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 30",message="an IntegrationSet's name has at most 30 characters, since names of members contain it"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Why",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Members",type=integer,JSONPath=`.status.members`
// +kubebuilder:printcolumn:name="Up",type=integer,JSONPath=`.status.readyMembers`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type IntegrationSet struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	// +required
	Spec IntegrationSetSpec `json:"spec"`
	// state holds data of the controller that it cannot compute again.
	// +optional
	State IntegrationSetState `json:"state,omitempty"`
	// status is written by the controller.
	// +optional
	Status IntegrationSetStatus `json:"status,omitempty"`
}

// IntegrationSetSpec is the desired state.
//
// +kubebuilder:validation:XValidation:rule="!has(self.environments) || !('All' in self.environments) || self.environments.size() == 1",message="environments: write All alone, or names"
type IntegrationSetSpec struct {
	// paused stops all work, also the deletion of members with their set, until it is false again. Members go on with
	// what they have.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// data are the files that declare integrations, namespaces, environments, clusters and accounts. Data and chart are
	// fetched every two minutes if a source of either is not pinned, and then also at once when an annotation changes.
	// +required
	Data IntegrationData `json:"data"`
	// chart renders an integration: a Helm chart whose output is objects, or one OpenShift Template.
	// +required
	Chart IntegrationChart `json:"chart"`
	// cluster is the name of this cluster in the data; entries of other clusters are not stamped. It may be unset
	// where the data know one cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Cluster string `json:"cluster,omitempty"`
	// environments are the names of the environments that the set manages, or All; unset is the one that the controller
	// was started with by -environment. Members of others stay as they are.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Environments []string `json:"environments,omitempty"`
	// allowWrites is AllEnvironments if a set with environments [All] may write; unset, such a set writes
	// nothing, and its message counts what it would write.
	// +optional
	// +kubebuilder:validation:Enum=AllEnvironments
	AllowWrites string `json:"allowWrites,omitempty"`
	// upstream selects integrations with this upstream; unset is the controller's -upstream, or selects all. Members of
	// others stay as they are.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Upstream string `json:"upstream,omitempty"`
	// integrations are the names of the integrations that the set manages; unset is all. Members of others stay as
	// they are.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=512
	// +kubebuilder:validation:items:MaxLength=253
	Integrations []string `json:"integrations,omitempty"`
	// serviceAccountName is the ServiceAccount of this namespace by which members read and write; unset is "default".
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// conflicts decides what happens to existing objects that no member made, as in a BundleDeployment; unset is Prevent.
	// +optional
	// +kubebuilder:validation:Enum=Prevent;AdoptUnowned;Take
	Conflicts string `json:"conflicts,omitempty"`
	// approval is Set if plans of members wait for an Approval, which orcon fleet approve creates for all that wait;
	// unset, members wait only where the namespace requires it.
	// +optional
	// +kubebuilder:validation:Enum=Set
	Approval string `json:"approval,omitempty"`
	// waves are changed in this order, each when the one before is ready. Integrations that no wave selects come last.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Waves []IntegrationWave `json:"waves,omitempty"`
	// canaries are names of accounts and clusters, and IDs of organisations: their shards are healthy before other shards of
	// an integration change.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	Canaries []string `json:"canaries,omitempty"`
	// maxUnavailable bounds the members that are not ready while others are changed; unset sets no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxUnavailable int32 `json:"maxUnavailable,omitempty"`
	// deletionPolicy decides what happens to members when the set is deleted: Orphan, the default, lets them go on as
	// BundleDeployments of their own; Delete deletes them and what they made, as far as the guard allows. It must be set
	// before the set is deleted.
	// +optional
	// +kubebuilder:validation:Enum=Orphan;Delete
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
	// guard bounds what is deleted or stopped without confirmation: deleted members, removed shards and shards that are
	// set to no replicas count.
	// +optional
	Guard IntegrationGuard `json:"guard,omitempty"`
}

// DeletionPolicyDelete is the value of deletionPolicy by which members are deleted with their set.
const DeletionPolicyDelete = "Delete"

// ApprovalSet is the value of approval by which plans of members wait for an Approval.
const ApprovalSet = "Set"

// IntegrationContent is fetched content.
type IntegrationContent struct {
	// sources are merged in this order: files of later ones replace files of earlier ones.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Sources []bundle.BundleSource `json:"sources"`
	// path is the folder that is used; unset is the top. Paths of data files begin there.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path,omitempty"`
}

// IntegrationData are the files that declare integrations, and what has them fetched.
type IntegrationData struct {
	IntegrationContent `json:",inline"`
	// webhook has the data fetched when a server asks for it; unset, they are fetched at intervals alone.
	// +optional
	Webhook *IntegrationWebhook `json:"webhook,omitempty"`
}

// IntegrationWebhook is the webhook of a set: POST /fleet/NAMESPACE/NAME at the Service of the bundle controller.
type IntegrationWebhook struct {
	// secretRef names a Secret of this namespace whose key token a request must prove: as the secret of a webhook of
	// GitHub or GitLab, or as a bearer token. It is read by the set's ServiceAccount.
	// +required
	SecretRef bundle.BundleSecretRef `json:"secretRef"`
}

// IntegrationChart renders an integration.
type IntegrationChart struct {
	IntegrationContent `json:",inline"`
	// format is the format of the content, as in a BundleDeployment; unset, it is detected.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Format string `json:"format,omitempty"`
	// values are values of the chart for all integrations.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Values *runtime.RawExtension `json:"values,omitempty"`
	// parameters are values for the parameters of the Template; they override those of an environment. One that the
	// Template does not declare has no effect.
	// +optional
	// +kubebuilder:validation:MaxProperties=128
	Parameters map[string]string `json:"parameters,omitempty"`
	// imageTag configures how parameter IMAGE_TAG becomes a commit of an integration's upstream. An environment's file asks
	// for that by its parameter INTEGRATION_UPSTREAM_REPOS.
	// +optional
	ImageTag *IntegrationImageTag `json:"imageTag,omitempty"`
}

// IntegrationImageTag configures how the tag of an image becomes a commit.
type IntegrationImageTag struct {
	// refs are branches, tags or commits of the upstreams, by the name of an environment; they override those of the
	// environment's file. A value of IMAGE_TAG in parameters has precedence.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Refs map[string]string `json:"refs,omitempty"`
	// digits is how many digits of the commit the tag has; unset is 7.
	// +optional
	// +kubebuilder:validation:Minimum=4
	// +kubebuilder:validation:Maximum=64
	Digits int32 `json:"digits,omitempty"`
	// auth are the credentials of the upstreams.
	// +optional
	Auth *bundle.BundleAuth `json:"auth,omitempty"`
}

// IntegrationWave selects integrations: those that it names, and those with all its labels.
//
// +kubebuilder:validation:XValidation:rule="has(self.integrations) || has(self.matchLabels)",message="name integrations, or labels"
type IntegrationWave struct {
	// integrations are the names of the integrations.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=512
	// +kubebuilder:validation:items:MaxLength=253
	Integrations []string `json:"integrations,omitempty"`
	// matchLabels are labels in the files of integrations.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	MatchLabels map[string]string `json:"matchLabels,omitempty"`
}

// IntegrationGuard bounds the workloads that are deleted or stopped without confirmation: those of deleted members,
// shards that are no longer declared, and shards without replicas. Both bounds apply.
type IntegrationGuard struct {
	// maxWorkloads is the number of workloads that may go at once; unset is 10.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxWorkloads *int32 `json:"maxWorkloads,omitempty"`
	// maxPercent is the share of the workloads of this set that may go at once; unset is 20.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MaxPercent *int32 `json:"maxPercent,omitempty"`
}

// IntegrationSetState holds data of the controller that it cannot compute again.
type IntegrationSetState struct {
	// deletionPolicy is spec.deletionPolicy as it was before the set was deleted.
	// +optional
	// +kubebuilder:validation:Enum=Orphan;Delete
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
	// confirmed are the losses that a person has confirmed and that have not all come about.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4096
	Confirmed []IntegrationLoss `json:"confirmed,omitempty"`
	// lastConfirmed is the digest that was confirmed last; unset for none.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	LastConfirmed string `json:"lastConfirmed,omitempty"`
}

// IntegrationLoss counts the workloads that a member loses.
type IntegrationLoss struct {
	// member is the name of the member.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Member string `json:"member"`
	// workloads is the number of workloads that the member loses.
	// +required
	Workloads int32 `json:"workloads"`
}

// IntegrationSetStatus is the observed state of an IntegrationSet.
type IntegrationSetStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// data are the references of the data with the digests that they resolved to.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Data []string `json:"data,omitempty"`
	// members is the number of members that the data declare.
	// +optional
	Members int64 `json:"members,omitempty"`
	// readyMembers is the number of members that are as declared and ready.
	// +optional
	ReadyMembers int64 `json:"readyMembers,omitempty"`
	// elsewhere is the number of entries of other clusters.
	// +optional
	Elsewhere int64 `json:"elsewhere,omitempty"`
	// faults lists the errors of the data, with file and line, at most 20.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=1024
	Faults []string `json:"faults,omitempty"`
	// waits lists members that are not as declared and why, at most 20.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Waits []IntegrationWait `json:"waits,omitempty"`
	// removal counts the workloads that wait for confirmation, and waits names their members; unset for none.
	// +optional
	Removal *IntegrationRemoval `json:"removal,omitempty"`
	// plan describes the plans of members that wait for approval; unset for none.
	// +optional
	Plan *IntegrationPlan `json:"plan,omitempty"`
	// images are the commits that images are built from, where the data or the spec give their refs.
	// +optional
	// +listType=map
	// +listMapKey=reference
	// +kubebuilder:validation:MaxItems=64
	Images []IntegrationCommit `json:"images,omitempty"`
	// conditions are Ready, Reconciling and Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// IntegrationCommit is the commit of a ref from which images are built.
type IntegrationCommit struct {
	// reference is the repository and the branch or tag.
	// +required
	// +kubebuilder:validation:MaxLength=2048
	Reference string `json:"reference"`
	// commit is the commit that the reference resolved to.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Commit string `json:"commit"`
	// since is the time at which the reference first resolved to the commit.
	// +required
	Since metav1.Time `json:"since"`
}

// IntegrationWait is a member that is not as declared, and why.
type IntegrationWait struct {
	// member describes the member by its integration and namespace.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Member string `json:"member"`
	// message names the reason for the wait.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message"`
}

// IntegrationRemoval describes deletions that wait for confirmation.
type IntegrationRemoval struct {
	// digest is the value of annotation orcon.tengu.io/confirm that confirms the deletions.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Digest string `json:"digest"`
	// workloads is the number of workloads that would be deleted.
	// +required
	Workloads int32 `json:"workloads"`
	// message names the reason for the wait.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message"`
}

// IntegrationPlan describes plans of members that wait for approval.
type IntegrationPlan struct {
	// digest is the digest over the digests of the plans; an Approval names it.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Digest string `json:"digest"`
	// members is the number of members that wait.
	// +required
	Members int32 `json:"members"`
}

// IntegrationSetList is a list of IntegrationSets.
//
// +kubebuilder:object:root=true
type IntegrationSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []IntegrationSet `json:"items"`
}

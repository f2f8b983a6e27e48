package people

import (
	"fmt"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

// Group and Version are those of the API.
const (
	Group   = "jobs.orcon.tengu.io"
	Version = "v1alpha1"
)

// The resources and subresources.
const (
	Runs       = "jobruns"
	Log        = "log"
	Plans      = "plan"
	Workspaces = "jobworkspaces"
	Archives   = "state"
	Decisions  = "decision"
	// PastRuns lists the Runs of a JobWorkspace that the store has the end of, as a JobRunList: their objects may be gone.
	PastRuns  = "runs"
	Templates = "jobtemplates"
	Contents  = "content"
	Nodes     = "runnodes"
	Tokens    = "token"
)

// Path returns the path of a subresource of an object.
func Path(namespace, resource, name, subresource string) string {
	return fmt.Sprintf("/apis/%s/%s/namespaces/%s/%s/%s/%s", Group, Version,
		url.PathEscape(namespace), resource, url.PathEscape(name), subresource)
}

// ClusterPath returns the path of a subresource of an object that has no namespace.
func ClusterPath(resource, name, subresource string) string {
	return fmt.Sprintf("/apis/%s/%s/%s/%s/%s", Group, Version, resource, url.PathEscape(name), subresource)
}

// The parameters of a query.
const (
	// Archive chooses the archive that is read: Current, or the key of one that the State names.
	Archive = "archive"
	// LeftBy asks for what JobWorkspaces left that are gone: SameName for those of the same name, NAMESPACE/NAME, or a UID.
	LeftBy = "left"
	// Generation is the number of the current generation that the person saw.
	Generation = "generation"
	// Because is the person's reason.
	Because = "because"
	// Follow is true for a log that is sent until the run has ended.
	Follow = "follow"
	// Since is a duration: what was stored earlier is left out.
	Since = "since"
	// Attempt chooses an attempt of a run; unset is the last one.
	Attempt = "attempt"
	// Of is the name of the JobWorkspace of a run whose object may be gone.
	Of = "workspace"
	// File chooses a file below /logs in place of the standard output and error; it is not followed.
	File = "file"
)

// Current chooses the archive of the current generation.
const Current = "current"

// SameName chooses what earlier JobWorkspaces of the same name left.
const SameName = "same"

// ArchiveType is the content type of an archive.
const ArchiveType = "application/zstd"

// State describes the lock and the states of a JobWorkspace.
type State struct {
	metav1.TypeMeta `json:",inline"`

	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Phase and Message are those that a person reads first.
	Phase   string `json:"phase"`
	Message string `json:"message"`
	// Proposal is the remedy that is proposed while a person must decide about a lost run.
	Proposal string `json:"proposal,omitempty"`
	// Store is how far the store reaches.
	Store Reach `json:"store"`
	// Archives have the sizes of those that State names.
	Archives []Size `json:"archives"`
	// State is that of the JobWorkspace.
	State v1alpha1.JobWorkspaceState `json:"state"`
}

// Reach is the highest fence and generation that the store knows.
type Reach struct {
	Fence      int64 `json:"fence"`
	Generation int64 `json:"generation"`
	// Newest is the archive of the highest generation; none if no generation is recorded.
	Newest *v1alpha1.JobArchive `json:"newest,omitempty"`
}

// Size is the size of a stored archive.
type Size struct {
	Key   string `json:"key"`
	Bytes int64  `json:"bytes"`
}

// NodeToken lets a machine join as a RunNode, once.
type NodeToken struct {
	metav1.TypeMeta `json:",inline"`

	Token string `json:"token"`
}

// Decision is a person's decision about a JobWorkspace.
type Decision struct {
	Remedy string `json:"remedy"`
	// Because is the person's reason; it is shown to others.
	Because string `json:"because"`
	// Fence is that of the hold, or of the last end, and Generation the current one, that the person saw.
	Fence      int64 `json:"fence"`
	Generation int64 `json:"generation"`
	// Orphan is the key of the orphan that is accepted or discarded.
	Orphan string `json:"orphan,omitempty"`
	// Torn accepts a torn checkpoint.
	Torn bool `json:"torn,omitempty"`
	// To is the generation that a rollback goes back to.
	To int64 `json:"to,omitempty"`
	// Left is the state that is adopted.
	Left LeftName `json:"left,omitzero"`
}

// LeftName identifies a deleted JobWorkspace: by NAMESPACE/NAME, which is "" if it is not known, and by UID.
type LeftName struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// Left are the states that JobWorkspaces left which are gone, the newest first.
type Left struct {
	metav1.TypeMeta `json:",inline"`

	Items []LeftState `json:"items"`
}

// LeftState is the newest state of a JobWorkspace that is gone.
type LeftState struct {
	LeftName

	// Since is when the JobWorkspace was found to be gone, Until when the state is deleted.
	Since metav1.Time `json:"since"`
	Until metav1.Time `json:"until"`
	// Generation is its number; Archive is not set for an empty state.
	Generation int64                `json:"generation"`
	Archive    *v1alpha1.JobArchive `json:"archive,omitempty"`
	// End is Destroyed if the last run destroyed what the state describes.
	End string `json:"end,omitempty"`
}

// EndDestroyed is the end of a state whose contents were destroyed.
const EndDestroyed = "Destroyed"

// PushedContent describes the content of a JobTemplate that is stored now.
type PushedContent struct {
	metav1.TypeMeta `json:",inline"`

	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Digest is that of paths, modes and bytes of the files.
	Digest string   `json:"digest"`
	Files  []string `json:"files"`
}

// The remedies beside those for a lost run.
const (
	// Adopt makes a state that another JobWorkspace left the next generation.
	Adopt = "adopt"
	// Rollback makes an earlier generation the current one.
	Rollback = "rollback"
	// StoreNewest goes on from the newest generation of a store that is ahead, StoreIgnore from that of the JobWorkspace.
	StoreNewest = "store-newest"
	StoreIgnore = "store-ignore"
)

// RunPlan is the plan that a JobRun left.
type RunPlan struct {
	metav1.TypeMeta `json:",inline"`

	Namespace string `json:"namespace"`
	// Run is the name of the JobRun, Workspace that of its JobWorkspace.
	Run       string `json:"run"`
	Workspace string `json:"workspace"`
	// Digest is the one that a JobApproval names.
	Digest string `json:"digest"`
	// Generation is the number of the state that the plan is for.
	Generation int64 `json:"generation"`
	// Obstacle tells why the plan cannot be applied; "" for one that can be.
	Obstacle string `json:"obstacle,omitempty"`
	// Text describes the plan for persons; "" if the template wrote none.
	Text string `json:"text"`
}

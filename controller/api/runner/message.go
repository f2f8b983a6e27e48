package runner

// Path is the path above that of a Run. Its last part is the version.
const Path = "/jobs/v1/runs/"

// The headers of blobs and chunks.
const (
	// Digest is the SHA-256 of a body that is sent, in hexadecimal digits.
	Digest = "Orcon-Digest"
	// Position and Missing are those of a chunk: its first byte, and how many bytes before it are lost.
	Position = "Orcon-Position"
	Missing  = "Orcon-Missing"
	// File is the escaped name of the file below /logs that a chunk is of; Last is "true" for the last chunk of a stream.
	File = "Orcon-File"
	Last = "Orcon-Last"
	// Sealed is "true" for a body that a node had to keep for a while: it is encrypted to the controller, in the format of
	// age. Digest is that of the plain one.
	Sealed = "Orcon-Sealed"
)

// Claim asks to start an attempt.
type Claim struct {
	Attempt int `json:"attempt"`
	// Place is the UID of the pod, or the name of the node. It must be that of the caller's identity.
	Place string `json:"place"`
}

// Hold is granted to a claim.
type Hold struct {
	Workspace  string `json:"workspace"`
	Fence      int64  `json:"fence"`
	Generation int64  `json:"generation"`
	// Base is the state to restore; none for an empty one.
	Base *State `json:"base,omitempty"`
	// Sequence is that of the last checkpoint under the fence.
	Sequence    int64    `json:"sequence"`
	Parameters  string   `json:"parameters,omitempty"`
	Environment []string `json:"environment,omitempty"`
	Exclusive   bool     `json:"exclusive"`
	// LogsFence is that of the run whose log files are restored; 0 for none.
	LogsFence int64 `json:"logsFence,omitempty"`
	// Content is the digest of the content that is copied to /work; "" for none.
	Content string `json:"content,omitempty"`
	// Plan is the plan that is applied; none for a run that applies none. Plans reports that the run may leave one.
	Plan  *State `json:"plan,omitempty"`
	Plans bool   `json:"plans,omitempty"`
	// LostSeconds and GraceSeconds are the times of the hold.
	LostSeconds  float64 `json:"lostSeconds"`
	GraceSeconds float64 `json:"graceSeconds"`
}

// State is a stored state.
type State struct {
	Digest string `json:"digest"`
	// Fence and Name are those of its blob.
	Fence int64  `json:"fence"`
	Name  string `json:"name"`
	// Size is that of the plain archive in bytes, or an upper bound.
	Size int64 `json:"size"`
}

// Renew proves that a holder lives.
type Renew struct {
	Fence int64 `json:"fence"`
	// Number rises with each renewal of a fence.
	Number int64 `json:"number"`
	// Waits tells what has to be tried again, at a stage as job.Delay has them; "" for nothing.
	Waits string `json:"waits,omitempty"`
	Stage string `json:"stage,omitempty"`
}

// Renewal is the answer to a renewal.
type Renewal struct {
	Cancel bool `json:"cancel"`
}

// Checkpoint records a stored state of a run that goes on.
type Checkpoint struct {
	Fence    int64 `json:"fence"`
	Sequence int64 `json:"sequence"`
	State    State `json:"state"`
	Torn     bool  `json:"torn"`
}

// End records what became of the state.
type End struct {
	Fence   int64  `json:"fence"`
	Base    int64  `json:"base"`
	Outcome string `json:"outcome"`
	State   *State `json:"state,omitempty"`
	// Plan is the plan that the process left; none for none.
	Plan *State `json:"plan,omitempty"`
	// Code and Cause tell how the process ended.
	Code    int    `json:"code"`
	Cause   string `json:"cause,omitempty"`
	Outputs string `json:"outputs,omitempty"`
	Message string `json:"message,omitempty"`
}

// Ended is the answer to an end: the outcome that is recorded.
type Ended struct {
	Outcome string `json:"outcome"`
}

// Blobs lists what a fence has written.
type Blobs struct {
	Blobs []Blob `json:"blobs"`
}

// Blob is one blob of a list.
type Blob struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// Problem is the body of each answer that is not 2xx.
type Problem struct {
	Error  string `json:"error"`
	Reason Reason `json:"reason"`
	Cure   string `json:"cure,omitempty"`
}

// Reason is a word that a program understands.
type Reason string

// The reasons, with the status of each.
const (
	// Invalid: 400. The request fits no rule, and fails each time.
	Invalid Reason = "Invalid"
	// Forbidden: 403. The token or the key is not good for it.
	Forbidden Reason = "Forbidden"
	// NotFound: 404. There is no such blob.
	NotFound Reason = "NotFound"
	// Stale: 409. The hold is past.
	Stale Reason = "Stale"
	// Held: 409. Another claimant has the lock.
	Held Reason = "Held"
	// Waits: 409. A person must decide first; the request may be repeated.
	Waits Reason = "Waits"
	// Conflict: 409. The key has other content already.
	Conflict Reason = "Conflict"
	// TooLarge: 413.
	TooLarge Reason = "TooLarge"
	// Unavailable: 503. The request may be repeated.
	Unavailable Reason = "Unavailable"
)

package tool

// Names of the variables of a handler's environment that tools take defaults
// from. The client forwards them, and ContextID, by which the agent knows whose
// transaction a call belongs to.
const (
	RelationID = "JUJU_RELATION_ID"
	// RelationUID names the variable with the identity of the relation.
	RelationUID = "ORCON_RELATION_UID"
	RemoteUnit  = "JUJU_REMOTE_UNIT"
	RemoteApp   = "JUJU_REMOTE_APP"
	ContextID   = "JUJU_CONTEXT_ID"
)

// Variables lists what a client forwards of its environment, and all of it.
func Variables() []string { return []string{RelationID, RemoteUnit, RemoteApp, ContextID} }

// Stdin is the name under which standard input travels among the files of a
// call.
const Stdin = "-"

// Call is one run of a tool, as its client forwards it.
type Call struct {
	// Name is the tool's, without a path; Args are the arguments after it.
	Name string
	Args []string
	// Env holds those of Variables that are set.
	Env map[string]string
	// Files holds the contents that Needs named, by their names.
	Files map[string][]byte
}

// Result tells the client of a tool how to end: the text to write, and the exit code.
type Result struct {
	Stdout, Stderr []byte
	// ExitCode is 0, 1 if the tool failed, or 2 if it was called wrongly.
	ExitCode int
	// Output is written to a file instead of Stdout, for -o. Without a path there is none. A failed call leaves the
	// file as it was.
	Output File
}

// File is a file on the client's side; a path that is not absolute starts where
// the client runs.
type File struct {
	Path    string
	Content []byte
}

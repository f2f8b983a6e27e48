package people

import (
	"context"
	"errors"
	"net/http"
	"time"
)

var (
	// ErrUnknown is wrapped where a sender cannot be identified.
	ErrUnknown = errors.New("the sender is not known")
	// ErrForbidden is wrapped where a person lacks a permission.
	ErrForbidden = errors.New("it is not permitted")
	// ErrNotFound is wrapped where there is no such object.
	ErrNotFound = errors.New("there is no such object")
)

// Persons finds out who sends a request.
type Persons interface {
	// Identify returns ErrUnknown for a request that did not come through the API server.
	Identify(r *http.Request) (Person, error)
}

// Person is a user of the cluster, or a ServiceAccount.
type Person struct {
	Name, UID string
	Groups    []string
	Extra     map[string][]string
}

// Rights decides what persons may do.
type Rights interface {
	// Permit returns ErrForbidden, with the missing permission, for what a person may not do.
	Permit(ctx context.Context, p Person, a Access) error
}

// Access is one use of a subresource.
type Access struct {
	// Verb is get, update or create.
	Verb                                   string
	Resource, Subresource, Namespace, Name string
}

// Objects finds objects by their names, as they are stored now.
type Objects interface {
	// Workspace returns the UID of a JobWorkspace, or ErrNotFound.
	Workspace(ctx context.Context, namespace, name string) (uid string, err error)
	// Run returns a JobRun, or ErrNotFound.
	Run(ctx context.Context, namespace, name string) (Run, error)
	// Template returns the UID of a JobTemplate, or ErrNotFound.
	Template(ctx context.Context, namespace, name string) (uid string, err error)
}

// Run tells where the log of a JobRun lies.
type Run struct {
	// Workspace is the UID of its JobWorkspace.
	Workspace string
	// Attempt is the last one, Fence that of its hold; 0 for a run that has not started. The attempts of a run have
	// consecutive fences, since a run keeps the lock between them.
	Attempt int
	Fence   int64
	// Ended reports that its end is recorded.
	Ended bool
}

// Journal records what persons did, where others see it.
type Journal interface {
	// Record never fails: a deed that is done cannot be taken back.
	Record(ctx context.Context, d Deed)
}

// Deed is something that a person did to a JobWorkspace or a JobTemplate.
type Deed struct {
	Person Person
	// Resource is people.Workspaces or people.Templates.
	Resource, Namespace, Name, UID string
	// Kind is a word for Events; What describes the deed; Because is the person's reason, which a read has not.
	Kind          DeedKind
	What, Because string
	At            time.Time
}

// DeedKind is the reason of an Event.
type DeedKind string

// The kinds of deeds.
const (
	StateDecided DeedKind = "StateDecided"
	StatePushed  DeedKind = "StatePushed"
	StateAdopted DeedKind = "StateAdopted"
	StateRead    DeedKind = "StateRead"
	// ContentPushed is the reason of JobTemplates.
	ContentPushed DeedKind = "ContentPushed"
	PlanRead      DeedKind = "PlanRead"
)

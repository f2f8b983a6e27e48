package people

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// API serves the people's API.
type API struct {
	Workspaces serve.Workspaces
	Store      blob.Store
	Persons    Persons
	Rights     Rights
	Objects    Objects
	Journal    Journal
	// Tokens makes tokens of RunNodes; nil where none are served.
	Tokens Tokens
	Limits serve.Limits
	// Clock returns the time for messages and orphans.
	Clock func() time.Time
	// Poll is the time between two looks for more of a log that is followed.
	Poll time.Duration
}

// maxMessage is how large a decision may be, in bytes.
const maxMessage = 64 << 10

// Handler returns the handler of all paths below /apis.
func (a *API) Handler() http.Handler {
	uploads, packed := serve.NewPlaces(a.Limits.Uploads), serve.NewPlaces(contentsAtOnce)
	mux := http.NewServeMux()
	for path, document := range discovery() {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { _ = write(w, http.StatusOK, document) })
	}
	for _, one := range []struct {
		method, resource, subresource, verb string
		answer                              handler
	}{
		{http.MethodGet, people.Runs, people.Log, "get", a.log},
		{http.MethodGet, people.Workspaces, people.PastRuns, "get", a.runs},
		{http.MethodGet, people.Runs, people.Plans, "get", plans{a}.send},
		{http.MethodGet, people.Workspaces, people.Archives, "get", a.state},
		{http.MethodPut, people.Workspaces, people.Archives, "update", placed(uploads, a.push)},
		{http.MethodPost, people.Workspaces, people.Decisions, "create", a.decide},
		{http.MethodPut, people.Templates, people.Contents, "update", placed(packed, intake{a.Store, a.Objects, a.record}.receive)},
	} {
		path := fmt.Sprintf("/apis/%s/%s/namespaces/{namespace}/%s/{name}/%s", people.Group, people.Version, one.resource, one.subresource)
		mux.Handle(one.method+" "+path, a.permitted(Access{Verb: one.verb, Resource: one.resource, Subresource: one.subresource}, one.answer))
	}
	mux.Handle("POST "+fmt.Sprintf("/apis/%s/%s/%s/{name}/%s", people.Group, people.Version, people.Nodes, people.Tokens),
		a.permitted(Access{Verb: "create", Resource: people.Nodes, Subresource: people.Tokens}, minting(a.Tokens)))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, fmt.Errorf("cannot %s %s: %w", r.Method, r.URL.Path, errNoPath))
	})
	return mux
}

// call is a request of a person who has the permission.
type call struct {
	person                    Person
	resource, namespace, name string
}

// String returns the object's name.
func (c call) String() string { return c.namespace + "/" + c.name }

// handler answers a request. An error becomes the answer, unless a part of one was sent.
type handler func(w http.ResponseWriter, r *http.Request, c call) error

// permitted answers requests of persons who have a permission.
func (a *API) permitted(access Access, h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := call{resource: access.Resource, namespace: r.PathValue("namespace"), name: r.PathValue("name")}
		access := access
		access.Namespace, access.Name = c.namespace, c.name
		var err error
		if c.person, err = a.Persons.Identify(r); err == nil {
			err = a.Rights.Permit(r.Context(), c.person, access)
		}
		if err == nil {
			err = h(w, r, c)
		}
		if err != nil {
			refuse(w, err)
		}
	})
}

// placed answers requests whose bodies have places. Tenants are namespaces.
func placed(places *serve.Places, h handler) handler {
	return func(w http.ResponseWriter, r *http.Request, c call) error {
		leave, err := places.Take(w, r, c.namespace)
		if err != nil {
			return fmt.Errorf("too many states or contents are being pushed: %w: try again", err)
		}
		defer leave()
		return h(w, r, c)
	}
}

// write writes a JSON answer.
func write(w http.ResponseWriter, status int, answer any) error {
	text, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("cannot write the answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // a sender that is gone needs no answer
	return nil
}

// invalid returns an error of a field or parameter that fits no rule.
func invalid(field, why string) error {
	return fmt.Errorf("%s: %w: %s", field, workspace.ErrInvalid, why)
}

// record records a deed.
func (a *API) record(r *http.Request, c call, uid string, kind DeedKind, what, because string) {
	a.Journal.Record(r.Context(), Deed{
		Person: c.person, Resource: c.resource, Namespace: c.namespace, Name: c.name, UID: uid, Kind: kind, What: what, Because: because,
		At: a.Clock(),
	})
}

// typeOf returns the type of a document of this API.
func typeOf(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{Kind: kind, APIVersion: people.Group + "/" + people.Version}
}

package serve

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/serve/limit"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// replica implements World and Identities: pods, tokens and views are
// what the test has put there, and the server is told of each change.
type replica struct {
	server *Server

	mu       sync.Mutex
	pods     map[string]pod
	tokens   map[string]identity.Identity
	views    map[string]relation.View
	secrets  map[name][]secret.Secret
	heard    map[string]uint64
	caughtUp map[string]uint64
	// shown are the revisions of what a view shows; not all were heard of.
	shown  map[string]uint64
	broken error
	// unsettled is set while a transaction is being delivered.
	unsettled bool
	// unreadable is why a view cannot be read; nil if it can.
	unreadable error
	looks      int
	// reviews counts the reviews of tokens.
	reviews int
}

type pod struct {
	uid, account, application, ignored string
	deadline                           time.Time
}

func newReplica() *replica {
	r := &replica{
		pods: map[string]pod{}, tokens: map[string]identity.Identity{}, views: map[string]relation.View{},
		heard: map[string]uint64{"databags": 10}, caughtUp: map[string]uint64{"databags": 10},
	}
	r.server = &Server{Identities: r, World: r}
	return r
}

// set changes the replica, and then tells the server.
func (r *replica) set(change func()) {
	r.mu.Lock()
	change()
	r.mu.Unlock()
	r.server.PodChanged("shop", "blog-1")
	r.server.ApplicationChanged("shop", "blog")
}

// pod adds a living pod of application blog with a token of its name.
func (r *replica) pod(name string) {
	r.set(func() {
		r.pods[name] = pod{uid: "uid-" + name, account: "default", application: "blog"}
		r.tokens["token-"+name] = identity.Identity{Namespace: "shop", Account: "default", Pod: name, UID: "uid-" + name, Expires: time.Now().Add(time.Hour)}
	})
}

// publish gives the database's bag a value at a revision.
func (r *replica) publish(value string, revision uint64) {
	r.set(func() {
		r.views["blog"] = blog(value)
		r.heard["databags"] = revision
		r.caughtUp["databags"] = max(r.caughtUp["databags"], revision)
	})
}

func blog(value string) relation.View {
	r := relation.Relation{
		Key: relation.Key{Requirer: relation.End{Namespace: "shop", Application: "blog", Endpoint: "db"}, Provider: relation.End{Namespace: "shop", Application: "db", Endpoint: "db"}},
		UID: "r-1", Interface: "db", State: relation.State{ID: 1, Conditions: condition.Settled("Complete", "all is there")},
	}
	seen, _ := r.SeenFrom("shop", "blog")
	contents := domain.BagMap{}
	seen.Shown.RemoteBag, seen.Shown.Complete, seen.Shown.Message = contents.Put(map[string]string{"host": value}), true, ""
	return relation.View{
		Application: "blog", Units: []application.Unit{{Number: 4, PodUID: "uid-blog-1"}}, Relations: []relation.Seen{seen}, Bags: contents,
	}
}

// as returns the context of a request whose token was reviewed.
func (r *replica) as(ctx context.Context, token string) context.Context {
	return limit.Prove(ctx, r.tokens[token])
}

func (r *replica) Claim(_ context.Context, token string) (identity.Identity, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tokens[token], nil
}

func (r *replica) Review(_ context.Context, token string, _ bool) (identity.Identity, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reviews++
	if r.broken != nil {
		return identity.Identity{}, r.broken
	}
	id, ok := r.tokens[token]
	if !ok {
		return id, identity.ErrToken
	}
	return id, nil
}

func (r *replica) Membership(_ context.Context, id identity.Identity) identity.Membership {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, ok := r.pods[id.Pod]
	if !ok || p.uid != id.UID || p.account != id.Account {
		return identity.Membership{}
	}
	return identity.Membership{Lives: true, Application: p.application, Ignored: p.ignored, Deadline: p.deadline}
}

func (r *replica) View(_ context.Context, _, name string) (relation.View, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looks++
	for kind, revision := range r.shown {
		r.heard[kind] = max(r.heard[kind], revision)
	}
	if r.unsettled {
		return relation.View{}, relation.ErrUnsettled
	}
	return r.views[name], r.unreadable
}

func (r *replica) Secrets(_ context.Context, namespace, application string) ([]secret.Secret, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.secrets[name{namespace, application}], nil
}

func (r *replica) Revisions() map[string]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.heard)
}

func (r *replica) CaughtUp() map[string]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.caughtUp)
}

func (r *replica) looked() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.looks
}

func (r *replica) reviewed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reviews
}

// agent is the other end of a stream.
type agent struct {
	mu       sync.Mutex
	heard    []*v1alpha1.Snapshot
	unwell   bool
	requests chan *v1alpha1.ConverseRequest
}

func newAgent() *agent { return &agent{requests: make(chan *v1alpha1.ConverseRequest)} }

func (a *agent) Send(response *v1alpha1.ConverseResponse) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.unwell {
		return errors.New("the connection is broken")
	}
	a.heard = append(a.heard, response.GetSnapshot())
	return nil
}

func (a *agent) renew(token string) {
	a.requests <- &v1alpha1.ConverseRequest{Message: &v1alpha1.ConverseRequest_Renew{Renew: &v1alpha1.Renew{Token: token}}}
}

// hosts are the values that the agent heard, oldest first.
func (a *agent) hosts() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []string
	for _, s := range a.heard {
		host := ""
		for _, r := range s.GetRelations() {
			host = r.GetBag().GetData()["host"]
		}
		all = append(all, host)
	}
	return all
}

func (a *agent) last() *v1alpha1.Snapshot {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.heard[len(a.heard)-1]
}

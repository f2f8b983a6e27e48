package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// needs collects the permissions that the account of one preflight must have. Each is checked once; the names are
// those of the objects concerned.
type needs struct {
	world *World
	// own are the kinds that the bundle itself defines.
	own map[schema.GroupKind]resource

	mu    sync.Mutex
	names map[bundle.Permission][]string
}

// resource is how the API server calls the objects of a kind.
type resource struct {
	name       string
	namespaced bool
}

func newNeeds(w *World, look bundle.Look) *needs {
	n := &needs{world: w, own: map[schema.GroupKind]resource{}, names: map[bundle.Permission][]string{}}
	for _, o := range look.Compare {
		kind := schema.GroupKind{Group: o.Text("spec", "group"), Kind: o.Text("spec", "names", "kind")}
		if o.ID().Kind == definitionKind {
			n.own[kind] = resource{o.Text("spec", "names", "plural"), o.Text("spec", "scope") == "Namespaced"}
		}
	}
	return n
}

const definitionKind = "CustomResourceDefinition"

// resource returns what the API server calls a kind; an empty name where it knows none.
func (n *needs) resource(kind schema.GroupKind) (resource, error) {
	if r, own := n.own[kind]; own {
		return r, nil
	}
	mapping, err := n.world.client.RESTMapper().RESTMapping(kind)
	switch {
	case meta.IsNoMatchError(err):
		return resource{}, nil
	case err != nil:
		return resource{}, fmt.Errorf("cannot look up kind %s: %w", kind.Kind, err)
	}
	return resource{mapping.Resource.Resource, mapping.Scope.Name() == meta.RESTScopeNameNamespace}, nil
}

// object notes verbs on one object.
func (n *needs) object(id bundle.ID, verbs ...string) error {
	need, err := n.placed(id)
	if err != nil || need.Resource == "" {
		return err
	}
	for _, need.Verb = range verbs {
		n.add(need, id.Name)
	}
	return nil
}

func (n *needs) add(need bundle.Permission, name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names[need] = append(n.names[need], name)
}

// placed returns a need of the objects of a kind in a place, yet without a verb. Its resource is empty for an unknown
// kind.
func (n *needs) placed(id bundle.ID) (bundle.Permission, error) {
	r, err := n.resource(schema.GroupKind{Group: id.Group, Kind: id.Kind})
	need := bundle.Permission{Group: id.Group, Resource: r.name}
	if r.namespaced {
		need.Namespace = id.Namespace
	}
	return need, err
}

// watch notes what is read to tell how an object is.
func (n *needs) watch(o bundle.Object) {
	in := o.ID().Namespace
	switch id := o.ID(); {
	case id.Kind == "Service" && id.Group == "":
		n.add(bundle.Permission{Verb: "list", Group: "discovery.k8s.io", Resource: "endpointslices", Namespace: in}, "")
	case o.At("spec", "template") != nil && (id.Group == "apps" || id.Group == "batch"):
		n.add(bundle.Permission{Verb: "list", Resource: "pods", Namespace: in}, "")
		n.add(bundle.Permission{Verb: "list", Resource: "events", Namespace: in}, "")
	}
}

// lacking are the needs that the account of the world is not allowed.
func (n *needs) lacking(ctx context.Context) ([]bundle.Permission, error) {
	var mu sync.Mutex
	var lacks []bundle.Permission
	err := each(ctx, slices.Collect(maps.Keys(n.names)), func(ctx context.Context, need bundle.Permission) error {
		allowed, err := n.allowed(ctx, need)
		mu.Lock()
		defer mu.Unlock()
		if !allowed && err == nil {
			lacks = append(lacks, need)
		}
		return err
	})
	return lacks, err
}

// allowed asks for all objects of a kind at once, and one by one only where that is refused.
func (n *needs) allowed(ctx context.Context, need bundle.Permission) (bool, error) {
	allowed, err := n.world.May(ctx, need, "")
	if err != nil || allowed || need.Verb == "create" || need.Verb == "list" {
		return allowed, err
	}
	for _, name := range n.names[need] {
		if allowed, err = n.world.May(ctx, need, name); err != nil || !allowed {
			return false, err
		}
	}
	return true, nil
}

// lacks reports whether the account may not do something with an object: what is forbidden is
// else the word of a quota or a policy.
func (n *needs) lacks(ctx context.Context, id bundle.ID, verb string) bool {
	need, err := n.placed(id)
	if err != nil {
		return true
	}
	need.Verb = verb
	allowed, err := n.world.May(ctx, need, id.Name)
	return err != nil || !allowed
}

// May reports whether the account of the world is allowed something, with one object or, for name "", with all.
func (w *World) May(ctx context.Context, need bundle.Permission, name string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: need.Verb, Group: need.Group, Resource: need.Resource, Namespace: need.Namespace, Name: name,
		},
	}}
	if err := w.client.Create(ctx, review, client.DryRunAll); err != nil {
		return false, fmt.Errorf("cannot check the account's permissions: %w", err)
	}
	return review.Status.Allowed, nil
}

// account returns the name under which the API server knows this world.
func (w *World) account(ctx context.Context) string {
	review := &authenticationv1.SelfSubjectReview{}
	if err := w.client.Create(ctx, review, client.DryRunAll); err != nil {
		return "this account"
	}
	return review.Status.UserInfo.Username
}

// permit ends a preflight: it returns a bundle.LackingError, with all else that was refused,
// where the account lacks something, and explains refusals to grant.
func (n *needs) permit(ctx context.Context, refused map[bundle.ID]error) error {
	lacks, err := n.lacking(ctx)
	if err != nil {
		return err
	}
	for id, why := range refused {
		if !apierrors.IsForbidden(why) {
			continue
		}
		explained, err := n.explain(ctx, id, why, lacks)
		switch {
		case err != nil:
			return err
		case explained == nil:
			delete(refused, id)
		default:
			refused[id] = explained
		}
	}
	if len(lacks) == 0 {
		return nil
	}
	lacking := &bundle.LackingError{Account: n.world.account(ctx), Lacks: lacks}
	if n.world.ReadOnly {
		n.world.withheld.lacks(lacking)
		return nil
	}
	all := []error{lacking}
	for _, id := range slices.SortedFunc(maps.Keys(refused), bundle.ID.Compare) {
		all = append(all, fmt.Errorf("cannot plan %s: %s", id, words(id, refused[id], n.world.Secretive)))
	}
	return errors.Join(all...)
}

// explain returns nil for a refusal that lacking permissions explain, and adds its reason and cure to the refusal of
// a role that allows more than the account itself has.
func (n *needs) explain(ctx context.Context, id bundle.ID, why error, lacks []bundle.Permission) (error, error) {
	need, err := n.placed(id)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(lacks, func(l bundle.Permission) bool { l.Verb = ""; return l == need }) {
		return nil, nil
	}
	if id.Group != rbac {
		return why, nil
	}
	if need.Verb = "bind"; id.Kind == "Role" || id.Kind == "ClusterRole" {
		need.Verb = "escalate"
	}
	if allowed, err := n.world.May(ctx, need, ""); err != nil || allowed {
		return why, err
	}
	return bundle.Located(fmt.Sprintf("it grants more than %s has, which Kubernetes refuses: install it with an account that has these "+
		"permissions, or that may %s %s", n.world.account(ctx), need.Verb, need.Resource), why), nil
}

// rbac is the group of roles and bindings.
const rbac = "rbac.authorization.k8s.io"

package kube

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/negotiation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// provider is a Service outside the cluster that provides db.
func provider(namespace, name string) *corev1.Service {
	s := object.Named(&corev1.Service{}, namespace, name)
	s.Annotations = map[string]string{application.KeyProvides: "db:db"}
	s.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: name + ".example.org", Ports: []corev1.ServicePort{{Port: 5432}}}
	return s
}

// consumer is a Deployment that consumes db, of one application or of none.
func consumer(namespace, name, of string) *appsv1.Deployment {
	d := object.Named(&appsv1.Deployment{}, namespace, name)
	d.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{
		Labels: map[string]string{"app": name}, Annotations: map[string]string{application.KeyConsumes: "db:db", application.KeyRelations: of},
	}}
	return d
}

// namespaces are the shop, whose blog is related to db, and the office, whose blog is related to
// db of the shop.
type namespaces struct {
	t      *testing.T
	server *kubetest.Strict
	world  *World
}

func newNamespaces(t *testing.T) *namespaces {
	t.Helper()
	server := &kubetest.Strict{Kept: kubetest.Memory{}}
	server.Kept.Put(optedIn("shop"), optedIn("office"), offerOf("office"), provider("shop", "db"), consumer("shop", "blog", "db"),
		consumer("office", "blog", "db.shop"))
	n := &namespaces{t, server, nil}
	n.restart()
	for range 5 {
		n.settle("shop")
		n.settle("office")
	}
	return n
}

// restart replaces the controller.
func (n *namespaces) restart() {
	n.world = &World{Reader: n.server, Live: n.server, Writer: n.server, Events: events.NewFakeRecorder(1000), Now: kubetest.Epoch}
}

// settle applies what is decided until nothing is.
func (n *namespaces) settle(namespace string) {
	for range 10 {
		decisions := n.decide(namespace)
		if len(decisions) == 0 {
			return
		}
		for _, d := range decisions {
			require.NoError(n.t, n.world.Apply(n.t.Context(), namespace, d))
		}
	}
	require.Fail(n.t, "it does not settle")
}

func (n *namespaces) decide(namespace string) []relation.Decision {
	n.t.Helper()
	s, err := n.world.Observe(n.t.Context(), namespace)
	require.NoError(n.t, err)
	decisions, _ := negotiation.Negotiate(s)
	return decisions
}

// change changes a stored object behind the controller's back.
func change[T client.Object](n *namespaces, namespace, name string, change func(T)) {
	n.t.Helper()
	o := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	require.NoError(n.t, n.server.Get(n.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o))
	change(o)
	n.server.Keep(o)
}

// relationOf returns the only relation of a namespace.
func (n *namespaces) relationOf(namespace string) *v1alpha1.Relation {
	n.t.Helper()
	var list v1alpha1.RelationList
	require.NoError(n.t, n.server.List(n.t.Context(), &list, client.InNamespace(namespace)))
	require.Len(n.t, list.Items, 1)
	return &list.Items[0]
}

// saidToOffice returns the name of what db wrote in the relation of the office.
func (n *namespaces) saidToOffice() string {
	return relation.Databag{Application: "db", Endpoint: "db", Relation: string(n.relationOf("office").UID)}.Name()
}

func noUnit(r *v1alpha1.Relation)               { r.Status.Departures = []v1alpha1.Departure{{Unit: "no unit"}} }
func noRevision(a *v1alpha1.RelatedApplication) { a.Status.Grants = []v1alpha1.Grant{{Revision: -1}} }
func noNumber(a *v1alpha1.RelatedApplication)   { a.Status.Units[0].Number = -1 }
func elsewhere(b *v1alpha1.Databag)             { b.Spec.Application = "nobody" }

// touches reports whether a decision changes or removes an object, or makes one in its place.
func touches(d relation.Decision, name string) bool {
	switch d := d.(type) {
	case relation.Publish:
		return d.Name() == name
	case relation.Remember:
		return d.Name == name
	case relation.Relate:
		return d.Name() == name
	case relation.Update:
		return d.Name == name
	case relation.Finish:
		return d.Name == name
	case relation.Release:
		return d.Name == name
	case relation.Withdraw:
		return d.Name() == name
	case relation.Forget:
		return d.Name == name
	default:
		return false
	}
}

// Of an object that cannot be read nothing is ended, withdrawn, forgotten or renumbered, nothing is
// made in its place, and its namespace goes on.
func TestUnreadableIsUnknown(t *testing.T) {
	bag := relation.DatabagName("db", "db")
	tests := map[string]struct {
		why, namespace string
		spoil          func(*namespaces)
		// name is the object's, where it is of the namespace.
		name func(*namespaces) string
	}{
		"Record": {
			why: "a record that is made anew numbers its units anew", namespace: "shop",
			spoil: func(n *namespaces) { change(n, "shop", "blog", noRevision) }, name: func(*namespaces) string { return "blog" },
		},
		"Relation": {
			why: "a second relation of the pair would be another", namespace: "shop",
			spoil: func(n *namespaces) { change(n, "shop", n.relationOf("shop").Name, noUnit) },
			name:  func(n *namespaces) string { return n.relationOf("shop").Name },
		},
		"Databag": {
			why: "what stands in it may be what was said", namespace: "shop",
			spoil: func(n *namespaces) { change(n, "shop", bag, elsewhere) }, name: func(*namespaces) string { return bag },
		},
		"RecordElsewhere": {
			why: "M7: what another namespace spoils is not this one's fault", namespace: "office",
			spoil: func(n *namespaces) { change(n, "shop", "db", noRevision) },
			name:  func(n *namespaces) string { return n.relationOf("office").Name },
		},
		"DatabagElsewhere": {
			why: "M7: the relation has the data that it had", namespace: "office",
			spoil: func(n *namespaces) {
				change(n, "shop", bag, elsewhere)
				change(n, "shop", n.saidToOffice(), elsewhere)
			},
			name: func(n *namespaces) string { return n.relationOf("office").Name },
		},
		"Consumer": {
			why: "M7: what was said for it is not withdrawn", namespace: "shop",
			spoil: func(n *namespaces) { change(n, "office", n.relationOf("office").Name, noUnit) },
			name:  (*namespaces).saidToOffice,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNamespaces(t)
			said := endpointBag("shop", "db", map[string]string{"user": "office"})
			r := n.relationOf("office")
			said.Name, said.Spec.Relation, said.Spec.Home = n.saidToOffice(), string(r.UID), &v1alpha1.RelationHome{Namespace: "office", Name: r.Name}
			n.server.Kept.Put(said)
			n.settle("shop")
			test.spoil(n)
			n.server.Kept.Put(provider(test.namespace, "another"))
			goesOn := false
			for _, d := range n.decide(test.namespace) {
				assert.False(t, touches(d, test.name(n)), "%s: %T", test.why, d)
				publish, is := d.(relation.Publish)
				goesOn = goesOn || is && publish.Application == "another"
			}
			assert.True(t, goesOn, "the namespace goes on")
		})
	}
}

// While a record is unreadable no id is given, since it may hold the highest.
func TestUnreadableRecordHoldsIDs(t *testing.T) {
	n := newNamespaces(t)
	change(n, "shop", "blog", func(a *v1alpha1.RelatedApplication) { a.Status.LastRelation = -1 })
	n.server.Kept.Put(consumer("shop", "wiki", "db"))
	for _, d := range n.decide("shop") {
		_, relates := d.(relation.Relate)
		assert.False(t, relates)
	}
}

// An agent keeps what it has while something that its view needs cannot be read: a view never
// lacks units, data or relations for that.
func TestViewOfTheUnreadable(t *testing.T) {
	unit := []v1alpha1.Unit{{Number: 0, PodUID: "p", Address: "10.0.0.1"}}
	tests := map[string]struct {
		why   string
		spoil func(*namespaces)
	}{
		"Record":     {why: "its units have not departed", spoil: func(n *namespaces) { change(n, "shop", "db", noNumber) }},
		"Relation":   {why: "it has not ended", spoil: func(n *namespaces) { change(n, "shop", n.relationOf("shop").Name, noUnit) }},
		"OwnDatabag": {why: "its data is not gone", spoil: func(n *namespaces) { change(n, "shop", relation.DatabagName("db", "db"), elsewhere) }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNamespaces(t)
			change(n, "shop", "db", func(a *v1alpha1.RelatedApplication) { a.Status.Units = unit })
			views := &Views{Reader: n.server}
			view, err := views.View(t.Context(), "shop", "blog")
			require.NoError(t, err)
			require.Len(t, view.Relations, 1)
			require.Len(t, view.Relations[0].Units, 1)
			test.spoil(n)
			view, err = views.View(t.Context(), "shop", "blog")
			require.Error(t, err, "%s: %+v", test.why, view.Relations)
		})
	}
}

// failing is a reader whose lists and reads of some kinds fail.
type failing struct {
	client.Reader

	kind reflect.Type
}

func (f failing) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	if reflect.TypeOf(into) == f.kind {
		return errors.New("the cache is not there")
	}
	return f.Reader.List(ctx, into, opts...)
}

func (f failing) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if reflect.TypeOf(into) == f.kind {
		return apierrors.NewInternalError(errors.New("the key that encrypts it is lost"))
	}
	return f.Reader.Get(ctx, key, into, opts...)
}

// A cache that fails shows nothing, which is not that nothing is there.
func TestViewOfAFailingCache(t *testing.T) {
	for _, kind := range []reflect.Type{
		reflect.TypeFor[*v1alpha1.OfferList](), reflect.TypeFor[*v1alpha1.Databag](), reflect.TypeFor[*v1alpha1.RelatedApplication](),
	} {
		t.Run(kind.String(), func(t *testing.T) {
			n := newNamespaces(t)
			view, err := (&Views{Reader: n.server}).View(t.Context(), "office", "blog")
			require.NoError(t, err)
			require.True(t, view.Relations[0].Open())
			view, err = (&Views{Reader: failing{n.server, kind}}).View(t.Context(), "office", "blog")
			require.Error(t, err, "%+v", view.Relations)
		})
	}
}

// The units of an application whose record cannot be read are unknown, so that nothing of theirs is
// removed (SAFETY.md E13).
func TestSweepKeepsWhatIsUnreadable(t *testing.T) {
	server, commits := vault()
	_, err := commits.Commit(t.Context(), answer(), drafts(secret.Draft{
		Write:   secret.Write{Kind: secret.Add, ID: secretID, Own: true},
		Content: map[string][]byte{"password": []byte("hunter2")},
	}))
	require.NoError(t, err)
	var app v1alpha1.RelatedApplication
	require.NoError(t, server.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "db"}, &app))
	app.Status.Units, app.Status.NextUnit = []v1alpha1.Unit{{Number: -1, PodUID: "pod-1"}}, 2
	server.Keep(&app)
	s, err := (&Vault{Commits: *commits, Cached: server}).Observe(t.Context(), "shop")
	require.NoError(t, err)
	s.Now = s.Now.Add(24 * time.Hour)
	assert.Empty(t, secret.Sweep(s))
}

// A Secret that cannot be read stops nothing, and takes nothing back that was granted.
func TestUnreadableSecretStopsNothing(t *testing.T) {
	n := newNamespaces(t)
	n.world.Live = failing{n.server, reflect.TypeFor[*corev1.Secret]()}
	s := provider("shop", "vault")
	s.Annotations[application.PrefixSecret+"db"] = "credentials"
	n.server.Kept.Put(s)
	_, err := n.world.Observe(t.Context(), "shop")
	require.NoError(t, err)
}

// hiccup is a reader whose first list fails.
type hiccup struct {
	client.Reader

	failed *bool
}

func (h hiccup) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	if !*h.failed {
		*h.failed = true
		return errors.New("the cache is not there")
	}
	return h.Reader.List(ctx, into, opts...)
}

// A change is published to the other ends of relations although they could not be listed at once.
func TestChangesSurviveAFailedList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNamespaces(t)
		var changed []string
		views := Views{Reader: hiccup{n.server, new(bool)}, Changed: func(namespace, application string) {
			changed = append(changed, namespace+"/"+application)
		}}
		views.bagChanged(t.Context(), endpointBag("shop", "db", nil))
		assert.Equal(t, []string{"shop/db", "office/blog", "shop/blog"}, changed)
	})
}

// An unreadable object shows why by its conditions, and all else of it stays as it is; when it can
// be read again, its namespace goes on with what it remembers.
func TestMarkAndMend(t *testing.T) {
	shop := func(o client.Object, name string) client.Object { return object.Named(o, "shop", name) }
	tests := map[string]struct {
		object      func(*namespaces) client.Object
		spoil, mend func(*namespaces, string)
	}{
		"Relation": {
			object: func(n *namespaces) client.Object {
				return shop(&v1alpha1.Relation{}, n.relationOf("shop").Name)
			},
			spoil: func(n *namespaces, name string) { change(n, "shop", name, noUnit) },
			mend: func(n *namespaces, name string) {
				change(n, "shop", name, func(r *v1alpha1.Relation) { r.Status.Departures = nil })
			},
		},
		"Record": {
			object: func(*namespaces) client.Object {
				return shop(&v1alpha1.RelatedApplication{}, "blog")
			},
			spoil: func(n *namespaces, name string) { change(n, "shop", name, noRevision) },
			mend: func(n *namespaces, name string) {
				change(n, "shop", name, func(a *v1alpha1.RelatedApplication) { a.Status.Grants = nil })
			},
		},
		"Databag": {
			object: func(*namespaces) client.Object {
				return shop(&v1alpha1.Databag{}, relation.DatabagName("db", "db"))
			},
			spoil: func(n *namespaces, name string) { change(n, "shop", name, elsewhere) },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNamespaces(t)
			o := test.object(n)
			read := func() client.Object {
				stored := o.DeepCopyObject().(client.Object)
				require.NoError(t, n.server.Get(t.Context(), client.ObjectKeyFromObject(o), stored))
				return stored
			}
			healthy := read()
			test.spoil(n, o.GetName())
			spoilt := read()
			n.settle("shop")
			marked := read()
			assert.NotEqual(t, spoilt, marked)
			why := conditionsOf(marked)
			assert.Equal(t, relation.ReasonUnreadable, why[0].Reason)
			assert.Contains(t, why[2].Message, "kubectl -n shop get ")
			silence(spoilt)
			silence(marked)
			assert.Equal(t, spoilt, marked, "nothing else of it is written")
			if test.mend == nil {
				require.NoError(t, n.server.Delete(t.Context(), read(), client.Preconditions{UID: new(healthy.GetUID())}))
			} else {
				test.mend(n, o.GetName())
			}
			n.restart()
			n.settle("shop")
			mended := read()
			assert.Equal(t, conditionsOf(healthy)[0].Reason, conditionsOf(mended)[0].Reason)
			assert.Equal(t, 1, int(n.relationOf("shop").Status.ID))
		})
	}
}

func conditionsOf(o client.Object) []metav1.Condition { return *conditionsIn(o) }

func conditionsIn(o client.Object) *[]metav1.Condition {
	switch o := o.(type) {
	case *v1alpha1.Relation:
		return &o.Status.Conditions
	case *v1alpha1.RelatedApplication:
		return &o.Status.Conditions
	case *v1alpha1.Databag:
		return &o.Status.Conditions
	}
	return nil
}

// silence removes what a mark writes.
func silence(o client.Object) {
	*conditionsIn(o) = nil
	o.SetResourceVersion("")
}

// What has become unreadable since it was decided about is not written over.
func TestApplyWritesOverNothingUnreadable(t *testing.T) {
	bag := relation.Databag{Application: "db", Endpoint: "db"}
	n := newNamespaces(t)
	r, err := convert.ToRelation(n.relationOf("shop"))
	require.NoError(t, err)
	s, err := n.world.Observe(t.Context(), "shop")
	require.NoError(t, err)
	change(n, "shop", r.Name, noUnit)
	change(n, "shop", "blog", noRevision)
	change(n, "shop", bag.Name(), elsewhere)
	writes := n.server.Writes
	for _, d := range []relation.Decision{
		relation.Publish{Databag: bag}, relation.Remember{Record: s.Records[0]}, relation.Update{Relation: r},
		relation.Relate{Pair: relation.Pair{Key: r.Key, Interface: "db"}},
	} {
		require.Error(t, n.world.Apply(t.Context(), "shop", d), "%T", d)
	}
	n.server.Kept.Put(func() client.Object {
		app := object.Named(&v1alpha1.RelatedApplication{}, "shop", "db")
		convert.SetLeader(app, leadership.Leader{Unit: 1, PodUID: "pod-1", Term: 3, Expires: kubetest.Epoch().Add(time.Minute)})
		return app
	}())
	said := relation.Databag{Application: "db", Endpoint: "main", Relation: "one"}
	taken := object.Named(&v1alpha1.Databag{}, "shop", said.Name())
	taken.Spec.Application = "nobody"
	n.server.Keep(taken)
	commits := &Commits{Reader: n.server, Writer: n.server, Now: kubetest.Epoch}
	_, err = commits.Commit(t.Context(), answer(saying("one", false, "user", "a")), nil)
	require.Error(t, err)
	assert.Equal(t, writes, n.server.Writes)
}

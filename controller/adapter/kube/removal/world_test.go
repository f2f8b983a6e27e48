package removal

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	bundlev1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	fleetv1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	jobv1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// world is an API server in memory. Deleted objects with finalizers stay.
type world struct {
	Cluster

	t *testing.T
	// deleted lists the names of deleted objects, in order; reports lists the reports.
	deleted, reports []string
	// handles is called before each list of sides: the handlers have had time.
	handles func()
}

func newWorld(t *testing.T, all ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientscheme.AddToScheme, v1alpha1.AddToScheme, bundlev1alpha1.AddToScheme, fleetv1alpha1.AddToScheme, jobv1alpha1.AddToScheme, extensions.AddToScheme,
	} {
		require.NoError(t, add(scheme))
	}
	scheme.AddKnownTypeWithName(registrations.WithKind("APIService"), &metav1.PartialObjectMetadata{})
	scheme.AddKnownTypeWithName(registrations.WithKind("APIServiceList"), &metav1.PartialObjectMetadataList{})
	w := &world{t: t, handles: func() {}}
	server := fake.NewClientBuilder().WithScheme(scheme).WithObjects(all...).WithInterceptorFuncs(interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			w.deleted = append(w.deleted, o.GetObjectKind().GroupVersionKind().Kind+" "+o.GetName())
			return c.Delete(ctx, o, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, into client.ObjectList, options ...client.ListOption) error {
			if _, sides := into.(*v1alpha1.RelationSideList); sides {
				w.handles()
			}
			return c.List(ctx, into, options...)
		},
	}).Build()
	w.Cluster = Cluster{server, func(line string) { w.reports = append(w.reports, line) }}
	return w
}

// labelled returns an object with the labels of Orcon's parts; of is the name of its program, if it has one.
func labelled[T client.Object](o T, namespace, name, of string) T {
	o.SetNamespace(namespace)
	o.SetName(name)
	o.SetLabels(map[string]string{partOf: orcon})
	if of != "" {
		o.SetLabels(map[string]string{partOf: orcon, nameLabel: of})
	}
	return o
}

// registrations is the group of the APIs that other servers serve.
var registrations = schema.GroupVersion{Group: "apiregistration.k8s.io", Version: "v1"} //nolint:gochecknoglobals // a constant

// served returns the registration of an API that job-controller serves.
func served(name string) client.Object {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(registrations.WithKind("APIService"))
	return labelled(o, "", name, JobController)
}

func definition(plural string) *extensions.CustomResourceDefinition {
	return &extensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: plural + ".orcon.tengu.io"}}
}

// controller returns the Deployment of a controller with so many ready pods.
func controller(name string, ready int32) *appsv1.Deployment {
	d := labelled(&appsv1.Deployment{}, "orcon-system", name, name)
	d.Status.ReadyReplicas = ready
	return d
}

// key is the relation of web in the shop with vault in the bank.
func key() relation.Key {
	return relation.Key{
		Requirer: relation.End{Namespace: "shop", Application: "web", Endpoint: "store"},
		Provider: relation.End{Namespace: "bank", Application: "vault", Endpoint: "main"},
	}
}

// related returns the objects of a relation whose provider has a unit with handlers, and knows of it.
func related(deleted bool) []client.Object {
	r := convert.ForPair("shop", relation.Pair{Key: key(), Interface: "pg"})
	convert.KeepRelation(r, "identity", relation.State{ID: 1, Offer: "to-the-shop"})
	if deleted {
		r.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}
	side := convert.ForRelationSide(relation.Side{
		Key: key(), Role: application.Provider, Relation: "identity", ID: 7, Interface: "pg", Known: true,
	})
	vault := &v1alpha1.RelatedApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "bank", Name: "vault"}}
	convert.KeepApplication(vault, relation.Record{State: relation.ApplicationState{Units: []application.Unit{{Number: 4, PodUID: "p", Handles: true}}}})
	return []client.Object{r, side, vault}
}

// side returns the provider's side; nil if it is gone.
func (w *world) side() *v1alpha1.RelationSide {
	side := &v1alpha1.RelationSide{}
	err := w.client.Get(w.t.Context(), client.ObjectKey{Namespace: "bank", Name: key().SideName(application.Provider)}, side)
	if client.IgnoreNotFound(err) == nil && err != nil {
		return nil
	}
	require.NoError(w.t, err)
	return side
}

// lets takes the finalizers off all Relations, and writes the end, as the controller does.
func (w *world) lets() {
	ctx := context.Background()
	held, err := Holds{w.Cluster}.List(ctx, time.Unix(2, 0))
	require.NoError(w.t, err)
	for _, one := range held {
		require.NoError(w.t, Holds{w.Cluster}.Release(ctx, one))
	}
}

// optedIn returns a namespace that takes part.
func optedIn(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{application.LabelOptIn: application.OptedIn}}}
}

// kinds returns the kinds of names such as "Kind name", each once in a row.
func kinds(names []string) []string {
	var all []string
	for _, name := range names {
		for i := range name {
			if name[i] == ' ' {
				all = append(all, name[:i])
				break
			}
		}
	}
	return slices.Compact(all)
}

package settletest

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/settle"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/negotiation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// Definition is the name of the definition of Relations.
const Definition = "relations.orcon.tengu.io"

// Provider returns a Service outside the cluster that provides db.
func Provider(namespace, name string) *corev1.Service {
	s := object.Named(&corev1.Service{}, namespace, name)
	s.Annotations = map[string]string{application.KeyProvides: "db:db"}
	s.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: name + ".example.org",
		Ports: []corev1.ServicePort{{Port: 5432}}}
	return s
}

// Consumer returns a Deployment that consumes db, of one application or of none.
func Consumer(namespace, name, of string) *appsv1.Deployment {
	d := object.Named(&appsv1.Deployment{}, namespace, name)
	d.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{
		Labels: map[string]string{"app": name}, Annotations: map[string]string{application.KeyConsumes: "db:db", application.KeyRelations: of},
	}}
	return d
}

// Namespaces are the shop, whose blog is related to db, and the office, whose blog is related to
// db of the shop.
type Namespaces struct {
	T       *testing.T
	Server  *kubetest.Strict
	Settler *settle.Settler
}

// New returns the namespaces, settled.
func New(t *testing.T) *Namespaces {
	t.Helper()
	server := &kubetest.Strict{Kept: kubetest.Memory{}}
	server.Kept.Put(kubetest.OptedIn("shop"), kubetest.OptedIn("office"), kubetest.OfferTo("office"),
		Provider("shop", "db"), Consumer("shop", "blog", "db"),
		Consumer("office", "blog", "db.shop"), object.Named(&metav1.PartialObjectMetadata{}, "", Definition))
	n := &Namespaces{t, server, nil}
	n.Restart()
	for range 5 {
		n.Settle("shop")
		n.Settle("office")
	}
	return n
}

// Restart replaces the controller.
func (n *Namespaces) Restart() {
	n.Settler = &settle.Settler{Reader: n.Server, Live: n.Server, Writer: n.Server, Events: events.NewFakeRecorder(1000), Now: kubetest.Epoch}
}

// Settle applies decisions until there are none.
func (n *Namespaces) Settle(namespace string) {
	for range 10 {
		decisions := n.Decide(namespace)
		if len(decisions) == 0 {
			return
		}
		for _, d := range decisions {
			require.NoError(n.T, n.Settler.Apply(n.T.Context(), namespace, d))
		}
	}
	require.Fail(n.T, "it does not settle")
}

// Decide returns the decisions for a namespace as it is now.
func (n *Namespaces) Decide(namespace string) []relation.Decision {
	n.T.Helper()
	s, err := n.Settler.Observe(n.T.Context(), namespace)
	require.NoError(n.T, err)
	decisions, _ := negotiation.Negotiate(s)
	return decisions
}

// Change changes a stored object behind the controller's back.
func Change[T client.Object](n *Namespaces, namespace, name string, change func(T)) {
	n.T.Helper()
	o := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	require.NoError(n.T, n.Server.Get(n.T.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o))
	change(o)
	n.Server.Keep(o)
}

// RelationOf returns the only relation of a namespace.
func (n *Namespaces) RelationOf(namespace string) *v1alpha1.Relation {
	n.T.Helper()
	var list v1alpha1.RelationList
	require.NoError(n.T, n.Server.List(n.T.Context(), &list, client.InNamespace(namespace)))
	require.Len(n.T, list.Items, 1)
	return &list.Items[0]
}

// BagToOffice returns the name of the bag of db in the relation of the office.
func (n *Namespaces) BagToOffice() string {
	return relation.Databag{Application: "db", Endpoint: "db", Relation: convert.Identity(n.RelationOf("office"))}.Name()
}

// NoUnit makes a Relation unreadable.
func NoUnit(r *v1alpha1.Relation) { r.Status.Departures = []v1alpha1.Departure{{Unit: "no unit"}} }

// NoRevision makes the grants of an application unreadable.
func NoRevision(a *v1alpha1.RelatedApplication) { a.State.Grants = []v1alpha1.Grant{{Revision: -1}} }

// NoNumber makes the units of an application unreadable.
func NoNumber(a *v1alpha1.RelatedApplication) { a.State.Units[0].Number = -1 }

// Elsewhere makes a Databag unreadable.
func Elsewhere(b *v1alpha1.Databag) { b.Spec.Application = "stranger" }

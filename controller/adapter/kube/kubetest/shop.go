package kubetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/history"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// Shop returns a server with application db in namespace shop, led by its unit 1 in term 3.
func Shop() *Strict {
	server := &Strict{Kept: Memory{}}
	app := object.Named(&v1alpha1.RelatedApplication{}, "shop", "db")
	app.ResourceVersion, app.UID = "5", "uid-db"
	convert.SetLeader(app, leadership.Leader{Unit: 1, PodUID: "pod-1", Term: 3, Expires: Epoch().Add(time.Minute)})
	server.Kept.Put(app)
	return server
}

// Related returns a complete relation, with id 7, of an application to a provider.
func Related(namespace, requirer, providerNamespace, provider string) *v1alpha1.Relation {
	r := convert.ForPair(namespace, relation.Pair{Key: relation.Key{
		Requirer: relation.End{Namespace: namespace, Application: requirer, Endpoint: "db"},
		Provider: relation.End{Namespace: providerNamespace, Application: provider, Endpoint: "db"},
	}, Interface: "db"})
	r.State.ID = 7
	convert.SetRelation(r, relation.State{ID: 7, Conditions: condition.Settled("Complete", "all is there")}, Epoch())
	r.ResourceVersion = "5"
	return r
}

// DeclaredBag returns the bag that an application declares on endpoint db.
func DeclaredBag(namespace, app string, data map[string]string) *v1alpha1.Databag {
	b := object.Named(&v1alpha1.Databag{}, namespace, relation.DatabagName(app, "db"))
	b.Spec = convert.ForBag(relation.Databag{Application: app, Endpoint: "db"})
	convert.SetData(b, history.Entry{}, data, nil, Epoch())
	b.ResourceVersion = "6"
	return b
}

// NamespaceUID returns the UID of a namespace.
func NamespaceUID(name string) types.UID { return types.UID("uid-of-namespace-" + name) }

// OptedIn returns a namespace that has opted in.
func OptedIn(name string) *corev1.Namespace {
	ns := object.Named(&corev1.Namespace{}, "", name)
	ns.UID = NamespaceUID(name)
	ns.Labels = map[string]string{application.LabelOptIn: application.OptedIn}
	return ns
}

// OfferTo returns an Offer of endpoint db of db in the shop to namespaces.
func OfferTo(consumers ...string) *v1alpha1.Offer {
	o := object.Named(&v1alpha1.Offer{}, "shop", "an-offer")
	o.UID, o.ResourceVersion = "uid-an-offer", "5"
	o.Spec = v1alpha1.OfferSpec{Application: "db", Endpoint: "db", Consumers: consumers}
	return o
}

// Borrowed returns a relation of the office's blog to db in the shop, opened by its Offer.
func Borrowed() *v1alpha1.Relation {
	r := Related("office", "blog", "shop", "db")
	r.UID = "abroad"
	convert.SetRelation(r, relation.State{ID: 7, Offer: "an-offer", Conditions: condition.Settled("Complete", "all is there")}, Epoch())
	return r
}

// Commit returns a transaction of unit 1 of db in the shop, which leads in term 3.
func Commit(changes ...transaction.Change) transaction.Commit {
	return transaction.Commit{Namespace: "shop", Application: "db", Unit: 1, PodUID: "pod-1", Term: 3, Changes: changes}
}

// Change returns a change of a bag in a relation: of the own bag of a unit, or of its application's.
func Change(relationUID string, own bool, set ...string) transaction.Change {
	change := transaction.Change{Relation: "r-" + relationUID, UID: relationUID, Endpoint: "main", Own: own, Set: map[string]string{}}
	for i := 0; i+1 < len(set); i += 2 {
		change.Set[set[i]] = set[i+1]
	}
	return change
}

// Changed returns the Relations that Change names, by their identities.
func Changed(identities ...string) []client.Object {
	var all []client.Object
	for _, identity := range identities {
		r := Related("shop", "blog", "shop", "db")
		r.Name, r.State.Identity = "r-"+identity, identity
		all = append(all, r)
	}
	return all
}

// BagsOf returns the contents of the bags of relations, each by its relation and unit. It fails if an
// outbox is full.
func BagsOf(t *testing.T, s *Strict) map[string]map[string]string {
	t.Helper()
	var list v1alpha1.DatabagList
	require.NoError(t, s.Kept.List(t.Context(), &list))
	all := map[string]map[string]string{}
	for _, b := range list.Items {
		if b.Spec.Purpose != v1alpha1.PurposeOutbox {
			all[b.Spec.Relation+"/"+b.Spec.Unit] = b.State.Data
		} else {
			assert.False(t, convert.Holds(&b), "everything is delivered")
		}
	}
	return all
}

// Recorded returns and removes the Events so far.
func Recorded(recorder *events.FakeRecorder) (all []string) {
	for len(recorder.Events) > 0 {
		all = append(all, <-recorder.Events)
	}
	return all
}

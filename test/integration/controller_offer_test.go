package integration

import (
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/bindings"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/spool"
	podagent "gitlab.ilabt.imec.be/tengu/orcon/controller/agent"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// another is a further namespace of the same cluster, opted in.
func (w *controllerWorld) another() *controllerWorld {
	other := *w
	other.namespace = w.newNamespace(map[string]string{application.LabelOptIn: application.OptedIn})
	return &other
}

// offer is an Offer of the namespace's vault to others.
func (w *controllerWorld) offer(consumers ...string) *v1alpha1.Offer {
	return &v1alpha1.Offer{ObjectMeta: w.meta("to-the-shop"), Spec: v1alpha1.OfferSpec{Application: "vault", Endpoint: "main", Consumers: consumers}}
}

// ear is an agent that hears what a pod is told, and which events follow.
type ear struct {
	t      *testing.T
	agent  *podagent.Agent
	memory conversation.Memory
}

func newEar(t *testing.T) *ear {
	dir := t.TempDir()
	file := func(name string) bindings.File { return bindings.File{Path: dir + "/" + name} }
	return &ear{t: t, agent: podagent.New(podagent.Settings{}, podagent.Disk{
		Bindings: bindings.Volume{Path: dir}, Env: file("env"), Opened: file("opened"), Memory: file("memory"), EverOpened: file("ever"),
		Spool: spool.New(dir+"/bags", 0, func(err error) { panic(err) }),
	}, nil, nil)}
}

// hears returns the events that a snapshot causes.
func (e *ear) hears(s *wire.Snapshot) (events []string) {
	require.NoError(e.t, e.agent.Heard(s))
	snapshot, err := e.agent.Speech().Snapshot()
	require.NoError(e.t, err)
	e.memory = e.memory.Observe(snapshot)
	for {
		event, owed := conversation.Next(e.memory, snapshot)
		if !owed {
			return events
		}
		text := fmt.Sprintf("%s %d", event.Kind, event.ID)
		if event.Unit != nil {
			text += " " + event.Unit.String()
		}
		if event.Kind == conversation.Broken {
			text += fmt.Sprintf(" %s final=%t", event.Reason, event.Final)
		}
		events = append(events, text)
		e.memory = e.memory.After(event, snapshot)
	}
}

// one returns the only relation of a snapshot.
func one(s *wire.Snapshot) *wire.Relation {
	if len(s.GetRelations()) != 1 {
		return nil
	}
	return s.GetRelations()[0]
}

func suspended(s *wire.Snapshot) bool { return one(s).GetSuspended() }

// Two namespaces relate by consent: without an Offer nothing opens, with one data
// flows both ways, taken back it is suspended and not final, given again the same
// relation goes on (RELATIONS.md M6, SAFETY.md M7, E14, E16).
func TestControllerRelatesNamespacesByConsent(t *testing.T) {
	shop := newControllerWorld(t)
	bank := shop.another()
	c := shop.controller(-1)
	bank.create(bank.consumer("vault", map[string]string{application.KeyProvides: "main:pg"}))
	shop.create(shop.consumer("web", consumes("store:pg", "vault."+bank.namespace)))
	web, vault := shop.speaker(c, "web", "10.9.0.1"), bank.speaker(c, "vault", "10.9.0.2")
	hears(t, web.stream, "why there is no relation", func(s *wire.Snapshot) bool {
		return len(s.GetWaiting()) == 1 && s.GetWaiting()[0].GetReason() == "NoOffer"
	})

	offer := bank.offer(shop.namespace)
	bank.create(offer)
	shop.becomes("vault", "!NoData")
	both := func(s *wire.Snapshot) bool {
		return len(one(s).GetUnits()) == 1 && !suspended(s) && len(s.GetOwn()) == 1
	}
	shopEar, bankEar := newEar(t), newEar(t)
	opened := hears(t, web.stream, "the other namespace's unit", both)
	id, uid := one(opened).GetId(), one(opened).GetUid()
	assert.Equal(t, []string{fmt.Sprintf("created %d", id), fmt.Sprintf("joined %d vault.%s/0", id, bank.namespace), fmt.Sprintf("changed %d vault.%s/0", id, bank.namespace)}, shopEar.hears(opened))
	heard := bankEar.hears(hears(t, vault.stream, "the other namespace's unit", both))
	assert.Contains(t, heard, fmt.Sprintf("joined %d web.%s/0", id, shop.namespace))

	t.Log("what is said crosses, each in its own namespace")
	leadBank, leadShop := bank.leads(vault), shop.leads(web)
	require.NoError(t, web.commit(shop.ctx, leadShop, change(uid, true, "database", "orders")))
	hears(t, vault.stream, "the question", func(s *wire.Snapshot) bool { return one(s).GetBag().GetData()["database"] == "orders" })
	require.NoError(t, vault.commit(bank.ctx, leadBank, change(uid, true, "username", "orders-1"), change(uid, false, "ready", "yes")))
	answered := func(s *wire.Snapshot) bool {
		return one(s).GetBag().GetData()["username"] == "orders-1" && one(s).GetComplete()
	}
	shopEar.hears(hears(t, web.stream, "the answer, so that the gate opens", answered))
	require.NoError(t, bank.secrets(vault, leadBank, []*wire.Change{change(uid, true, "password", "secret:"+ordersSecret)}, adding("hunter2"), granting(uid)))
	password := func() (string, connect.Code) {
		read, err := shop.get(web, &wire.GetSecretRequest{Id: ordersSecret})
		if err == nil {
			return read, 0
		}
		return read, connect.CodeOf(err)
	}
	shop.eventually("the secret is read", func() bool { read, _ := password(); return read == "hunter2" })
	require.NoError(t, bank.secrets(vault, leadBank, nil, setting("hunter3")))
	changed := hears(t, web.stream, "that the secret has changed", func(s *wire.Snapshot) bool {
		return len(s.GetSecrets()) == 1 && s.GetSecrets()[0].GetLatest() == 2 && s.GetSecrets()[0].GetKept() == 1
	})
	assert.Equal(t, []string{"secret-changed 0", fmt.Sprintf("changed %d", id)}, shopEar.hears(changed), "and of the reference to it")
	said := bank.bagsOf(uid)
	require.Len(t, said, 2)
	for _, b := range said {
		assert.Empty(t, b.OwnerReferences, "SAFETY.md M7: never an owner across namespaces")
		assert.Equal(t, shop.namespace, b.Spec.Home.Namespace)
	}
	bank.eventually("the Offer says who uses it", func() bool {
		require.NoError(t, bank.admin.Get(bank.ctx, client.ObjectKeyFromObject(offer), offer))
		return offer.Status.Relations == 1 && offer.Status.ObservedGeneration == offer.Generation
	})

	t.Log("the Offer is narrowed: suspended for both, final for neither")
	bank.change(offer, func() { offer.Spec.Consumers = []string{"somebody-else"} })
	shop.becomes("vault", "!Suspended")
	closed := hears(t, web.stream, "the suspension", suspended)
	assert.Empty(t, one(closed).GetBag().GetData())
	assert.Empty(t, one(closed).GetUnits())
	assert.Empty(t, closed.GetSecrets(), "it could not read it")
	assert.Equal(t, []string{fmt.Sprintf("departed %d vault.%s/0", id, bank.namespace), fmt.Sprintf("broken %d suspended final=false", id)}, shopEar.hears(closed))
	assert.Equal(t, []string{fmt.Sprintf("departed %d web.%s/0", id, shop.namespace), fmt.Sprintf("broken %d suspended final=false", id)},
		bankEar.hears(hears(t, vault.stream, "the suspension", suspended)))
	assert.Equal(t, connect.CodeFailedPrecondition, connect.CodeOf(vault.commit(bank.ctx, leadBank, change(uid, true, "username", "x"))), "not yet")
	_, refused := password()
	assert.Equal(t, connect.CodeFailedPrecondition, refused, "the secret neither")
	bank.eventually("the provider is told", func() bool { return reason(bank.app("vault").Status.Conditions, "Suspended") == "NoOffer" })
	shop.eventually("and the consumer", func() bool { return shop.hasEvent("Suspended") })
	assert.Len(t, bank.bagsOf(uid), 2, "bags stay")

	t.Log("given back: the same relation, with what was said")
	bank.change(offer, func() { offer.Spec.Consumers = []string{shop.namespace} })
	resumed := hears(t, web.stream, "that it goes on", answered)
	assert.Equal(t, id, one(resumed).GetId())
	assert.Equal(t, uid, one(resumed).GetUid())
	assert.Equal(t, fmt.Sprintf("created %d", id), shopEar.hears(resumed)[0])
	shop.eventually("the secret is read again", func() bool { read, _ := password(); return read == "hunter2" })
	hears(t, vault.stream, "that it goes on", func(s *wire.Snapshot) bool { return one(s).GetBag().GetData()["database"] == "orders" })
	bank.eventually("nothing is suspended", func() bool { return reason(bank.app("vault").Status.Conditions, "Suspended") == "" })

	t.Log("a namespace that takes no part any more has withdrawn what it offered")
	bank.optOut()
	shop.becomes("vault", "!Suspended")
	bank.optIn()
	shop.becomes("vault", "Complete")
	assert.Equal(t, id, shop.relations()["vault"].State.ID)

	t.Log("who ends it ends it for both, and what was said for it goes")
	r := shop.relations()["vault"]
	require.NoError(t, shop.admin.Delete(shop.ctx, &r))
	ended := hears(t, vault.stream, "the end", func(s *wire.Snapshot) bool {
		return s.GetRelations()[0].GetUid() == uid && s.GetRelations()[0].GetEnded()
	})
	assert.Contains(t, bankEar.hears(ended), fmt.Sprintf("broken %d relation-removed final=true", id))
	bank.eventually("no bag of the relation is left", func() bool { return len(bank.bagsOf(uid)) == 0 })
	assert.Zero(t, c.refused.Load(), "deployment/rbac grants what the controller needs")
}

// bagsOf returns the bags that are about one relation.
func (w *controllerWorld) bagsOf(uid string) (all []v1alpha1.Databag) {
	var list v1alpha1.DatabagList
	require.NoError(w.t, w.admin.List(w.ctx, &list, client.InNamespace(w.namespace)))
	for _, b := range list.Items {
		if b.Spec.Relation == uid {
			all = append(all, b)
		}
	}
	return all
}

// Without an Offer, who declares or makes a relation to another namespace is
// answered the same whatever is there: an application, another one, nothing, or no
// such namespace; and a Relation made by hand opens nothing (SAFETY.md M7).
func TestControllerTellsOutsidersNothing(t *testing.T) {
	insider := newControllerWorld(t)
	bank, empty := insider.another(), insider.another()
	c := insider.controller(-1)
	secretive := bank.provider("vault", "vault.example.org")
	secretive.Labels[application.KeyProvides] = "main"
	bank.create(secretive, bank.offer(insider.namespace))
	bank.eventually("the vault is there", func() bool { return bank.bag("vault").State.Version != "" })

	answers := map[string]string{}
	for name, asks := range map[string]string{"vault": bank.namespace, "nobody": bank.namespace, "nothing": empty.namespace, "nowhere": "no-such-namespace"} {
		outsider := insider.another()
		target := map[string]string{"vault": "vault", "nobody": "nobody", "nothing": "vault", "nowhere": "vault"}[name]
		outsider.create(outsider.consumer("declares", consumes("db:main", target+"."+asks)), outsider.consumer("makes", map[string]string{application.KeyConsumes: "db:main"}))
		byHand := outsider.manual("makes", target)
		byHand.Spec.Provider.Namespace, byHand.Spec.Provider.Endpoint, byHand.Spec.Interface = asks, "main", "main"
		outsider.create(byHand)
		outsider.eventually("an answer to both", func() bool {
			return reason(outsider.relations()[target].Status.Conditions, "Ready") == "!NoOffer" && len(outsider.app("declares").Status.Waits) == 1
		})
		said := fmt.Sprint(outsider.relations()[target].Status.Conditions[0].Message, outsider.app("declares").Status.Waits, outsider.relations()[target].Status.Offer)
		answers[name] = anonymous(said, asks, target)

		spy := outsider.speaker(c, "makes", "10.9.0.9")
		seen := hears(t, spy.stream, "why the relation made by hand is refused", func(s *wire.Snapshot) bool {
			return len(s.GetWaiting()) == 1 && s.GetWaiting()[0].GetReason() == relation.ReasonNoOffer
		})
		assert.Nil(t, one(seen), "without an Offer its unit sees no relation")
	}
	for name, answer := range answers {
		assert.Equal(t, answers["nowhere"], answer, name)
	}
	assert.Equal(t, int64(0), bank.offered("to-the-shop").Status.Relations)
}

// anonymous is an answer without the names that the asker gave.
func anonymous(answer string, names ...string) string {
	for _, name := range names {
		answer = strings.ReplaceAll(answer, name, "X")
	}
	return answer
}

func (w *controllerWorld) offered(name string) (o v1alpha1.Offer) {
	require.NoError(w.t, w.admin.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, &o))
	return o
}

// A relation is suspending until those who handle events have handled that, and then
// suspended; that one has does not count for its end (RELATIONS.md L3, SAFETY.md E14).
func TestControllerSuspendsWhenHandled(t *testing.T) {
	shop := newControllerWorld(t)
	bank := shop.another()
	c := shop.controller(-1)
	bank.create(bank.consumer("vault", map[string]string{application.KeyProvides: "main:pg"}))
	declared := consumes("store:pg", "vault."+bank.namespace)
	declared[application.KeyHandlers] = "/handlers"
	shop.create(shop.consumer("web", declared))
	web := shop.speaker(c, "web", "10.9.0.1")
	offer := bank.offer(shop.namespace)
	bank.create(offer)
	opened := hears(t, web.stream, "that it is open", func(s *wire.Snapshot) bool { return one(s) != nil && !suspended(s) })
	status := func() string { return shop.relations()["vault"].Status.RelationStatus }
	shop.eventually("it is joined", func() bool { return status() == "joined" })

	bank.change(offer, func() { offer.Spec.Consumers = []string{"somebody-else"} })
	closed := hears(t, web.stream, "the suspension", suspended)
	shop.eventually("web/0 has yet to handle it", func() bool { return status() == "suspending" })
	said := &wire.LeaveRequest{Relation: one(opened).GetUid(), Revisions: closed.GetRevisions(), Suspension: true}
	_, err := web.api.Leave(shop.ctx, asking(web, said))
	require.NoError(t, err)
	shop.eventually("it has", func() bool { return status() == "suspended" })
	assert.Equal(t, []string{"web/0"}, shop.relations()["vault"].Status.SuspendedUnits)

	bank.change(offer, func() { offer.Spec.Consumers = []string{shop.namespace} })
	shop.eventually("it goes on", func() bool { return status() == "joined" && len(shop.relations()["vault"].Status.SuspendedUnits) == 0 })
}

package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/negotiation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// granting is db, which grants a Secret that consents, and web, which relates to it.
func granting() *world {
	w := newWorld()
	w.external("db", "main:pg")
	w.grants("admin")
	w.secrets["admin"] = consenting("admin", "1")
	w.consumes("web", "store:pg", "db")
	w.pod(application.Deployment, "web", "web-1")
	return w
}

func consenting(name, version string) secret.Source {
	return secret.Source{Namespace: namespace, Name: name, Sight: secret.Open, Type: "Opaque", GrantTo: "main", Version: version}
}

// grants writes the annotation by which db grants a Secret.
func (w *world) grants(name string) {
	s := w.services["db"]
	s.Annotations = with(s.Annotations, application.PrefixSecret+"main", name)
	w.services["db"] = s
}

// shown is what the only relation shows its requirer, and the bag of the other side.
func (w *world) shown(t require.TestingT) (relation.Seen, map[string]string) {
	var one []relation.Relation
	for _, r := range values(w.relations) {
		one = append(one, r.Relation)
	}
	v := relation.Look(namespace, w.records["web"], one, values(w.sides), relation.Shelf{
		Bag: func(_ relation.Relation, e relation.End) map[string]string {
			return w.databags[relation.DatabagName(e.Application, e.Endpoint)].Data
		},
		Said:   func(relation.Relation, relation.End, int) map[string]string { return nil },
		Units:  func(relation.End) []application.Unit { return nil },
		Grants: func(e relation.End) []relation.Grant { return w.records[e.Application].State.Grants },
	})
	require.Len(t, v.Relations, 1)
	return v.Relations[0], v.Bags.Bag(v.Relations[0].Shown.RemoteBag)
}

// refusal is why db does not grant, as its condition says it; "" if it does.
func (w *world) refusal() string {
	c, _ := condition.Find(w.records["db"].State.Conditions, condition.GrantRefused)
	return c.Message
}

// What is granted is referred to in the bag, and only there; each version of the
// Secret is a revision; whatever consent goes takes the reference with it and ends no
// relation; and it comes back with that (SAFETY.md S1).
func TestGrant(t *testing.T) {
	id := secret.GrantedID(namespace, "db", "main")
	for name, test := range map[string]struct {
		why     string
		happens func(w *world)
		want    int
		refused string
	}{
		"Consent":   {why: "both have said it", happens: func(*world) {}, want: 1},
		"Rotated":   {why: "another version is another revision", happens: func(w *world) { w.secrets["admin"] = consenting("admin", "2") }, want: 2},
		"Another":   {why: "another Secret is too, by the same name", happens: func(w *world) { w.grants("other"); w.secrets["other"] = consenting("other", "9") }, want: 2},
		"Held":      {why: "SAFETY.md L5: a declaration that vanished takes nothing from anybody", happens: func(w *world) { delete(w.services, "db") }, want: 1},
		"Unnamed":   {why: "the endpoint is declared and grants nothing any more", happens: func(w *world) { w.external("db", "main:pg") }},
		"Deleted":   {why: "the Secret is gone", happens: func(w *world) { delete(w.secrets, "admin") }, refused: "main: Secret admin does not exist"},
		"TakenBack": {why: "it consents no more", happens: func(w *world) { s := w.secrets["admin"]; s.GrantTo = ""; w.secrets["admin"] = s }, refused: "main: Secret admin does not consent (it is read again within half a minute): kubectl annotate"},
		"Closed":    {why: "the namespace is closed to Orcon", happens: func(w *world) { s := w.secrets["admin"]; s.Sight = secret.Closed; w.secrets["admin"] = s }, refused: "--serviceaccount=orcon-system:relations-controller -n shop"},
		"Token": {why: "never, whoever consents", happens: func(w *world) {
			s := w.secrets["admin"]
			s.Type = "kubernetes.io/service-account-token"
			w.secrets["admin"] = s
		}, refused: "never granted"},
		"GivenBack":  {why: "what was seen before is no news", happens: func(w *world) { w.secrets["admin"] = consenting("admin", "1") }, want: 1},
		"HeldClosed": {why: "consent counts also while a declaration is away", happens: func(w *world) { delete(w.services, "db"); delete(w.secrets, "admin") }, refused: "Secret admin does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			w := granting()
			w.settle(t)
			before := w.only(t)
			seen, _ := w.shown(t)
			require.Equal(t, conversation.Granted{ID: id, Revision: 1}, seen.Shown.Granted)
			test.happens(w)
			w.settle(t)
			seen, bag := w.shown(t)
			assert.Equal(t, before.UID, w.only(t).UID, "no relation ends")
			if test.want > 0 {
				assert.Equal(t, conversation.Granted{ID: id, Revision: test.want}, seen.Shown.Granted, test.why)
				assert.Equal(t, "secret:"+id, bag["secret"], test.why)
			} else {
				assert.Empty(t, seen.Shown.Granted, test.why)
				assert.NotContains(t, bag, "secret", test.why)
			}
			assert.Contains(t, w.refusal(), test.refused, test.why)
			_, declared := w.services["db"]
			assert.Equal(t, declared && test.refused == "", ready(w.only(t)).True, "who starts without a Secret that was promised could do nothing: %s", test.why)
			assert.Equal(t, test.refused == "", w.refusal() == "", test.why)
			if declared && test.refused != "" {
				assert.Contains(t, ready(w.only(t)).Message, "see condition GrantRefused of RelatedApplication db", test.why)
				assert.Equal(t, "every required relation is complete, but see condition GrantRefused", w.says("db", condition.Ready).Message, test.why)
			}
			consumer, found := condition.Find(w.records["web"].State.Conditions, condition.GrantRefused)
			assert.False(t, found, "SAFETY.md M7: who consumes learns nothing of Secrets: %s", consumer.Message)
			assert.NotContains(t, w.databags[relation.DatabagName("db", "main")].Data, "secret", "what is granted is stored nowhere")
		})
	}
}

// A field that the interface calls secret holds the reference, if it is the only one, or
// the only one of several that must be there; and then the relation waits for it
// (SAFETY.md S1).
func TestGrantFillsTheSecretField(t *testing.T) {
	for _, known := range []string{"redis", "postgresql_client", "mysql_client", "mongodb_client", "amqp"} {
		w := newWorld()
		w.interfaces = library(t)
		w.external("db", "main:"+known)
		w.consumes("web", "store:"+known, "db")
		w.grants("admin")
		w.settle(t)
		_, bag := w.shown(t)
		assert.NotContains(t, bag, "password")
		w.secrets["admin"] = consenting("admin", "1")
		w.settle(t)
		_, bag = w.shown(t)
		assert.Equal(t, "secret:"+secret.GrantedID(namespace, "db", "main"), bag["password"], known)
		assert.NotContains(t, bag, "secret", known)
	}
}

// In restart mode another content of the Secret is a change (SAFETY.md S1, L8).
func TestARotatedSecretRestarts(t *testing.T) {
	w := granting()
	w.consumes("web", "store:pg", "db", application.KeyOnChange, "restart")
	w.roll(t)
	require.Zero(t, w.restarts())
	w.secrets["admin"] = consenting("admin", "2")
	w.roll(t)
	assert.Equal(t, 1, w.restarts())
}

// Who grants looks again, since nobody tells of a Secret that changes.
func TestSecretsAreLookedAtAgain(t *testing.T) {
	w := granting()
	s := w.observe()
	s.LookAgain = s.Now.Add(30 * time.Second)
	_, wake := negotiation.Negotiate(s)
	assert.Equal(t, s.LookAgain, wake)
	w = newWorld()
	w.external("db", "main:pg")
	s = w.observe()
	s.LookAgain = s.Now.Add(30 * time.Second)
	_, wake = negotiation.Negotiate(s)
	assert.Zero(t, wake, "who grants nothing does not")
}

// Across namespaces the Offer lists the Secret too, else the provider alone is told
// the command (SAFETY.md S1, M7).
func TestAnOfferListsTheSecret(t *testing.T) {
	grants := []relation.Grant{{Endpoint: "main", Secret: "admin", Key: "secret", Version: "1", Revision: 1}}
	lists := offer("main", namespace)
	lists.Secrets = []string{"admin"}
	r := relation.Relation{Key: inVault(), State: relation.State{ID: 1, Offer: lists.Name}}
	_, granted := r.Under([]relation.Offer{offer("main", namespace)}, uidOf).Granted(r.Provider, grants)
	assert.False(t, granted, "it is not listed")
	_, granted = r.Under([]relation.Offer{lists}, uidOf).Granted(r.Provider, grants)
	assert.True(t, granted)
	_, granted = r.Granted(r.Provider, grants)
	assert.False(t, granted, "no Offer is known")
	_, granted = r.Under([]relation.Offer{lists}, uidOf).Granted(r.Requirer, []relation.Grant{{Endpoint: "store", Secret: "admin", Key: "secret", Revision: 1}})
	assert.False(t, granted, "an Offer is its provider's")
	r.State.SuspendedSince = epoch()
	_, granted = r.Under([]relation.Offer{lists}, uidOf).Granted(r.Provider, grants)
	assert.False(t, granted, "it is suspended")

	w := lender(t)
	w.grants("admin")
	w.secrets["admin"] = consenting("admin", "1")
	w.consumers = []relation.Relation{borrows("office", time.Time{})}
	w.settle(t)
	assert.Equal(t, `main: Offer all does not list Secret admin: kubectl patch offer all -n shop --type merge -p '{"spec":{"secrets":["admin"]}}'`, w.refusal())
	o := w.offers["all"]
	o.Secrets = []string{"admin"}
	w.offers["all"] = o
	w.settle(t)
	assert.Empty(t, w.refusal())
}

// The requirer's side of the same: what the Offer lists is in what its gate waits for.
func TestGrantAbroad(t *testing.T) {
	w, _ := borrower(t)
	lists := offer("main", namespace)
	from := offering(lists)
	from[0].Records[0].State.Grants = []relation.Grant{{Endpoint: "main", Secret: "admin", Key: "secret", Version: "1", Revision: 1}}
	from[0].Databags = nil
	w.abroad = from
	w.settle(t)
	assert.Equal(t, relation.ReasonNoData, ready(w.only(t)).Reason, "nothing is given")
	from[0].Offers[0].Secrets = []string{"admin"}
	w.settle(t)
	assert.True(t, ready(w.only(t)).True)
}

// Whatever order consents come and go in, what is granted follows from what they are
// now, and revisions only grow (SAFETY.md S1).
func TestGrantFollowsConsent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := granting()
		last := 0
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			s := consenting("admin", rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "version"))
			s.Sight = rapid.SampledFrom([]secret.Sight{secret.Open, secret.Open, secret.Closed, secret.Missing}).Draw(t, "sight")
			s.GrantTo = rapid.SampledFrom([]string{"main", "main", "", "other"}).Draw(t, "consent")
			s.Type = rapid.SampledFrom([]string{"Opaque", "Opaque", "bootstrap.kubernetes.io/token"}).Draw(t, "type")
			w.secrets["admin"] = s
			w.settle(t)
			want := s.Sight == secret.Open && s.GrantTo == "main" && s.Type == "Opaque"
			seen, _ := w.shown(t)
			got := seen.Shown.Granted
			if (got.ID != "") != want || (w.refusal() == "") != want {
				t.Fatalf("%+v: %+v, %q", s, got, w.refusal())
			}
			if want && got.Revision < last {
				t.Fatalf("revision %d after %d", got.Revision, last)
			}
			last = max(last, got.Revision)
		}
	})
}

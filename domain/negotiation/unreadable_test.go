package negotiation_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/negotiation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// hide makes an object of a snapshot unreadable; of a Relation only its spec and metadata are left.
func hide(s relation.Snapshot, kind, in, name string) relation.Snapshot {
	one := relation.Unreadable{Kind: kind, Namespace: in, Name: name, Problem: "cannot read " + name}
	hideRelation := func(all []relation.Relation) []relation.Relation {
		return slices.DeleteFunc(slices.Clone(all), func(r relation.Relation) bool {
			hidden := kind == relation.KindRelation && r.Name == name && r.Requirer.Namespace == in
			if hidden {
				one.UID, one.Conditions, one.Relation = r.UID, r.State.Conditions, r
				one.Relation.State.ID, one.Relation.State.Departures = 0, nil
			}
			return hidden
		})
	}
	hideRecord := func(namespace string, all []relation.Record) []relation.Record {
		return slices.DeleteFunc(slices.Clone(all), func(r relation.Record) bool {
			hidden := kind == relation.KindRecord && namespace == in && r.Name == name
			if hidden {
				one.UID, one.Conditions = r.UID, r.State.Conditions
			}
			return hidden
		})
	}
	hideBag := func(namespace string, all []relation.Databag) []relation.Databag {
		return slices.DeleteFunc(slices.Clone(all), func(b relation.Databag) bool {
			hidden := kind == relation.KindDatabag && namespace == in && b.Name() == name
			if hidden {
				one.Databag = relation.Databag{Application: "another", Endpoint: b.Endpoint}
			}
			return hidden
		})
	}
	hideSide := func(all []relation.Side) []relation.Side {
		return slices.DeleteFunc(slices.Clone(all), func(side relation.Side) bool {
			hidden := kind == relation.KindSide && side.Here().Namespace == in && side.Name() == name
			if hidden {
				one.Side = side
				one.Side.ID, one.Side.Known, one.Side.Teardown = 0, false, nil
			}
			return hidden
		})
	}
	s.Relations, s.Consumers, s.Sides = hideRelation(s.Relations), hideRelation(s.Consumers), hideSide(s.Sides)
	s.Records, s.Databags = hideRecord(s.Namespace, s.Records), hideBag(s.Namespace, s.Databags)
	s.Abroad = slices.Clone(s.Abroad)
	for i, from := range s.Abroad {
		s.Abroad[i].Records, s.Abroad[i].Databags = hideRecord(from.Namespace, from.Records), hideBag(from.Namespace, from.Databags)
		s.Abroad[i].Sides = hideSide(from.Sides)
	}
	s.Unreadable = append(slices.Clip(s.Unreadable), one)
	return s
}

// about names what a decision is about, as type, object and, for a relation, its pair.
func about(decision relation.Decision) (name string, applications []string) {
	ends := func(k relation.Key) []string { return []string{k.Requirer.Application, k.Provider.Application} }
	switch d := decision.(type) {
	case relation.Publish:
		return "Publish " + d.Name(), []string{d.Application}
	case relation.Remember:
		return "Remember " + d.Name, []string{d.Name}
	case relation.Keep:
		return "Keep " + d.Name(), ends(d.Key)
	case relation.Drop:
		return "Drop " + d.Name(), ends(d.Key)
	case relation.Relate:
		return "Relate " + d.Name(), ends(d.Key)
	case relation.Count:
		return fmt.Sprintf("Count %d", d.LastRelation), nil
	case relation.Update:
		return "Update " + d.Name, ends(d.Key)
	case relation.Finish:
		return "Finish " + d.Name, ends(d.Key)
	case relation.Release:
		return "Release " + d.Name, ends(d.Key)
	case relation.Withdraw:
		return "Withdraw " + d.Name(), []string{d.Application}
	case relation.Deliver:
		return "Deliver " + d.Name(), []string{d.Application}
	case relation.Discard:
		return "Discard " + d.Name(), []string{d.Application}
	case relation.Admit:
		return "Admit " + d.Name, []string{d.Application}
	case relation.Answer:
		return "Answer " + d.Name, []string{d.Application}
	case relation.Forget:
		return "Forget " + d.Name, []string{d.Name}
	case relation.Mark:
		return "Mark " + d.Name, []string{d.Name}
	case relation.Copy:
		return "Copy " + d.Application, []string{d.Application}
	default:
		return fmt.Sprintf("%T", decision), nil
	}
}

func abouts(decisions []relation.Decision) []string {
	var all []string
	for _, d := range decisions {
		name, _ := about(d)
		all = append(all, name)
	}
	return all
}

func apiToDB() relation.Key {
	return relation.Key{Requirer: here("api", "store"), Provider: here("db", "main")}
}

// What is decided beside an unreadable object.
func TestUnreadable(t *testing.T) {
	bag := relation.DatabagName("db", "main")
	const hour = time.Hour
	tests := map[string]struct {
		why string
		// kind and name are the object's; name is empty for that of the only relation.
		kind, name string
		happens    func(*world, relation.Relation)
		want       func(r relation.Relation) []string
	}{
		"Record": {why: "a condition says so, and no more", kind: relation.KindRecord, name: "web"},
		"Relation": {
			why: "E14: it is there, and its declaration leads to no second one", kind: relation.KindRelation,
		},
		"Databag": {
			why: "what is declared is not written over what cannot be read", kind: relation.KindDatabag, name: bag,
			happens: func(w *world, _ relation.Relation) { w.port("db", 5433) },
		},
		"NoDeclaration": {
			why: "L5: an unreadable relation is not held, and its time does not run", kind: relation.KindRelation,
			happens: func(w *world, _ relation.Relation) { w.consumes("web", "store:pg", "") },
		},
		"HeldTooLong": {
			why: "L5: nor ended", kind: relation.KindRelation,
			happens: func(w *world, r relation.Relation) {
				held := w.relations[r.Name]
				held.State.HeldSince, held.State.HeldReason = epoch().Add(-hour), relation.ReasonDeclarationGone
				w.relations[r.Name] = held
				w.clear()
			},
			want: func(relation.Relation) []string { return []string{"Remember db", "Remember web"} },
		},
		"Ended": {
			why: "E14: nor deleted, whatever was decided before", kind: relation.KindRelation,
			happens: func(w *world, r relation.Relation) {
				ended := w.relations[r.Name]
				ended.State.EndReason = relation.ReasonDeclarationGone
				w.relations[r.Name] = ended
				w.consumes("web", "store:pg", "")
			},
		},
		"HeldBesideARecord": {
			why: "L5: a relation does not end while nobody knows the units that are to handle it", kind: relation.KindRecord, name: "web",
			happens: func(w *world, r relation.Relation) {
				held := w.relations[r.Name]
				held.State.HeldSince, held.State.HeldReason = epoch().Add(-hour), relation.ReasonDeclarationGone
				w.relations[r.Name] = held
				delete(w.workloads, "Deployment/web")
			},
		},
		"NothingLeft": {
			why: "E13: a record that nothing needs is not forgotten, nor its bags withdrawn", kind: relation.KindRecord, name: "db",
			happens: func(w *world, r relation.Relation) {
				delete(w.relations, r.Name)
				w.clear()
			},
			want: func(relation.Relation) []string { return []string{"Forget web"} },
		},
		"Deleted": {
			why: "L4: a person has deleted it, and its units have had their time", kind: relation.KindRelation,
			happens: func(w *world, r relation.Relation) { w.remove(r.Name, r.UID); w.now = w.now.Add(hour) },
			want:    func(r relation.Relation) []string { return []string{"Release " + r.Name} },
		},
		"DeletedBesideARecord": {
			why: "L4: units that nobody knows have the longest time", kind: relation.KindRecord, name: "web",
			happens: func(w *world, r relation.Relation) { w.remove(r.Name, r.UID); w.now = w.now.Add(time.Minute) },
		},
		"NewPair": {
			why: "D10: no record is needed for its id", kind: relation.KindRecord, name: "db",
			happens: func(w *world, _ relation.Relation) { w.consumes("api", "store:pg", "db") },
			want: func(relation.Relation) []string {
				return []string{"Count 2", "Remember api", "Relate " + apiToDB().Name()}
			},
		},
		"NewPairBesideARelation": {
			why: "a relation whose id is unknown may have the next", kind: relation.KindRelation,
			happens: func(w *world, _ relation.Relation) { w.consumes("api", "store:pg", "db") },
			want:    func(relation.Relation) []string { return []string{"Remember api"} },
		},
		"NewPairBesideADatabag": {
			why: "all else goes on", kind: relation.KindDatabag, name: bag,
			happens: func(w *world, _ relation.Relation) { w.consumes("api", "store:pg", "db") },
			want: func(relation.Relation) []string {
				return []string{"Count 2", "Remember api", "Relate " + apiToDB().Name()}
			},
		},
		"NewPod": {
			why: "a unit's number is given once: nobody knows which are", kind: relation.KindRecord, name: "web",
			happens: func(w *world, _ relation.Relation) { w.pod(application.Deployment, "web", "web-2") },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w, r := shopWorld(t)
			if test.happens != nil {
				test.happens(w, r)
			}
			if test.name == "" {
				test.name = r.Name
			}
			var want []string
			if test.want != nil {
				want = test.want(r)
			}
			decisions, _ := negotiation.Negotiate(hide(w.observe(), test.kind, namespace, test.name))
			assert.Equal(t, append(want, "Mark "+test.name), abouts(decisions), test.why)
		})
	}
}

// A mark names the object, the error and the cure, stands beside the other conditions, and is
// written once.
func TestMark(t *testing.T) {
	w, r := shopWorld(t)
	s := hide(w.observe(), relation.KindRelation, namespace, r.Name)
	other := condition.New(condition.Held, true, relation.ReasonDeclarationGone, "until then")
	s.Unreadable[0].Conditions = append(s.Unreadable[0].Conditions, other)
	decisions, _ := negotiation.Negotiate(s)
	require.Len(t, decisions, 1)
	mark := decisions[0].(relation.Mark)
	why := condition.Why(mark.Conditions)
	assert.False(t, why.True)
	assert.Equal(t, relation.ReasonUnreadable, why.Reason)
	assert.Contains(t, why.Message, "cannot read "+r.Name)
	assert.Contains(t, why.Message, "kubectl -n shop get relation "+r.Name+" -o yaml")
	assert.Contains(t, mark.Conditions, other)
	s.Unreadable[0].Conditions = mark.Conditions
	decisions, _ = negotiation.Negotiate(s)
	assert.Empty(t, decisions)
}

// An application that needs something new of what is unreadable names it; what it has goes on.
func TestUnreadableIsNamed(t *testing.T) {
	w, _ := shopWorld(t)
	w.consumes("api", "store:pg", "db")
	for range 2 { // its relation is made, and then waits
		decisions, _ := negotiation.Negotiate(hide(w.observe(), relation.KindRecord, namespace, "db"))
		w.run(decisions, all)
	}
	assert.False(t, w.says("api", condition.Ready).True)
	assert.Contains(t, w.says("api", condition.Ready).Message, "kubectl -n shop get relatedapplication db -o yaml")
	assert.True(t, w.says("web", condition.Ready).True)
	w.settle(t)
	assert.Len(t, w.relations, 2)
	assert.True(t, w.says("api", condition.Ready).True, "when the record can be read")
}

// A Relation that a person makes while no id can be given shows why, and takes part afterwards.
func TestManualRelationWaitsForAnID(t *testing.T) {
	w, r := shopWorld(t)
	w.external("cache", "main:pg")
	w.consumes("api", "store:pg", "")
	w.settle(t)
	w.relate(relation.Pair{Key: relation.Key{Requirer: here("api", "store"), Provider: here("cache", "main")}, Interface: "pg"}, w.uid(), false, 0)
	s := hide(w.observe(), relation.KindRelation, namespace, r.Name)
	s.Unreadable[0].Relation.State.ID = 0
	decisions, _ := negotiation.Negotiate(s)
	i := slices.IndexFunc(decisions, func(d relation.Decision) bool { _, update := d.(relation.Update); return update })
	require.GreaterOrEqual(t, i, 0)
	updated := decisions[i].(relation.Update)
	assert.Zero(t, updated.State.ID)
	assert.Equal(t, relation.ReasonUnreadable, ready(updated.Relation).Reason)
	assert.Contains(t, ready(updated.Relation).Message, "kubectl -n shop get relation "+r.Name+" -o yaml")
	w.run(decisions[i:i+1], all)
	w.settle(t)
	assert.True(t, ready(w.between(t, "api:store-cache:main")).True)
}

// A bag under another name stands for the one that its spec names, unless that one can be read.
func TestUnreadableClaim(t *testing.T) {
	w, _ := shopWorld(t)
	w.port("db", 5433)
	s := w.observe()
	s.Unreadable = []relation.Unreadable{{
		Kind: relation.KindDatabag, Namespace: namespace, Name: "copy", Problem: "cannot read copy",
		Databag: relation.Databag{Application: "db", Endpoint: "main"},
	}}
	publish := "Publish " + relation.DatabagName("db", "main")
	decisions, _ := negotiation.Negotiate(s)
	assert.Contains(t, abouts(decisions), publish)
	s.Databags = nil
	decisions, _ = negotiation.Negotiate(s)
	assert.NotContains(t, abouts(decisions), publish, "it may be the only copy")
}

// Data of another namespace that cannot be read is no change of it: nothing restarts or is taken back
// for that, and a new relation shows why it waits (SAFETY.md L8, M7).
func TestUnreadableDataAbroad(t *testing.T) {
	n := newNeighbours()
	n.bank.external("db", "main:pg")
	n.bank.offers["one"] = relation.Offer{Namespace: "bank", Name: "one", Application: "db", Endpoint: "main", Consumers: known(namespace)}
	n.shop.consumes("web", "store:pg", "store=db.bank", application.KeyOnChange, string(application.Restart))
	n.settle(t)
	r := n.shop.only(t)
	own := relation.Databag{Application: "db", Endpoint: "main", Relation: r.UID, Data: map[string]string{"user": "web", "no file": "x"}}
	n.bank.databags[own.Name()] = bag{own, true}
	n.settle(t)
	n.shop.finishRollouts()
	n.shop.now = n.shop.now.Add(time.Hour)
	n.settle(t)
	n.look()
	require.Len(t, n.shop.records["web"].State.Restarts.Versions, 1)
	require.True(t, n.shop.says("web", condition.FilesRefused).True)
	hidden := hide(n.shop.observe(), relation.KindDatabag, "bank", own.Name())
	decisions, _ := negotiation.Negotiate(hidden)
	assert.Empty(t, decisions)

	n.shop.consumes("api", "store:pg", "store=db.bank")
	decisions, _ = negotiation.Negotiate(hide(n.shop.observe(), relation.KindDatabag, "bank", relation.DatabagName("db", "main")))
	i := slices.IndexFunc(decisions, func(d relation.Decision) bool { _, relates := d.(relation.Relate); return relates })
	require.GreaterOrEqual(t, i, 0)
	why := condition.Why(decisions[i].(relation.Relate).State.Conditions)
	assert.Equal(t, relation.ReasonUnreadable, why.Reason)
	assert.NotContains(t, why.Message, "cannot read "+relation.DatabagName("db", "main"), "what is wrong there is the bank's")
}

// What another namespace cannot show is named without what is in it (SAFETY.md M7).
func TestUnreadableAbroad(t *testing.T) {
	n := newNeighbours()
	n.bank.external("db", "main:pg,spare:pg")
	n.bank.offers["one"] = relation.Offer{Namespace: "bank", Name: "one", Application: "db", Endpoint: "main", Consumers: known(namespace)}
	n.shop.consumes("web", "store:pg", "store=db.bank")
	n.settle(t)
	require.Len(t, n.shop.relations, 1)
	n.look()
	hidden := hide(n.shop.observe(), relation.KindRecord, "bank", "db")
	decisions, _ := negotiation.Negotiate(hidden)
	assert.Empty(t, decisions, "the relation keeps what it has, and the mark is for the bank to write")

	n.shop.consumes("api", "store:pg", "store=db.bank")
	decisions, _ = negotiation.Negotiate(hide(n.shop.observe(), relation.KindRecord, "bank", "db"))
	require.Equal(t, []string{"Remember api"}, abouts(decisions))
	why := condition.Why(decisions[0].(relation.Remember).State.Conditions)
	assert.Contains(t, why.Message, "RelatedApplication db of namespace bank cannot be read")
	assert.NotContains(t, why.Message, "cannot read db")

	manual := relation.Key{Requirer: here("api", "store"), Provider: relation.End{Namespace: "bank", Application: "db", Endpoint: "main"}}
	n.shop.consumes("api", "store:pg", "")
	n.shop.relate(relation.Pair{Key: manual, Interface: "pg"}, n.shop.uid(), false, 0)
	decisions, _ = negotiation.Negotiate(hide(n.shop.observe(), relation.KindRecord, "bank", "db"))
	i := slices.IndexFunc(decisions, func(d relation.Decision) bool { _, update := d.(relation.Update); return update })
	require.GreaterOrEqual(t, i, 0)
	assert.Equal(t, relation.ReasonUnreadable, ready(decisions[i].(relation.Update).Relation).Reason)

	n.bank.clear()
	n.bank.offers = map[string]relation.Offer{}
	n.look()
	for name := range n.shop.relations {
		decisions, _ = negotiation.Negotiate(hide(n.bank.observe(), relation.KindRelation, namespace, name))
		for _, d := range decisions {
			assert.NotEqual(t, "Forget db", abouts([]relation.Decision{d})[0], "somebody's relation may need it")
		}
	}
}

// Units whose departure an unreadable relation may remember are not forgotten (SAFETY.md P2).
func TestUnreadableRelationKeepsTheDeparted(t *testing.T) {
	w, r := shopWorld(t)
	delete(w.pods, "web-1")
	w.pod(application.Deployment, "web", "web-2")
	w.settle(t)
	w.now = w.now.Add(2 * application.Mourning)
	decisions, _ := negotiation.Negotiate(hide(w.observe(), relation.KindRelation, namespace, r.Name))
	assert.Equal(t, []string{"Mark " + r.Name}, abouts(decisions))
	decisions, _ = negotiation.Negotiate(w.observe())
	assert.Contains(t, abouts(decisions), "Remember web", "else they would be")
}

// A Secret that cannot be read is granted as it was, and not for the first time.
func TestUnreadableSecret(t *testing.T) {
	w := newWorld()
	w.external("db", "main:pg")
	s := w.services["db"]
	s.Annotations[application.PrefixSecret+"main"] = "credentials"
	w.secrets["credentials"] = secret.Source{Namespace: namespace, Name: "credentials", Sight: secret.Unreadable}
	w.settle(t)
	assert.True(t, w.records["db"].State.Grants[0].Refused)
	assert.Equal(t, secret.ReasonUnreadable, w.says("db", condition.GrantRefused).Reason)
	w.secrets["credentials"] = secret.Source{Namespace: namespace, Name: "credentials", Sight: secret.Open, GrantTo: "main", Version: "1"}
	w.settle(t)
	assert.False(t, w.records["db"].State.Grants[0].Refused)
	w.secrets["credentials"] = secret.Source{Namespace: namespace, Name: "credentials", Sight: secret.Unreadable}
	decisions, _ := negotiation.Negotiate(w.observe())
	assert.Empty(t, decisions)
}

// A namespace that ends lets go of what is unreadable too: it would never be gone.
func TestEndingNamespaceReleasesTheUnreadable(t *testing.T) {
	w, r := shopWorld(t)
	w.ending = true
	w.remove(r.Name, r.UID)
	for _, one := range []object{{relation.KindRelation, namespace, r.Name}, {relation.KindRecord, namespace, "web"}} {
		decisions, _ := negotiation.Negotiate(hide(w.observe(), one.kind, one.namespace, one.name))
		assert.Equal(t, []string{"Release " + r.Name}, abouts(decisions), one.kind)
	}
}

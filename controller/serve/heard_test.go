package serve

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/bindings"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/spool"
	podagent "gitlab.ilabt.imec.be/tengu/orcon/controller/agent"
	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// What an agent makes of what travels is what relation.View.Heard says, by which
// scenarios run without a cluster: so that they are told what a pod is told.
func TestAgentsHearWhatTheDomainSays(t *testing.T) {
	dir := t.TempDir()
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		view := anyView(t)
		runs++
		for unit := range 3 {
			told := &telling{}
			told.take(view)
			c := conversation{Membership: identity.Membership{Application: view.Application}}
			c.identity.UID, c.identity.Namespace = "uid-"+strconv.Itoa(unit), "shop"
			file := func(name string) bindings.File {
				return bindings.File{Path: dir + "/" + name + strconv.Itoa(runs) + "-" + strconv.Itoa(unit)}
			}
			a := podagent.New(podagent.Settings{}, podagent.Disk{
				Bindings: bindings.Volume{Path: dir}, Env: file("env"), Opened: file("opened"), Memory: file("memory"), EverOpened: file("ever"),
				Spool: spool.New(dir+"/bags-"+strconv.Itoa(runs)+"-"+strconv.Itoa(unit), 0, func(err error) { panic(err) }),
			}, granter{}, nil)
			stream := &pieces{accepted: rapid.Bool().Draw(t, "pieces")}
			require.NoError(t, stream.send(heardBy{a}, c.snapshot(told), told.bags))
			got, err := a.Speech().Snapshot()
			require.NoError(t, err)
			want := view.Heard(unit)
			assert.Equal(t, contentsOf(want), contentsOf(got))
			want.Bags, got.Bags = nil, nil
			assert.Equal(t, want, got)
		}
	})
}

// heardBy is a stream to an agent in this process.
type heardBy struct{ agent *podagent.Agent }

func (h heardBy) Send(response *v1alpha1.ConverseResponse) error {
	if part := response.GetPiece(); part != nil {
		return h.agent.Received(part)
	}
	return h.agent.Heard(response.GetSnapshot())
}

// contentsOf are the contents of the bags that a unit sees, in order.
func contentsOf(s domain.Snapshot) []domain.Bag {
	var all []domain.Bag
	for _, r := range s.Relations {
		all = append(all, s.Bag(r.RemoteBag), s.Bag(r.OwnBag), s.Bag(r.OwnApplicationBag))
		for _, m := range r.Units {
			all = append(all, s.Bag(m.Bag))
		}
		for _, d := range r.Departed {
			all = append(all, s.Bag(d.Bag))
		}
	}
	return all
}

// granter grants whatever is asked for.
type granter struct{ podagent.Speaker }

func (granter) GetSecret(context.Context, *v1alpha1.GetSecretRequest) (*v1alpha1.GetSecretResponse, error) {
	return &v1alpha1.GetSecretResponse{}, nil
}

// owing is what one unit, the leader or neither owes.
func owing() *rapid.Generator[domain.Owing] {
	return rapid.SampledFrom([]domain.Owing{{}, {Owed: []int{1}}, {Inherited: true}})
}

// anyView is what db may see of web and of its own units.
func anyView(t *rapid.T) relation.View {
	contents := domain.BagMap{}
	bag := rapid.Map(rapid.SampledFrom([]map[string]string{nil, {"host": "db"}, {"a": "1", "b": "2"}}), contents.Put)
	number := rapid.IntRange(0, 2)
	v := relation.View{Application: "db", Bags: contents}
	v.Leader = leadership.Leader{Unit: number.Draw(t, "leader"), Term: number.Draw(t, "term")}
	for n := range 3 {
		v.Units = append(v.Units, application.Unit{Number: n, PodUID: "uid-" + strconv.Itoa(n), Leaving: rapid.SampledFrom([]string{"", application.GoneScaledDown}).Draw(t, "leaving")})
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "relations") {
		here, there := relation.End{Namespace: "shop", Application: "db", Endpoint: "main"}, relation.End{Namespace: "shop", Application: "web", Endpoint: "store"}
		r := relation.Relation{UID: "uid-" + strconv.Itoa(i), Interface: "pg", Version: number.Draw(t, "version")}
		writer := ""
		r.Requirer, r.Provider = there, here
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			r.Requirer, writer = here, rapid.SampledFrom([]string{"", "0", "2"}).Draw(t, "writer")
		case 1:
			there.Namespace = rapid.SampledFrom([]string{"shop", "data"}).Draw(t, "namespace")
			r.Requirer, r.Provider = here, there
		}
		r.State.ID = i + 1
		r.State.EndReason = rapid.SampledFrom([]string{"", "Deleted"}).Draw(t, "end")
		r.State.Offer = rapid.SampledFrom([]string{"", "all"}).Draw(t, "offer")
		r.State.SuspendedSince = rapid.SampledFrom([]time.Time{{}, time.Unix(1, 0)}).Draw(t, "suspended")
		r.State.Conditions = condition.Settled("Complete", "")
		s, _ := r.SeenFrom("shop", "db")
		s.OwnWriter = writer
		if r.Ended() {
			s.Shown.End = owing().Draw(t, "end")
		}
		s.Shown.Granted = rapid.SampledFrom([]domain.Granted{{}, {ID: "c6b9fk2t7m0q3v8x1z5d", Revision: 3}}).Draw(t, "granted")
		s.Shown.RemoteBag, s.OwnBag = bag.Draw(t, "bag"), bag.Draw(t, "own")
		for n := range 3 {
			unit, said := domain.Unit{Application: s.Shown.Remote, Number: n}, bag.Draw(t, "unit's")
			switch rapid.IntRange(0, 2).Draw(t, "unit") {
			case 0:
				s.Shown.Units = append(s.Shown.Units, domain.Member{Unit: unit, Bag: said})
			case 1:
				s.Shown.Departed = append(s.Shown.Departed, domain.Tombstone{
					Unit: unit, Bag: said, Reason: domain.Replaced, Since: time.Unix(rapid.Int64Range(1, 9).Draw(t, "since"), 0).UTC(),
					Owing: owing().Draw(t, "owed"),
				})
			}
			if rapid.Bool().Draw(t, "in scope") {
				s.Own = append(s.Own, domain.Member{Unit: domain.Unit{Application: "db", Number: n}, Bag: said})
			}
		}
		v.Relations = append(v.Relations, s)
	}
	return v
}

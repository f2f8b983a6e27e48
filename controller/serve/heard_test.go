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
	podagent "gitlab.ilabt.imec.be/tengu/orcon/controller/agent"
	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
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
			c := conversation{application: view.Application}
			c.identity.UID, c.identity.Namespace = "uid-"+strconv.Itoa(unit), "shop"
			file := func(name string) bindings.File {
				return bindings.File{Path: dir + "/" + name + strconv.Itoa(runs) + "-" + strconv.Itoa(unit)}
			}
			a := podagent.New(podagent.Settings{}, podagent.Disk{
				Bindings: bindings.Volume{Path: dir}, Env: file("env"), Opened: file("opened"), Memory: file("memory"), EverOpened: file("ever"),
			}, granter{}, nil)
			a.Heard(c.snapshot(told))
			got, err := a.Speech().Snapshot()
			require.NoError(t, err)
			assert.Equal(t, view.Heard(unit), got)
		}
	})
}

// granter grants whatever is asked for.
type granter struct{ podagent.Speaker }

func (granter) GetSecret(context.Context, *v1alpha1.GetSecretRequest) (*v1alpha1.GetSecretResponse, error) {
	return &v1alpha1.GetSecretResponse{}, nil
}

// anyView is what db may see of web and of its own units.
func anyView(t *rapid.T) relation.View {
	bag := rapid.SampledFrom([]map[string]string{nil, {"host": "db"}, {"a": "1", "b": "2"}})
	number := rapid.IntRange(0, 2)
	v := relation.View{Application: "db"}
	v.Leader = leadership.Leader{Unit: number.Draw(t, "leader"), Term: number.Draw(t, "term")}
	for n := range 3 {
		v.Units = append(v.Units, application.Unit{Number: n, PodUID: "uid-" + strconv.Itoa(n), Leaving: rapid.SampledFrom([]string{"", application.GoneScaledDown}).Draw(t, "leaving")})
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "relations") {
		here, there := relation.End{Namespace: "shop", Application: "db", Endpoint: "main"}, relation.End{Namespace: "shop", Application: "web", Endpoint: "store"}
		s := relation.Seen{Role: application.Provider, Here: here, There: there}
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			s.Role, s.There, s.OwnWriter = application.Peer, here, rapid.SampledFrom([]string{"", "0", "2"}).Draw(t, "writer")
		case 1:
			s.Role = application.Requirer
			s.There.Namespace = rapid.SampledFrom([]string{"shop", "data"}).Draw(t, "namespace")
		}
		s.UID, s.State.ID, s.Interface, s.Version = "uid-"+strconv.Itoa(i), i+1, "pg", number.Draw(t, "version")
		s.State.EndReason = rapid.SampledFrom([]string{"", "Deleted"}).Draw(t, "end")
		s.Requirer, s.Provider = s.Here, s.There
		if s.Role == application.Provider {
			s.Requirer, s.Provider = s.There, s.Here
		}
		s.State.Offer = rapid.SampledFrom([]string{"", "all"}).Draw(t, "offer")
		s.State.SuspendedSince = rapid.SampledFrom([]time.Time{{}, time.Unix(1, 0)}).Draw(t, "suspended")
		s.State.Conditions = condition.Settled("Complete", "")
		s.Granted = rapid.SampledFrom([]domain.Granted{{}, {ID: "c6b9fk2t7m0q3v8x1z5d", Revision: 3}}).Draw(t, "granted")
		s.Bag, s.OwnBag = bag.Draw(t, "bag"), bag.Draw(t, "own")
		for n := range 3 {
			member := relation.Member{Number: n, Bag: bag.Draw(t, "unit's")}
			switch rapid.IntRange(0, 2).Draw(t, "unit") {
			case 0:
				s.Units = append(s.Units, member)
			case 1:
				s.Departed = append(s.Departed, relation.Tombstone{Bag: member.Bag, Departure: domain.Departure{
					Unit: domain.Unit{Application: s.There.Application, Number: n}, Reason: domain.Replaced, Since: time.Unix(rapid.Int64Range(1, 9).Draw(t, "since"), 0).UTC(),
					Owed: rapid.SampledFrom([][]domain.Unit{nil, {{Application: here.Application, Number: 1}}}).Draw(t, "owed"), Handled: rapid.Bool().Draw(t, "handled"),
				}})
			}
			if rapid.Bool().Draw(t, "in scope") {
				s.Own = append(s.Own, member)
			}
		}
		v.Relations = append(v.Relations, s)
	}
	return v
}

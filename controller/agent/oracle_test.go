package agent

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/agent"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
	oracle "gitlab.ilabt.imec.be/tengu/orcon/test/oracle/agent"
)

// Equal snapshots give the files, variables, gate and memory that they gave before the agent used the
// domain's view.
func TestAgentLikeBefore(t *testing.T) {
	consumes, _ := application.ParseConsumes("db:postgresql,cache:redis,db-7?")
	asked, _ := application.ParseEnv("db=password,key")
	variables, _ := injection.Variables(consumes, nil, asked)
	rapid.Check(t, func(t *rapid.T) {
		var before oracle.View
		var now Projection
		for range rapid.IntRange(1, 8).Draw(t, "snapshots") {
			s := anySnapshot(t)
			heard := convert.ToUpdate(s)
			require.Equal(t, before.Behind(oracle.FromWire(s)), now.Behind(heard))
			before, now = before.Merge(oracle.FromWire(s)), now.Merge(heard)
			read(t, &before, &now)

			require.Equal(t, before.Plan(), oracle.Plan(now.Plan()))
			text, left := before.Environment(variables)
			gotText, gotLeft := now.Environment(variables)
			require.Equal(t, text, gotText)
			require.Equal(t, left, gotLeft)
			var unmet []oracle.Unmet
			for _, u := range now.Unmet(consumes) {
				unmet = append(unmet, oracle.Unmet(u))
			}
			require.Equal(t, before.Unmet(consumes), unmet)
			require.Equal(t, before.AllRead(), now.allRead())
			if rapid.Bool().Draw(t, "restart") {
				before, now = restarted(t, before, now)
			}
		}
	})
}

// read has both read what is granted, or not.
func read(t *rapid.T, before *oracle.View, now *Projection) {
	var unread []oracle.Granted
	for _, g := range now.Unread() {
		unread = append(unread, oracle.Granted{ID: g.ID, Revision: int64(g.Revision)})
	}
	require.Equal(t, before.Unread(), unread)
	if rapid.Bool().Draw(t, "unread") {
		return
	}
	was, is := map[string]oracle.Content{}, map[string]Content{}
	for _, g := range unread {
		files := map[string]string{"password": fmt.Sprint(g.Revision)}
		was[g.ID], is[g.ID] = oracle.Content{Revision: g.Revision, Files: files}, Content{Revision: int(g.Revision), Files: files}
	}
	before.KeepContents(was)
	now.keepContents(is)
}

// restarted returns the memory that both read back, which is the same.
func restarted(t *rapid.T, before oracle.View, now Projection) (oracle.View, Projection) {
	old, err := oracle.Encode(before)
	require.NoError(t, err)
	memory, err := convert.EncodeMemory(now.Update)
	require.NoError(t, err)
	want, got := &wire.Snapshot{}, &wire.Snapshot{}
	require.NoError(t, proto.Unmarshal(old, want))
	require.NoError(t, proto.Unmarshal(memory, got))
	for _, s := range []*wire.Snapshot{want, got} {
		for _, r := range s.GetRelations() {
			if r.GetEnded() { // whether it was suspended counts no more, nor what it grants
				r.Suspended, r.Granted = false, nil
			}
		}
	}
	require.True(t, proto.Equal(want, got), "%v\n%v", want, got)
	recalled, err := oracle.Decode(old)
	require.NoError(t, err)
	known, err := convert.ParseMemory(memory)
	require.NoError(t, err)
	return recalled, Projection{Update: known}
}

// anySnapshot is one of web, with relations that come, change, vanish and end.
func anySnapshot(t *rapid.T) *wire.Snapshot {
	id := []string{"", "c6b9fk2t7m0q3v8x1z5d", "d6b9fk2t7m0q3v8x1z5d"}
	s := &wire.Snapshot{
		Revisions: map[string]uint64{"Relation": rapid.Uint64Range(1, 9).Draw(t, "revision")},
		Unit:      &wire.Unit{Application: "web", Namespace: "shop", Number: 2, Known: rapid.Bool().Draw(t, "known")},
	}
	if rapid.IntRange(0, 9).Draw(t, "ignored") == 0 {
		s.Unit.Ignored = "it is ignored"
	}
	for i := range 5 {
		if rapid.IntRange(0, 3).Draw(t, "absent") == 0 {
			continue
		}
		granted := rapid.SampledFrom(id).Draw(t, "granted")
		r := &wire.Relation{
			Id: int64(7 + i), Uid: fmt.Sprint("uid-", i), Endpoint: []string{"db", "db", "cache", "db-7", "../x"}[i],
			Role: rapid.SampledFrom([]string{"requires", "provides", "peers"}).Draw(t, "role"), Interface: "pg", InterfaceVersion: int64(i),
			RemoteApplication: "pg", RemoteNamespace: rapid.SampledFrom([]string{"", "shop", "data"}).Draw(t, "namespace"), RemoteEndpoint: "main",
			Bag: &wire.Databag{Data: anyBag(t, granted)}, Granted: &wire.GrantedSecret{Id: granted, Revision: rapid.Int64Range(1, 3).Draw(t, "of")},
			Complete: rapid.Bool().Draw(t, "complete"), Held: rapid.Bool().Draw(t, "held"),
			Ended: rapid.IntRange(0, 6).Draw(t, "ended") == 0, Suspended: rapid.IntRange(0, 4).Draw(t, "suspended") == 0,
			Reason: rapid.SampledFrom([]string{"", "NoData"}).Draw(t, "reason"), Message: rapid.SampledFrom([]string{"", "no data"}).Draw(t, "message"),
			Units:    []*wire.RemoteUnit{{Number: 1}, {Number: 2}},
			Departed: []*wire.DepartedUnit{{Number: 3, Owed: []int64{2}}},
		}
		if granted == "" && rapid.Bool().Draw(t, "unset") {
			r.Granted = nil
		}
		s.Relations = append(s.Relations, r)
	}
	slices.Reverse(s.GetRelations())
	if rapid.Bool().Draw(t, "waits") {
		s.Waiting = []*wire.Waiting{{Endpoint: "cache", Reason: "NoApplication", Message: "there is none"}}
	}
	return s
}

func anyBag(t *rapid.T, granted string) map[string]string {
	bag := rapid.SampledFrom([]map[string]string{nil, {"host": "a"}, {"host": "b", "port": "1", "../k": "x", "key": "it's"}}).Draw(t, "bag")
	if granted == "" || bag == nil {
		return bag
	}
	return map[string]string{"host": "c", "password": secret.Reference(granted)}
}

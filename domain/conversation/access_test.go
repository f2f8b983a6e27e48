package conversation_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// may is what a unit may do with a bag.
func may(s conversation.Snapshot, at conversation.Address) string {
	can := ""
	if _, err := conversation.Read(s, at); err == nil {
		can += "R"
	}
	if conversation.MayWrite(s, at) == nil {
		can += "W"
	}
	return can
}

// The table of RELATIONS.md P, cell by cell, and P4: a refusal says who may.
func TestAccess(t *testing.T) {
	regular, among := db("db/0"), peers("web/1")
	unitBag := func(r conversation.Relation, u string) conversation.Address {
		return conversation.ForUnit(r.UID, unit(u))
	}
	own, other, remote := "web/0", "web/1", "db/0"
	tests := map[string]struct {
		relation conversation.Relation
		leads    bool
		at       conversation.Address
		want     string
		who      string
	}{
		"UnitItself":              {regular, false, unitBag(regular, own), "RW", ""},
		"UnitLeader":              {regular, true, unitBag(regular, other), "", "only web/1 and the units of db may"},
		"UnitOther":               {regular, false, unitBag(regular, other), "", "only web/1 and the units of db may"},
		"UnitRelated":             {regular, false, unitBag(regular, remote), "R", "only db/0 may"},
		"ApplicationUnit":         {regular, false, conversation.ForApplication(regular.UID, "web"), "", "only the leader of web and the units of db may"},
		"ApplicationLeader":       {regular, true, conversation.ForApplication(regular.UID, "web"), "RW", ""},
		"ApplicationRelated":      {regular, false, conversation.ForApplication(regular.UID, "db"), "R", "only the leader of db may"},
		"ApplicationOtherLeader":  {regular, true, conversation.ForApplication(regular.UID, "db"), "R", "only the leader of db may"},
		"PeerUnitItself":          {among, false, unitBag(among, own), "RW", ""},
		"PeerUnitLeader":          {among, true, unitBag(among, other), "R", "only web/1 may"},
		"PeerUnitOther":           {among, false, unitBag(among, other), "R", "only web/1 may"},
		"PeerUnitRelated":         {among, false, unitBag(among, remote), "", "name web or a unit of it"},
		"PeerApplicationUnit":     {among, false, conversation.ForApplication(among.UID, "web"), "R", "only the leader of web may"},
		"PeerApplicationLeader":   {among, true, conversation.ForApplication(among.UID, "web"), "RW", ""},
		"PeerApplicationRelated":  {among, false, conversation.ForApplication(among.UID, "db"), "", "name web or a unit of it"},
		"ApplicationOfOtherModel": {regular, true, conversation.ForApplication(regular.UID, "web.other"), "", "name web, db or a unit of it"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := sees(test.relation)
			s.Leader = test.leads
			assert.Equal(t, test.want, may(s, test.at))
			if err := conversation.MayWrite(s, test.at); err != nil {
				e, ok := errors.AsType[*conversation.Error](err)
				_, readable := conversation.Read(s, test.at)
				if readable != nil {
					e, ok = errors.AsType[*conversation.Error](readable)
				}
				require.True(t, ok)
				assert.Equal(t, test.who, e.Cure)
			}
		})
	}
}

// What may be read has the content that the snapshot has, and is a copy.
func TestReadContent(t *testing.T) {
	r := saying(gone(db("db/0 a=1"), "db/1 a=2", conversation.ScaledDown), bag{"a": "3"})
	r.OwnBag, r.OwnApplicationBag = contents.Put(bag{"a": "4"}), contents.Put(bag{"a": "5"})
	s := leader(sees(r))
	for owner, want := range map[string]string{"db/0": "1", "db/1": "2", "db": "3", "web/0": "4", "web": "5"} {
		at := conversation.Address{Relation: r.UID, Owner: owner}
		got, err := conversation.Read(s, at)
		require.NoError(t, err, "RELATIONS.md P2: a departed unit's bag stays readable: %s", owner)
		assert.Equal(t, bag{"a": want}, got)
		got["a"] = "changed"
		again, err := conversation.Read(s, at)
		require.NoError(t, err)
		assert.Equal(t, bag{"a": want}, again, owner)
	}
}

// Refusals are of four kinds, each with a cure (RELATIONS.md P4).
func TestRefusals(t *testing.T) {
	forgotten := db()
	forgotten.Departed = []conversation.Tombstone{{Unit: unit("db/0"), Reason: conversation.ScaledDown}}
	read := func(s conversation.Snapshot, owner string) error {
		_, err := conversation.Read(s, conversation.Address{Relation: "uid-1", Owner: owner})
		return err
	}
	write := func(s conversation.Snapshot, owner string) error {
		return conversation.MayWrite(s, conversation.Address{Relation: "uid-1", Owner: owner})
	}
	suspended := sees(life(db(), conversation.Suspended, ""))
	ending := sees(life(db(), conversation.Ending, ""))
	tests := map[string]struct {
		why  string
		err  error
		want conversation.Refusal
	}{
		"UnknownRelation":  {"a relation that is not known may come", read(sees(), "web/0"), conversation.NotYet},
		"UnknownUnit":      {"a unit that is not known may join", read(sees(db()), "db/7"), conversation.NotYet},
		"UnknownSuspended": {"or come back", read(suspended, "db/7"), conversation.NotYet},
		"Suspended":        {"a suspended relation may go on", write(suspended, "web/0"), conversation.NotYet},
		"Forgotten":        {"a departed unit whose bag is not kept any more is gone", read(sees(forgotten), "db/0"), conversation.Gone},
		"UnknownEnding":    {"nobody joins what ends", read(ending, "db/7"), conversation.Gone},
		"Ending":           {"nobody hears what is written at the end", write(ending, "web/0"), conversation.Gone},
		"NotLeader":        {"another unit may", write(sees(db()), "web"), conversation.Forbidden},
		"OtherUnit":        {"the other unit may", write(sees(db("db/0")), "db/0"), conversation.Forbidden},
		"Stranger":         {"there is no such bag in the relation", read(sees(db()), "cache/0"), conversation.Invalid},
		"Misspelt":         {"nor can there be", read(sees(db()), "db/x"), conversation.Invalid},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			require.Error(t, test.err, test.why)
			assert.Equal(t, test.want, conversation.RefusalOf(test.err), test.why)
			require.ErrorIs(t, test.err, &conversation.Error{Kind: test.want})
			require.NotErrorIs(t, test.err, &conversation.Error{Kind: "other"})
			e, _ := errors.AsType[*conversation.Error](test.err)
			assert.NotEmpty(t, e.Message)
			assert.NotEmpty(t, e.Cure)
			assert.Contains(t, e.Error(), e.Cure)
		})
	}
	assert.Empty(t, conversation.RefusalOf(errors.New("another")))
	assert.Empty(t, conversation.RefusalOf(nil))
}

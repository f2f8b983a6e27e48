package secret_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

const id = "9m4e2mr0ui3e8a215n4g"

func epoch() time.Time { return time.Date(2030, 1, 1, 6, 0, 0, 0, time.UTC) }

// The units of the tests: db/0 leads db, web is related to it, thief is not.
func unit(text string) secret.Unit {
	application, number, _ := strings.Cut(text, "/")
	return secret.Unit{Application: application, Number: number, Leads: text == "db/0"}
}

func at(n int) secret.Place { return secret.Place{Key: "k" + strconv.Itoa(n)} }

// granted is to application web, or to one unit of it.
func granted(unit string) secret.Access {
	return secret.Access{Relation: "r", Name: "web-store", Application: "web", Unit: unit}
}

// after applies writes of the leader, none of which fails.
func after(t *testing.T, writes ...secret.Write) secret.Secret {
	t.Helper()
	var s secret.Secret
	var err error
	for _, w := range append([]secret.Write{{Kind: secret.Add, Place: at(1)}}, writes...) {
		w.ID = id
		s, err = secret.Apply(s, w, unit("db/0"), epoch())
		require.NoError(t, err)
	}
	return s
}

func related() secret.Standing {
	return secret.Standing{Now: epoch(), Alive: []string{"r"}, Related: true}
}

// Who may change a secret, and what nobody may do (RELATIONS.md P4).
func TestApplyRefuses(t *testing.T) {
	own := secret.Write{Kind: secret.Add, ID: id, Own: true, Place: at(1)}
	tests := map[string]struct {
		why   string
		s     secret.Secret
		by    string
		write secret.Write
		want  conversation.Refusal
	}{
		"AddNotLeading":     {why: "an application's secret is its leader's to make", by: "db/1", write: secret.Write{Kind: secret.Add, ID: id, Place: at(1)}, want: conversation.Forbidden},
		"AddOwn":            {why: "its own secret any unit makes", by: "db/1", write: own},
		"AddTwice":          {why: "an id is one secret's for ever", s: after(t), by: "db/0", write: secret.Write{Kind: secret.Add, ID: id, Place: at(2)}, want: conversation.Invalid},
		"AddNoID":           {why: "what cannot name an object", by: "db/0", write: secret.Write{Kind: secret.Add, ID: "../x", Place: at(1)}, want: conversation.Invalid},
		"AddEmpty":          {why: "a secret has content", by: "db/0", write: secret.Write{Kind: secret.Add, ID: id}, want: conversation.Invalid},
		"SetUnknown":        {why: "it was removed", by: "db/0", write: secret.Write{Kind: secret.Set, ID: id, Place: at(2)}, want: conversation.Gone},
		"SetByFollower":     {why: "only the leader may", s: after(t), by: "db/1", write: secret.Write{Kind: secret.Set, ID: id, Place: at(2)}, want: conversation.Forbidden},
		"SetByReader":       {why: "who may read may not write", s: after(t, secret.Write{Kind: secret.Grant, Access: granted("")}), by: "web/0", write: secret.Write{Kind: secret.Set, ID: id, Place: at(2)}, want: conversation.Forbidden},
		"GrantByReader":     {why: "who may read may not pass it on", s: after(t, secret.Write{Kind: secret.Grant, Access: granted("")}), by: "web/0", write: secret.Write{Kind: secret.Grant, ID: id, Access: granted("")}, want: conversation.Forbidden},
		"SetExpired":        {why: "a revision that has ended is none", s: after(t), by: "db/0", write: secret.Write{Kind: secret.Set, ID: id, Place: at(2), Expires: epoch()}, want: conversation.Invalid},
		"GrantNoRelation":   {why: "nothing would end it", s: after(t), by: "db/0", write: secret.Write{Kind: secret.Grant, ID: id, Access: secret.Access{Application: "web"}}, want: conversation.Invalid},
		"RemoveNoRevision":  {why: "there is no third one", s: after(t), by: "db/0", write: secret.Write{Kind: secret.Remove, ID: id, Revision: 3}, want: conversation.Gone},
		"RemoveByFollower":  {why: "only the leader may", s: after(t), by: "db/1", write: secret.Write{Kind: secret.Remove, ID: id}, want: conversation.Forbidden},
		"LongLabel":         {why: "an object must hold it", s: after(t), by: "db/0", write: secret.Write{Kind: secret.Set, ID: id, Label: strings.Repeat("l", 254)}, want: conversation.Invalid},
		"LongDescription":   {why: "an object must hold it", s: after(t), by: "db/0", write: secret.Write{Kind: secret.Set, ID: id, Description: strings.Repeat("d", 4097)}, want: conversation.Invalid},
		"NoRotation":        {why: "there is no such period", s: after(t), by: "db/0", write: secret.Write{Kind: secret.Set, ID: id, Rotation: "sometimes"}, want: conversation.Invalid},
		"GrantNoUnit":       {why: "a unit is named by its number", s: after(t), by: "db/0", write: secret.Write{Kind: secret.Grant, ID: id, Access: granted("web/0")}, want: conversation.Invalid},
		"UnknownKindOfVerb": {why: "an older controller does not guess", s: after(t), by: "db/0", write: secret.Write{Kind: "share", ID: id}, want: conversation.Invalid},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := secret.Apply(test.s, test.write, unit(test.by), epoch())
			assert.Equal(t, test.want, conversation.RefusalOf(err), "%s: %v", test.why, err)
			if err != nil {
				assert.Equal(t, test.s, s, "what is refused changes nothing")
			}
		})
	}
	s, err := secret.Apply(secret.Secret{}, own, unit("db/1"), epoch())
	require.NoError(t, err)
	_, err = secret.Apply(s, secret.Write{Kind: secret.Set, ID: id, Label: "x"}, unit("db/0"), epoch())
	assert.Equal(t, conversation.Forbidden, conversation.RefusalOf(err), "not even its leader changes a unit's")
}

// Who may read, each other with an error of its own (RELATIONS.md P4, P5).
func TestReadRefuses(t *testing.T) {
	grant := secret.Write{Kind: secret.Grant, Access: granted("")}
	tests := map[string]struct {
		why  string
		s    secret.Secret
		by   string
		is   secret.Standing
		want conversation.Refusal
	}{
		"Granted":    {why: "all units of the other side", s: after(t, grant), by: "web/7", is: related()},
		"OwnUnit":    {why: "the owner's units read what the application owns", s: after(t), by: "db/1"},
		"OneUnit":    {why: "the unit that was named", s: after(t, secret.Write{Kind: secret.Grant, Access: granted("1")}), by: "web/1", is: related()},
		"OtherUnit":  {why: "and no other", s: after(t, secret.Write{Kind: secret.Grant, Access: granted("1")}), by: "web/10", is: related(), want: conversation.NotYet},
		"NotGranted": {why: "related: the grant may come", s: after(t), by: "web/0", is: related(), want: conversation.NotYet},
		"Foreign":    {why: "not related", s: after(t, grant), by: "thief/0", is: secret.Standing{Alive: []string{"r"}}, want: conversation.Forbidden},
		"Ended":      {why: "the grant went with its relation", s: after(t, grant), by: "web/0", want: conversation.Gone},
		"Again":      {why: "a new relation of the same two has no grant", s: after(t, grant), by: "web/0", is: secret.Standing{Related: true}, want: conversation.Gone},
		"Suspended":  {why: "what was granted comes back with the Offer", s: after(t, grant), by: "web/0", is: secret.Standing{Alive: []string{"r"}, Suspended: []string{"r"}, Related: true}, want: conversation.NotYet},
		"OtherOpen":  {why: "another relation of the same two is open", s: after(t, grant, secret.Write{Kind: secret.Grant, Access: secret.Access{Relation: "s", Application: "web"}}), by: "web/0", is: secret.Standing{Alive: []string{"r", "s"}, Suspended: []string{"r"}, Related: true}},
		"Revoked":    {why: "it was taken back", s: after(t, grant, secret.Write{Kind: secret.Revoke, Access: secret.Access{Application: "web"}}), by: "web/0", is: related(), want: conversation.Forbidden},
		"GrantedNew": {why: "taken back and given again", s: after(t, grant, secret.Write{Kind: secret.Revoke}, grant), by: "web/0", is: related()},
		"Removed":    {why: "nothing is left", s: after(t, grant, secret.Write{Kind: secret.Remove}), by: "web/0", is: related(), want: conversation.Gone},
		"Expired":    {why: "its owner is told, and has not removed it yet", s: after(t, grant, secret.Write{Kind: secret.Set, Place: at(2), Expires: epoch().Add(time.Nanosecond)}), by: "web/0", is: related()},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			revision, _, err := test.s.Read(unit(test.by), secret.Query{}, test.is)
			assert.Equal(t, test.want, conversation.RefusalOf(err), "%s: %v", test.why, err)
			assert.Equal(t, err != nil, revision == secret.Revision{}, "a refusal shows nothing")
		})
	}
	s, err := secret.Apply(secret.Secret{}, secret.Write{Kind: secret.Add, ID: id, Own: true, Place: at(1)}, unit("db/1"), epoch())
	require.NoError(t, err)
	_, _, err = s.Read(unit("db/0"), secret.Query{}, secret.Standing{})
	assert.Equal(t, conversation.Forbidden, conversation.RefusalOf(err), "a unit's secret is not its leader's")
}

// A reader keeps to its revision until it refreshes, and what nobody can read any
// more is left out.
func TestRevisions(t *testing.T) {
	s := after(t, secret.Write{Kind: secret.Grant, Access: granted("")})
	reads := func(by string, q secret.Query) int {
		revision, next, err := s.Read(unit(by), q, related())
		require.NoError(t, err)
		s = next
		return revision.Number
	}
	set := func(place int) {
		next, err := secret.Apply(s, secret.Write{Kind: secret.Set, ID: id, Place: at(place)}, unit("db/0"), epoch())
		require.NoError(t, err)
		s = next
	}
	assert.Equal(t, 1, reads("web/0", secret.Query{}))
	assert.Equal(t, epoch(), s.Readers[0].Since)
	set(2)
	assert.Equal(t, 1, reads("web/0", secret.Query{}), "it keeps to what it has")
	assert.Equal(t, 2, reads("web/0", secret.Query{Peek: true}))
	assert.Equal(t, 1, reads("web/0", secret.Query{}), "a peek is for once")
	assert.Equal(t, 2, reads("web/1", secret.Query{}), "the first time it is the latest")
	assert.Equal(t, 2, reads("db/1", secret.Query{}), "the owner's units see the latest")
	set(3)
	assert.Equal(t, []secret.Place{at(1), at(2), at(3)}, s.Places(), "each is somebody's")
	_, same, err := s.Read(unit("web/0"), secret.Query{Refresh: true, Revision: 2}, related())
	assert.Equal(t, conversation.Gone, conversation.RefusalOf(err), "what it has used is not the latest any more")
	assert.Equal(t, s, same)
	assert.Equal(t, 3, reads("web/0", secret.Query{Refresh: true, Revision: 3}))
	assert.Equal(t, []secret.Place{at(2), at(3)}, s.Places(), "nobody can read the first any more")
	assert.Equal(t, 3, reads("web/0", secret.Query{Label: "admin"}))
	assert.True(t, s.LabelledBy(unit("web/0"), "admin"))
	assert.False(t, s.LabelledBy(unit("web/1"), "admin"), "a reader's label is its own")

	s = s.Forget(func(string) bool { return false }, func(_, unit string) bool { return unit == "1" })
	assert.Equal(t, []secret.Place{at(3)}, s.Places(), "web/1 has gone")
	set(4)
	next, err := secret.Apply(s, secret.Write{Kind: secret.Remove, ID: id, Revision: 4}, unit("db/0"), epoch())
	require.NoError(t, err)
	assert.Equal(t, []secret.Place{at(3)}, next.Places())
	s = s.Forget(func(string) bool { return true }, func(string, string) bool { return false })
	assert.Empty(t, s.Access)
	assert.Empty(t, s.Readers, "who has no grant reads nothing")
	assert.Equal(t, []secret.Place{at(4)}, s.Places(), "what web/0 kept to is nobody's")
	set(5)
	assert.Equal(t, 5, s.Latest, "a number is never given twice")
}

func TestRotationAndLabels(t *testing.T) {
	s := after(t, secret.Write{Kind: secret.Set, Rotation: "daily", Label: "admin", Description: "d"})
	assert.Equal(t, epoch().Add(24*time.Hour), s.Rotates)
	s, err := secret.Apply(s, secret.Write{Kind: secret.Set, ID: id, Place: at(2)}, unit("db/0"), epoch().Add(time.Hour))
	require.NoError(t, err)
	assert.Equal(t, epoch().Add(25*time.Hour), s.Rotates, "a new revision begins a new period")
	assert.Equal(t, "admin", s.Label, "what is not said stays")
	s, err = secret.Apply(s, secret.Write{Kind: secret.Set, ID: id, Rotation: "never"}, unit("db/0"), epoch())
	require.NoError(t, err)
	assert.Zero(t, s.Rotates)
	other := s
	other.ID = "00000000000000000000"
	require.ErrorIs(t, secret.Unlabelled([]secret.Secret{s}, other), &conversation.Error{Kind: conversation.Invalid})
	require.NoError(t, secret.Unlabelled([]secret.Secret{s}, s))
}

// Content is bounded, and a refusal never repeats a value.
func TestCheckContent(t *testing.T) {
	require.NoError(t, secret.CheckContent(map[string][]byte{"password": []byte("p"), "user-name": []byte("n")}))
	for why, content := range map[string]map[string][]byte{
		"key":   {"Hunter2": []byte("hunter2")},
		"empty": {"password": nil},
		"large": {"password": []byte(strings.Repeat("hunter2", 200_000))},
	} {
		err := secret.CheckContent(content)
		refused, ok := errors.AsType[*conversation.Error](err)
		require.True(t, ok, why)
		assert.Equal(t, conversation.Invalid, refused.Kind)
		assert.NotContains(t, strings.ToLower(err.Error()), "hunter2")
	}
}

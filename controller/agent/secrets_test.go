package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

const someID = "9m4e2mr0ui3e8a215n4g"

// Outside a handler each tool is a transaction of its own: what it does to a secret
// is stored when it succeeds, and read from the controller.
func TestSecretTools(t *testing.T) {
	x := newTerminal(t)
	hear(x.agent, heardAt(1))
	refused := x.types("secret-add password=hunter2")
	assert.Equal(t, 1, refused.ExitCode)
	assert.Contains(t, string(refused.Stderr), "ERROR forbidden: cannot make a secret of web: web/2 does not lead it")
	assert.NotContains(t, string(refused.Stderr), "hunter2")
	assert.Empty(t, x.controller.commits)

	own := x.types("secret-add --owner unit token=hunter2")
	require.Zero(t, own.ExitCode, string(own.Stderr))
	x.controller.leader = &wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 2}
	added := x.types("secret-add --label admin --rotate daily password#file=pw", "pw", "hunter2")
	require.Zero(t, added.ExitCode, string(added.Stderr))
	id, found := strings.CutPrefix(strings.TrimSpace(string(added.Stdout)), "secret:")
	require.True(t, found)
	assert.Len(t, id, 20)
	require.Len(t, x.controller.commits, 2)
	assert.True(t, x.controller.commits[0].GetSecrets()[0].GetOwn())
	said := x.controller.commits[1]
	assert.EqualValues(t, 2, said.GetTerm())
	assert.Equal(t, "add", said.GetSecrets()[0].GetKind())
	assert.Equal(t, id, said.GetSecrets()[0].GetId())
	assert.Equal(t, "hunter2", string(said.GetSecrets()[0].GetContent()["password"]))
	assert.Equal(t, "admin daily", said.GetSecrets()[0].GetLabel()+" "+said.GetSecrets()[0].GetRotation())

	require.Zero(t, x.types("secret-grant "+id+" -r 7 --unit db/0").ExitCode)
	grant := x.controller.commits[2].GetSecrets()[0]
	assert.Equal(t, "r 0", grant.GetAccess().GetRelation()+" "+grant.GetAccess().GetUnit())
	require.Zero(t, x.types("secret-revoke "+id+" --app db").ExitCode)
	assert.Equal(t, "db", x.controller.commits[3].GetSecrets()[0].GetAccess().GetApplication())
	require.Zero(t, x.types("secret-set "+id+" --label boss").ExitCode)
	assert.Empty(t, x.controller.commits[4].GetSecrets()[0].GetContent())
	require.Zero(t, x.types("secret-remove "+id+" --revision 1").ExitCode)
	assert.EqualValues(t, 1, x.controller.commits[5].GetSecrets()[0].GetRevision())

	x.controller.content = map[string][]byte{"password": []byte("hunter3")}
	assert.Equal(t, "hunter3\n", string(x.types("secret-get secret:"+someID+" password --refresh --label db --format smart").Stdout))
	get := x.controller.gets[0]
	assert.Equal(t, someID+" db", get.GetId()+" "+get.GetLabel())
	assert.True(t, get.GetRefresh())

	x.controller.secrets = []*wire.Secret{{Id: someID, Revision: 2, Label: "admin", Access: []*wire.SecretAccess{{Relation: "r", Application: "db", Unit: "0"}}}}
	assert.Equal(t, someID+"\n", string(x.types("secret-ids").Stdout))
	info := string(x.types("secret-info-get " + someID).Stdout)
	assert.Contains(t, info, "revision: 2")
	assert.Contains(t, info, "target: db/0")
	assert.Contains(t, info, "scope: store:7")

	x.controller.err = &conversation.Error{Kind: conversation.NotYet, Message: "cannot read secret", Cure: "wait"}
	assert.Contains(t, string(x.types("secret-get "+someID).Stderr), "ERROR not-yet: cannot read secret; wait")
}

// elected returns the stage of a unit that leads, at the first turn about its relation.
func elected(t *testing.T) (*stage, Turn) {
	t.Helper()
	s := newStage(t)
	s.controller.leader = &wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 2}
	turn := s.next()
	for turn.Env[tool.RelationID] == "" { // leader-elected comes first
		s.done(turn, "")
		turn = s.next()
	}
	return s, turn
}

// In a handler a secret, its grant and what refers to it are one transaction: said
// when the handler succeeds, dropped when it fails; and the handler reads its own
// writes (RELATIONS.md E11, P5).
func TestSecretsOfAHandler(t *testing.T) {
	s, turn := elected(t)
	handles := func(turn Turn) string {
		added := s.types(turn, "secret-add", "--label", "admin", "password=hunter2")
		require.Zero(t, added.ExitCode, string(added.Stderr))
		id := strings.TrimSpace(string(added.Stdout))
		for _, words := range [][]string{{"secret-grant", id}, {"relation-set", "--app", "password=" + id}, {"secret-set", id, "password=hunter3", "--description", "d"}} {
			result := s.types(turn, words...)
			require.Zero(t, result.ExitCode, string(result.Stderr))
		}
		assert.Equal(t, "hunter3\n", string(s.types(turn, "secret-get", id, "password", "--format", "smart").Stdout), "it reads its own writes")
		assert.Equal(t, "hunter3\n", string(s.types(turn, "secret-get", "--label", "admin", "password", "--format", "smart").Stdout))
		info := string(s.types(turn, "secret-info-get", id).Stdout)
		assert.Contains(t, info, "revision: 2")
		assert.Contains(t, info, "description: d")
		assert.Contains(t, info, "target: db")
		return id
	}
	handles(turn)
	assert.Empty(t, s.controller.commits, "nobody heard of it yet")
	s.done(turn, "no")
	assert.Empty(t, s.controller.commits, "nothing of a handler that failed was ever stored")

	turn = s.next()
	id := handles(turn)
	s.done(turn, "")
	require.Len(t, s.controller.commits, 1)
	said := s.controller.commits[0]
	require.Len(t, said.GetSecrets(), 3)
	assert.Equal(t, id, "secret:"+said.GetSecrets()[0].GetId())
	assert.Equal(t, map[string]string{"password": id}, said.GetChanges()[0].GetSet())
	turn = s.next()
	gone := s.types(turn, "secret-add", "password=hunter2")
	id = strings.TrimSpace(string(gone.Stdout))
	require.Zero(t, s.types(turn, "secret-remove", id).ExitCode)
	assert.Contains(t, string(s.types(turn, "secret-get", id).Stderr), "ERROR gone: ")
	assert.Empty(t, s.types(turn, "secret-ids").Stdout, "what it removed is no more")
}

// A secret is not stored if its handler grants it only to a relation that has ended. The grant and the reference to it are
// dropped, so that it would have no reader, and no later handler could find it (RELATIONS.md E2, P5).
func TestSecretsOfALateHandler(t *testing.T) {
	for name, kept := range map[string]bool{"Granted": false, "OfNoRelation": true} {
		t.Run(name, func(t *testing.T) {
			s, turn := elected(t)
			s.done(turn, "") // the relation is known
			ended := heardAt(2)
			ended.Relations[0].Ended = true
			hear(s.agent, ended)
			turn = s.next()
			require.Contains(t, turn.Hook, "store-relation-")
			id := strings.TrimSpace(string(s.types(turn, "secret-add", "password=hunter2").Stdout))
			if !kept {
				require.Zero(t, s.types(turn, "secret-grant", id, "-r", turn.Env[tool.RelationID]).ExitCode)
				require.Zero(t, s.types(turn, "secret-set", id, "password=hunter3").ExitCode)
			}
			require.Zero(t, s.types(turn, "relation-set", "--app", "password="+id).ExitCode)
			s.done(turn, "")
			if kept {
				require.Len(t, s.controller.commits, 1)
				assert.Len(t, s.controller.commits[0].GetSecrets(), 1)
				return
			}
			assert.Empty(t, s.controller.commits)
		})
	}
}

// Names of secrets are of one form, and never the same.
func TestSecretIDs(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		id := newSecretID()
		_, err := tool.ParseSecretID(id)
		require.NoError(t, err)
		assert.False(t, seen[id])
		seen[id] = true
	}
}

// A secret that a bag of a living relation refers to is stored, also where it was granted for one that has ended alone: a
// handler may keep the ID with its peers, and grant it for other relations later (RELATIONS.md E11, P5).
func TestSecretThatALivingRelationRefersTo(t *testing.T) {
	for name, value := range map[string]string{"ID": "%s", "URI": "secret:%s", "Among": `{"uri": "secret:%s", "user": "a"}`} {
		t.Run(name, func(t *testing.T) {
			s, turn := elected(t)
			s.done(turn, "") // the relation is known
			ended := heardAt(2)
			ended.Relations[0].Ended = true
			ended.Relations = append(ended.Relations, &wire.Relation{Id: 8, Uid: "p", Endpoint: "ring", Role: "peer", RemoteApplication: "web", RemoteNamespace: "shop"})
			ended.Own = append(ended.Own, &wire.Own{Relation: "p", Bag: &wire.Databag{}, Application: &wire.Databag{}})
			hear(s.agent, ended)
			for turn = s.next(); !strings.HasPrefix(turn.Hook, "store-relation-"); turn = s.next() {
				s.done(turn, "") // the peers are known
			}
			id := strings.TrimSpace(string(s.types(turn, "secret-add", "password=hunter2").Stdout))
			require.Zero(t, s.types(turn, "secret-grant", id, "-r", turn.Env[tool.RelationID]).ExitCode)
			require.Zero(t, s.types(turn, "relation-set", "-r", "ring:8", "--app", "password="+fmt.Sprintf(value, strings.TrimPrefix(id, "secret:"))).ExitCode)
			s.done(turn, "")
			require.Len(t, s.controller.commits, 1)
			assert.Len(t, s.controller.commits[0].GetChanges(), 1)
			assert.Len(t, s.controller.commits[0].GetSecrets(), 1, "what refers to it is stored")
		})
	}
}

// A handler that learnt of the leadership in one term does not write in a later one: others have led in between, and it has
// not seen what they wrote (SAFETY.md P1).
func TestHandlerWritesInTheTermThatItLearntOf(t *testing.T) {
	s := newStage(t)
	turn := s.next()
	lead := func(response *wire.LeadResponse) string {
		s.controller.leader = response
		require.NoError(t, s.agent.speech.lead(t.Context(), false)) // as Run does
		return strings.TrimSpace(string(s.types(turn, "is-leader").Stdout))
	}
	require.Equal(t, "False", lead(&wire.LeadResponse{}))
	require.Equal(t, "True", lead(&wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 4}))
	require.Zero(t, s.types(turn, "secret-add", "password=hunter2").ExitCode)
	require.Equal(t, "False", lead(&wire.LeadResponse{Term: 5}))
	require.Equal(t, "True", lead(&wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 6}))
	s.done(turn, "")
	require.Len(t, s.controller.commits, 1)
	assert.EqualValues(t, 4, s.controller.commits[0].GetTerm())
}

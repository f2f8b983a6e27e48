package secrets

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/commits"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/settle"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

const (
	secretID = "9m4e2mr0ui3e8a215n4g"
	otherID  = "aaaae2mr0ui3e8a215n4"
)

// vault returns a shop whose blog is related to db by relation one, with commits and secrets.
func vault() (*kubetest.Strict, *commits.Commits, *Secrets) {
	server := kubetest.Shop()
	r := kubetest.Related("shop", "blog", "shop", "db")
	r.UID, r.ResourceVersion = "one", "5"
	server.Kept.Put(r)
	contents := Contents{Reader: server, Writer: server, Now: kubetest.Epoch}
	all := &commits.Commits{Reader: server, Writer: server, Now: kubetest.Epoch, Contents: &contents}
	return server, all, &Secrets{contents, commits.Pending{Cached: server.Kept, Commits: all}}
}

// asks returns a unit of the blog in the shop, related to other applications there.
func asks(number string, related ...string) []secret.Visitor {
	return []secret.Visitor{{Unit: secret.Unit{Application: "blog", Number: number}, Namespace: "shop", Related: related}}
}

func drafts(all ...secret.Draft) []secret.Draft { return all }

func adds(id, password string) secret.Draft {
	return secret.Draft{Write: secret.Write{Kind: secret.Add, ID: id}, Content: map[string][]byte{"password": []byte(password)}}
}

func sets(id, password string) secret.Draft {
	return secret.Draft{Write: secret.Write{Kind: secret.Set, ID: id}, Content: map[string][]byte{"password": []byte(password)}}
}

func does(kind secret.Kind, id string) secret.Draft {
	return secret.Draft{Write: secret.Write{Kind: kind, ID: id, Access: secret.Access{
		Relation: "one", Name: kubetest.Related("shop", "blog", "shop", "db").Name, Application: "blog",
	}}}
}

// reads returns the password that a unit of the blog reads.
func reads(t *testing.T, c *Secrets, q secret.Query) (string, error) {
	t.Helper()
	reading, err := c.Secret(t.Context(), asks("0", "db"), secretID, q)
	return string(reading.Content["password"]), err
}

// contentOf returns the values in all Secrets.
func contentOf(t *testing.T, s *kubetest.Strict) []string {
	t.Helper()
	var list corev1.SecretList
	require.NoError(t, s.Kept.List(t.Context(), &list))
	var all []string
	for _, s := range list.Items {
		assert.Contains(t, ContentSecrets(), s.Name, "no other Secret is written")
		for _, value := range s.Data {
			all = append(all, string(value))
		}
	}
	return all
}

// outsideOf returns as text all that is stored outside of Secrets.
func outsideOf(t *testing.T, s *kubetest.Strict) string {
	t.Helper()
	var all strings.Builder
	for _, objects := range s.Kept {
		for _, o := range objects {
			if _, isSecret := o.(*corev1.Secret); !isSecret {
				require.NoError(t, json.NewEncoder(&all).Encode(o))
			}
		}
	}
	return all.String()
}

// The other side can read a secret that a handler creates, grants and refers to. Its content is in Secrets alone
// (RELATIONS.md P5, SAFETY.md S2).
func TestSecretFromAddToGet(t *testing.T) {
	server, commits, secrets := vault()
	server.Kept.Put(kubetest.Changed("one")...)
	_, err := commits.Commit(t.Context(), kubetest.Commit(kubetest.Change("one", false, "password", "secret:"+secretID)), drafts(adds(secretID, "hunter2"), does(secret.Grant, secretID)))
	require.NoError(t, err)
	assert.Equal(t, map[string]map[string]string{"one/": {"password": "secret:" + secretID}}, kubetest.BagsOf(t, server))
	password, err := reads(t, secrets, secret.Query{})
	require.NoError(t, err)
	assert.Equal(t, "hunter2", password)
	assert.NotContains(t, outsideOf(t, server), "hunter2")

	t.Log("a new revision is read when the reader asks for it, and the old one is then removed")
	_, err = commits.Commit(t.Context(), kubetest.Commit(), drafts(sets(secretID, "hunter3")))
	require.NoError(t, err)
	for _, step := range []struct {
		q    secret.Query
		want string
	}{{secret.Query{}, "hunter2"}, {secret.Query{Peek: true}, "hunter3"}, {secret.Query{}, "hunter2"}, {secret.Query{Refresh: true}, "hunter3"}, {secret.Query{}, "hunter3"}} {
		password, err = reads(t, secrets, step.q)
		require.NoError(t, err)
		assert.Equal(t, step.want, password)
	}
	assert.Equal(t, []string{"hunter3"}, contentOf(t, server), "nobody can read the first any more")
	before := server.Writes
	_, err = reads(t, secrets, secret.Query{})
	require.NoError(t, err)
	assert.Equal(t, before, server.Writes, "reading again writes nothing")

	t.Log("what its owner may know")
	all, err := secrets.Secrets(t.Context(), "shop", "db", 1, "pod-1")
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, 2, all[0].Latest)
	none, err := secrets.Secrets(t.Context(), "shop", "db", 2, "pod-2")
	require.NoError(t, err)
	assert.Empty(t, none, "it does not lead")

	t.Log("taken back, and removed")
	_, err = commits.Commit(t.Context(), kubetest.Commit(), drafts(does(secret.Revoke, secretID)))
	require.NoError(t, err)
	_, err = reads(t, secrets, secret.Query{})
	require.ErrorIs(t, err, &conversation.Error{Kind: conversation.Forbidden})
	_, err = commits.Commit(t.Context(), kubetest.Commit(), drafts(secret.Draft{Write: secret.Write{Kind: secret.Remove, ID: secretID}}))
	require.NoError(t, err)
	_, err = reads(t, secrets, secret.Query{})
	require.ErrorIs(t, err, &conversation.Error{Kind: conversation.Gone})
	assert.Empty(t, contentOf(t, server))
}

// A handler that began before the relation's end can read until it is done, also for the first time. A unit that
// has handled the end reads nothing more (RELATIONS.md P2).
func TestGrantOutlivesItsRelationForHandlers(t *testing.T) {
	server, commits, secrets := vault()
	_, err := commits.Commit(t.Context(), kubetest.Commit(), drafts(adds(secretID, "hunter2"), does(secret.Grant, secretID)))
	require.NoError(t, err)
	r := kubetest.Related("shop", "blog", "shop", "db")
	require.NoError(t, server.Get(t.Context(), client.ObjectKeyFromObject(r), r))
	r.Status.EndReason = "Deleted"
	server.Keep(r)
	server.Keep(owing(r, 0))
	password, err := reads(t, secrets, secret.Query{})
	require.NoError(t, err)
	assert.Equal(t, "hunter2", password)
	_, err = secrets.Secret(t.Context(), asks("1", "db"), secretID, secret.Query{})
	require.ErrorIs(t, err, &conversation.Error{Kind: conversation.Gone}, "its handlers have handled the end")
}

// owing returns the side of a relation's requirer, which owes the end to one unit.
func owing(r *v1alpha1.Relation, unit int) *v1alpha1.RelationSide {
	d, _ := convert.ToRelation(r)
	return convert.ForRelationSide(relation.Side{
		Key: d.Key, Role: application.Requirer, Relation: d.UID, ID: 7, Interface: "db", Known: true,
		Teardown: &relation.Teardown{Since: kubetest.Epoch(), Reason: "Deleted", Debt: conversation.Debt{
			Owed: []conversation.Unit{{Application: d.Requirer.Application, Number: unit}},
		}},
	})
}

// A grant ends with its relation: nothing can be read after the end is handled, or by a new relation of the same
// name.
func TestGrantEndsWithItsRelation(t *testing.T) {
	for name, end := range map[string]func(*v1alpha1.Relation){
		"Ended": func(r *v1alpha1.Relation) { r.Status.EndReason = "Deleted" },
		"Anew":  func(r *v1alpha1.Relation) { r.UID = "two" },
	} {
		t.Run(name, func(t *testing.T) {
			server, commits, secrets := vault()
			_, err := commits.Commit(t.Context(), kubetest.Commit(), drafts(adds(secretID, "hunter2"), does(secret.Grant, secretID)))
			require.NoError(t, err)
			_, err = reads(t, secrets, secret.Query{})
			require.NoError(t, err)
			r := kubetest.Related("shop", "blog", "shop", "db")
			require.NoError(t, server.Get(t.Context(), client.ObjectKeyFromObject(r), r))
			end(r)
			server.Keep(r)
			_, err = reads(t, secrets, secret.Query{})
			require.ErrorIs(t, err, &conversation.Error{Kind: conversation.Gone})
		})
	}
}

// A refused write of secrets changes nothing, and no error holds a value.
func TestSecretRefuses(t *testing.T) {
	labelled := adds(otherID, "hunter2")
	labelled.Label = "admin"
	twin := adds(secretID, "hunter2")
	twin.Label = "admin"
	follower := transaction.Commit{Namespace: "shop", Application: "db", Unit: 2, PodUID: "pod-2", Term: 3}
	tests := map[string]struct {
		why    string
		commit transaction.Commit
		drafts []secret.Draft
		want   error
	}{
		"NotTheLeader": {why: "another unit leads", commit: follower, drafts: drafts(adds(secretID, "hunter2")), want: &conversation.Error{Kind: conversation.Forbidden}},
		"Foreign":      {why: "another application", commit: transaction.Commit{Namespace: "shop", Application: "blog", PodUID: "pod-b"}, drafts: drafts(sets(otherID, "hunter3")), want: &conversation.Error{Kind: conversation.Forbidden}},
		"Unknown":      {why: "none of that name", commit: kubetest.Commit(), drafts: drafts(sets(secretID, "hunter2")), want: &conversation.Error{Kind: conversation.Gone}},
		"SecondFails":  {why: "one of two fails: none is stored", commit: kubetest.Commit(), drafts: drafts(adds(secretID, "hunter2"), sets("x", "hunter2")), want: &conversation.Error{Kind: conversation.Gone}},
		"BagFails":     {why: "the bag is refused: no secret is stored", commit: kubetest.Commit(kubetest.Change("one", true, "a", string(make([]byte, 64<<10+1)))), drafts: drafts(adds(secretID, "hunter2")), want: transaction.ErrInvalid},
		"BadKey":       {why: "no key at all", commit: kubetest.Commit(), drafts: drafts(secret.Draft{Write: secret.Write{Kind: secret.Add, ID: secretID}, Content: map[string][]byte{"hunter2!": []byte("hunter2")}}), want: &conversation.Error{Kind: conversation.Invalid}},
		"LabelTwice":   {why: "a label names one secret", commit: kubetest.Commit(), drafts: drafts(twin), want: &conversation.Error{Kind: conversation.Invalid}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server, commits, _ := vault()
			_, err := commits.Commit(t.Context(), kubetest.Commit(), drafts(labelled))
			require.NoError(t, err)
			before := server.Writes
			_, err = commits.Commit(t.Context(), test.commit, test.drafts)
			require.ErrorIs(t, err, test.want, test.why)
			assert.NotContains(t, err.Error(), "hunter")
			assert.Equal(t, before, server.Writes, test.why)
			assert.NotContains(t, outsideOf(t, server), "hunter")
		})
	}
}

// A process that dies at any write leaves a transaction stored whole or not at all, once the next process has
// delivered it. No reference is ever visible without its grant: from the commit point on the secret is read as it was
// committed (SAFETY.md E11, RELATIONS.md P5, TRUST.md T10).
func TestSecretAndReferenceAreOne(t *testing.T) {
	reference := kubetest.Change("one", false, "password", "secret:"+secretID)
	transaction := func(commits *commits.Commits) error {
		_, err := commits.Commit(t.Context(), kubetest.Commit(reference, kubetest.Change("one", true, "ready", "yes")), drafts(adds(secretID, "hunter2"), does(secret.Grant, secretID), adds(otherID, "hunter3")))
		return err
	}
	whole, commits, _ := vault()
	whole.Kept.Put(kubetest.Changed("one")...)
	require.NoError(t, transaction(commits))
	want := kubetest.BagsOf(t, whole)
	for most := 1; most < whole.Writes; most++ {
		server, commits, secrets := vault()
		server.Kept.Put(kubetest.Changed("one")...)
		server.Most = most
		require.ErrorIs(t, transaction(commits), kubetest.ErrGone)
		server.Most = 0
		outbox := object.Named(&v1alpha1.Databag{}, "shop", relation.OutboxName("db", "1"))
		if server.Get(t.Context(), client.ObjectKeyFromObject(outbox), outbox) == nil && convert.Holds(outbox) {
			_, err := reads(t, secrets, secret.Query{Peek: true})
			require.NoError(t, err, "after %d writes views show the reference", most)
		}
		next := settle.Settler{Reader: server.Kept, Live: server, Writer: server, Events: events.NewFakeRecorder(10), Now: kubetest.Epoch, Outboxes: commits}
		snapshot, err := next.Observe(t.Context(), "shop")
		require.NoError(t, err)
		for _, outbox := range snapshot.Outboxes {
			require.NoError(t, next.Apply(t.Context(), "shop", relation.Deliver{Outbox: outbox}))
			require.NoError(t, next.Apply(t.Context(), "shop", relation.Deliver{Outbox: outbox}), "twice is once")
		}
		password, err := reads(t, secrets, secret.Query{})
		if bags := kubetest.BagsOf(t, server); len(bags) > 0 {
			require.NoError(t, err)
			assert.Equal(t, "hunter2", password)
			assert.Equal(t, want, bags, "after %d writes", most)
		} else {
			require.ErrorIs(t, err, &conversation.Error{Kind: conversation.Gone}, "before its commit point nothing is there, after %d writes", most)
		}
	}
}

// A deposed leader's write of a secret that its successor has changed is dropped, with all that may refer to it
// (SAFETY.md P1, RELATIONS.md P5).
func TestDeposedLeadersSecretIsDropped(t *testing.T) {
	server, commits, secrets := vault()
	_, err := commits.Commit(t.Context(), kubetest.Commit(), drafts(adds(secretID, "hunter2")))
	require.NoError(t, err)
	server.Most = server.Writes + 1 // the outbox is written
	_, err = commits.Commit(t.Context(), kubetest.Commit(kubetest.Change("one", false, "password", "secret:"+secretID)), drafts(does(secret.Grant, secretID)))
	require.ErrorIs(t, err, kubetest.ErrGone)
	server.Most = 0
	var app v1alpha1.RelatedApplication
	require.NoError(t, server.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "db"}, &app))
	convert.SetLeader(&app, leadership.Leader{Unit: 2, PodUID: "pod-2", Term: 4, Expires: kubetest.Epoch().Add(time.Minute)})
	require.NoError(t, server.Status().Update(t.Context(), &app))
	_, err = commits.Commit(t.Context(), transaction.Commit{Namespace: "shop", Application: "db", Unit: 2, PodUID: "pod-2", Term: 4}, drafts(sets(secretID, "hunter4")))
	require.NoError(t, err)
	w := settle.Settler{Reader: server.Kept, Live: server, Writer: server, Events: events.NewFakeRecorder(10), Now: kubetest.Epoch, Outboxes: commits}
	require.NoError(t, w.Apply(t.Context(), "shop", relation.Deliver{Outbox: relation.Outbox{Application: "db", Unit: "1"}}))
	_, err = reads(t, secrets, secret.Query{})
	require.ErrorIs(t, err, &conversation.Error{Kind: conversation.NotYet})
	assert.Empty(t, kubetest.BagsOf(t, server), "nothing refers to what is not granted")
}

// Content goes to another Secret if one is full.
func TestContentFindsRoom(t *testing.T) {
	server, commits, secrets := vault()
	for i := range shards - 1 {
		full := object.Named(&corev1.Secret{}, "shop", ContentSecret(i))
		full.ResourceVersion, full.UID = "7", types.UID(full.Name)
		full.Data = map[string][]byte{"x.y": make([]byte, maxShard)}
		server.Kept.Put(full)
	}
	_, err := commits.Commit(t.Context(), kubetest.Commit(), drafts(adds(secretID, "hunter2"), does(secret.Grant, secretID)))
	require.NoError(t, err)
	var last corev1.Secret
	require.NoError(t, server.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: ContentSecret(shards - 1)}, &last))
	assert.Len(t, last.Data, 1)
	last.Data["x.y"] = make([]byte, maxShard)
	require.NoError(t, server.Update(t.Context(), &last))
	_, err = commits.Commit(t.Context(), kubetest.Commit(), drafts(sets(secretID, "hunter3")))
	require.ErrorIs(t, err, &conversation.Error{Kind: conversation.Invalid})
	password, err := reads(t, secrets, secret.Query{})
	require.NoError(t, err)
	assert.Equal(t, "hunter2", password)
}

// The label of a unit is its own, and names one secret.
func TestSecretByLabel(t *testing.T) {
	_, commits, secrets := vault()
	_, err := commits.Commit(t.Context(), kubetest.Commit(), drafts(adds(secretID, "hunter2"), does(secret.Grant, secretID), adds(otherID, "hunter3"), does(secret.Grant, otherID)))
	require.NoError(t, err)
	_, err = secrets.Secret(t.Context(), asks("0"), secretID, secret.Query{Label: "admin"})
	require.NoError(t, err)
	reading, err := secrets.Secret(t.Context(), asks("0"), "", secret.Query{Label: "admin"})
	require.NoError(t, err)
	assert.Equal(t, secretID, reading.ID)
	_, err = secrets.Secret(t.Context(), asks("0"), otherID, secret.Query{Label: "admin"})
	require.ErrorIs(t, err, &conversation.Error{Kind: conversation.Invalid})
	_, err = secrets.Secret(t.Context(), asks("1"), "", secret.Query{Label: "admin"})
	require.ErrorIs(t, err, &conversation.Error{Kind: conversation.Gone}, "another unit's label")
}

// A sweep removes the content of a transaction that was never committed, the grant of a relation that is gone, and
// the secret of a forgotten unit. It keeps the secret of an application (SAFETY.md E13, E14).
func TestVaultIsSwept(t *testing.T) {
	server, commits, secrets := vault()
	_, err := commits.Commit(t.Context(), kubetest.Commit(), drafts(adds(secretID, "hunter2"), does(secret.Grant, secretID)))
	require.NoError(t, err)
	own := adds(otherID, "hunter3")
	own.Own = true
	_, err = commits.Commit(t.Context(), transaction.Commit{Namespace: "shop", Application: "db", Unit: 5, PodUID: "pod-5"}, drafts(own))
	require.NoError(t, err)
	_, err = secrets.Store(t.Context(), "shop", secretID, map[string][]byte{"password": []byte("hunter4")})
	require.NoError(t, err)
	assert.Len(t, contentOf(t, server), 3)

	var app v1alpha1.RelatedApplication
	require.NoError(t, server.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "db"}, &app))
	app.State.NextUnit, app.State.Units = 6, []v1alpha1.Unit{{Number: 1}}
	require.NoError(t, server.Update(t.Context(), &app))
	r := kubetest.Related("shop", "blog", "shop", "db")
	require.NoError(t, server.Get(t.Context(), client.ObjectKeyFromObject(r), r))
	r.UID = "two"
	server.Keep(r)

	later := secrets.Contents
	later.Now = func() time.Time { return kubetest.Epoch().Add(25 * time.Hour) }
	v := &Vault{Contents: later, Cached: server}
	for range 2 {
		snapshot, err := v.Observe(t.Context(), "shop")
		require.NoError(t, err)
		for _, d := range secret.Sweep(snapshot) {
			require.NoError(t, v.Apply(t.Context(), "shop", d))
		}
	}
	assert.Equal(t, []string{"hunter2"}, contentOf(t, server))
	all, err := object.SecretsOf(t.Context(), server, "shop")
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Empty(t, all[0].Access, "its relation is over")
	snapshot, err := v.Observe(t.Context(), "shop")
	require.NoError(t, err)
	assert.Empty(t, secret.Sweep(snapshot), "twice is once")
}

package integration

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/history"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// because commits changes with a cause.
func (s *speaker) because(w *controllerWorld, cause string, term int64, changes ...*wire.Change) error {
	_, err := s.api.Commit(w.ctx, asking(s, &wire.CommitRequest{Term: term, Changes: changes, Cause: cause}))
	return err
}

// orcon is the command line, in the hands of somebody who may view the namespace.
type orcon struct {
	w                   *controllerWorld
	program, kubeconfig string
}

func (w *controllerWorld) orcon(user string) *orcon {
	w.t.Helper()
	w.allow(user, "orcon-view")
	return &orcon{w, controlplane.Binary(w.t, "orcon"), w.kubeconfigOf(user)}
}

// run returns what the command printed, and its exit code.
func (o *orcon) run(arguments ...string) (out string, code int) {
	o.w.t.Helper()
	command := exec.CommandContext(o.w.ctx, o.program, append(arguments, "--kubeconfig", o.kubeconfig, "-n", o.w.namespace)...)
	text, err := command.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		o.w.t.Logf("orcon %s: %s", strings.Join(arguments, " "), failed.Stderr)
		return string(text), failed.ExitCode()
	}
	require.NoError(o.w.t, err)
	return string(text), 0
}

// record returns the entries of a relation, one line each.
func (o *orcon) record(name string) (entries []history.Entry, lines []string) {
	o.w.t.Helper()
	out, code := o.run("record", name)
	require.Zero(o.w.t, code)
	entries, err := history.Parse([]byte(out))
	require.NoError(o.w.t, err)
	for _, e := range entries {
		keys := []string{strconv.FormatInt(e.Sequence, 10), e.Who, e.Cause, e.Owner}
		for _, of := range []struct {
			sign string
			bag  map[string]string
		}{{"+", e.Added}, {"~", e.Changed}} {
			for k, v := range of.bag {
				keys = append(keys, of.sign+k+"="+v)
			}
		}
		for _, k := range e.Removed {
			keys = append(keys, "-"+k)
		}
		lines = append(lines, strings.Join(keys, " "))
	}
	return entries, lines
}

// Several units and leaders of two applications speak, keys come and go, a controller
// dies in a transaction and others take over: the record says all of it, and leads to
// what is stored. Who may also read databags reads it, which view does not permit, and a bag that somebody
// changed behind its back is found (SAFETY.md P2, E11, RELATIONS.md P5).
func TestControllerRecordsTheConversation(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	shop := w.consumer("web", consumes("store:redis", "cache"))
	shop.Spec.Replicas = new(int32(2))
	cache := w.consumer("cache", map[string]string{application.KeyProvides: "main:redis"})
	cache.Annotations = map[string]string{application.PrefixData + "main": "port: '6379'"}
	w.create(cache, shop)
	var pods corev1.PodList
	w.eventually("two units", func() bool {
		require.NoError(t, w.admin.List(w.ctx, &pods, client.InNamespace(w.namespace), client.MatchingLabels{"app": "web"}))
		return len(pods.Items) == 2
	})
	db := w.speaker(c, "cache", "10.9.1.1")
	one, two := w.speakerOf(c, &pods.Items[0], "10.9.1.2"), w.speakerOf(c, &pods.Items[1], "10.9.1.3")
	all := []*speaker{db, one, two}
	for _, s := range all {
		hears(t, s.stream, "the relation", func(s *wire.Snapshot) bool { return len(s.GetOwn()) == 1 && s.GetUnit().GetKnown() })
	}
	r := w.relations()["cache"]
	uid := r.State.Identity

	t.Log("units and leaders speak")
	term := w.leads(one)
	require.NoError(t, one.because(w, "relation-set", term, change(uid, false, "zone", "a"), change(uid, true, "ask", "1")))
	require.NoError(t, two.because(w, "relation-set", 0, change(uid, false, "zone", "b")))
	require.NoError(t, two.because(w, "store-relation-changed (cache)", 0, &wire.Change{Relation: uid, Set: map[string]string{"zone": "", "rack": "9"}}))
	require.NoError(t, two.because(w, "nothing new", 0, change(uid, false, "rack", "9")))
	require.NoError(t, db.because(w, strings.Repeat("long ", 60), w.leads(db), &wire.Change{Relation: uid, Application: true, Set: map[string]string{"host": "c", "password": "secret:c6b9fk2t7m0q3v8x1z5d"}}))
	w.change(cache, func() { cache.Annotations[application.PrefixData+"main"] = "port: '6380'" })
	w.eventually("what is declared is stored", func() bool {
		var declared v1alpha1.Databag
		require.NoError(t, w.admin.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: relation.DatabagName("cache", "main")}, &declared))
		return declared.State.Data["port"] == "6380"
	})

	t.Log("another leads, and the controller dies when its transaction is committed")
	_, err := one.api.Lead(w.ctx, asking(one, &wire.LeadRequest{Resign: true}))
	require.NoError(t, err)
	second := w.leads(two)
	require.Greater(t, second, term)
	c.stop()
	dying := w.controllerOf(2, "/namespaces/"+w.namespace+"/databags") // the outbox is made, and filled
	two.turnTo(t, dying)
	require.Error(t, two.because(w, "store-relation-changed (cache/0)", second, change(uid, true, "ask", "2"), change(uid, false, "rack", "10")))
	<-dying.done
	c = w.controller(-1)
	two.turnTo(t, c)
	w.eventually("the transaction, whole", func() bool {
		s, err := two.api.Get(w.ctx, asking(two, &wire.GetRequest{}))
		if err != nil {
			return false // it is on its way
		}
		own := s.Msg.GetSnapshot().GetOwn()
		return len(own) == 1 && own[0].GetBag().GetData()["rack"] == "10" && own[0].GetApplication().GetData()["ask"] == "2"
	})
	require.NoError(t, two.because(w, "relation-set", second, change(uid, true, "ask", "")))

	t.Log("what the command line reads is what happened")
	cli := w.orcon("viewer")
	_, code := cli.run("record", r.Name)
	assert.Equal(t, 2, code)
	w.allow("viewer", "orcon-databags")
	w.eventually("the databags are readable", func() bool { _, code := cli.run("record", r.Name); return code == 0 })
	entries, lines := cli.record(strconv.FormatInt(r.State.ID, 10))
	who := func(s *speaker) string {
		i := 0
		for _, u := range w.app("web").State.Units {
			if u.PodUID == string(s.pod.UID) {
				i = int(u.Number)
			}
		}
		return "web/" + strconv.Itoa(i)
	}
	for _, want := range []string{
		"1 controller declared cache +port=6379",
		"2 controller declared cache ~port=6380",
		"1 " + who(one) + " relation-set " + who(one) + " +zone=a",
		"1 " + who(one) + " relation-set web +ask=1",
		"1 " + who(two) + " relation-set " + who(two) + " +zone=b",
		"2 " + who(two) + " store-relation-changed (cache) " + who(two) + " +rack=9 -zone",
		"3 " + who(two) + " store-relation-changed (cache/0) " + who(two) + " ~rack=10",
		"2 " + who(two) + " store-relation-changed (cache/0) web ~ask=2",
		"3 " + who(two) + " relation-set web -ask",
	} {
		assert.Contains(t, lines, want)
	}
	assert.Len(t, lines, 10, "%s", strings.Join(lines, "\n"))
	whole, code := cli.run("record", r.Name)
	require.Zero(t, code, "by its name too")
	assert.NotContains(t, whole, "secret:", "RELATIONS.md P5")
	assert.Contains(t, whole, `"password":""`)
	for i, e := range entries {
		assert.LessOrEqual(t, len(e.Cause), 200)
		assert.Equal(t, e.Owner == "web" && e.Sequence > 1, e.Term == int(second), "the term of who led: %s", lines[i])
		assert.Equal(t, strings.Contains(e.Cause, "(cache/0)") || e.Who == who(one), e.Transaction != "", lines[i])
	}

	t.Log("it leads to what is stored")
	out, code := cli.run("record", r.Name, "--replay")
	require.Zero(t, code, out)
	var bags v1alpha1.DatabagList
	require.NoError(t, w.admin.List(w.ctx, &bags, client.InNamespace(w.namespace)))
	stored := map[conversation.Address]map[string]string{}
	for _, b := range bags.Items {
		if b.Spec.Purpose != v1alpha1.PurposeOutbox {
			stored[convert.ToAddress(&b)] = b.State.Data
		}
	}
	for line := range strings.Lines(out) {
		var to history.Replayed
		require.NoError(t, json.Unmarshal([]byte(line), &to))
		assert.True(t, to.Whole, line)
		want := stored[to.Address]
		require.Len(t, to.Bag, len(want), line)
		for k, v := range to.Bag {
			assert.True(t, v == want[k] || k == "password" && v == "", line)
		}
		delete(stored, to.Address)
	}
	assert.Empty(t, stored, "each bag has a record")

	t.Log("another controller finds all said, and writes nothing")
	w.marker("before")
	before := w.versions()
	c.stop()
	c = w.controller(-1)
	w.marker("after")
	assert.Equal(t, before, w.versions(), "a resync writes nothing (SAFETY.md D12)")
	assert.Zero(t, c.refused.Load())

	t.Log("the largest bag is stored with its record, which leaves its values out and says so")
	two.turnTo(t, c)
	large := map[string]string{}
	for i := range 8 {
		large["large-"+strconv.Itoa(i)] = strings.Repeat("x", 63<<10)
	}
	require.NoError(t, two.because(w, "relation-set", 0, &wire.Change{Relation: uid, Set: large}))
	out, code = cli.run("record", r.Name)
	require.Zero(t, code)
	assert.Contains(t, out, `"tooLong":["large-0","large-1"`)
	assert.Less(t, len(out), 32<<10)
	_, code = cli.run("record", r.Name, "--replay")
	assert.Zero(t, code)

	t.Log("a bag that was changed behind the record's back is found")
	for _, b := range bags.Items {
		if b.Spec.Relation == uid && b.Spec.Application == "cache" {
			require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(&b), &b))
			b.State.Data["host"] = "evil"
			require.NoError(t, w.admin.Update(w.ctx, &b))
		}
	}
	out, code = cli.run("record", r.Name, "--replay")
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "host: another value is stored")
	assert.NotContains(t, out, "evil")
	_, code = cli.run("record", "99")
	assert.Equal(t, 2, code)
	stranger := &orcon{w, cli.program, w.kubeconfigOf("stranger")}
	_, code = stranger.run("record", r.Name)
	assert.Equal(t, 2, code, "whoever may not view the namespace reads nothing")
}

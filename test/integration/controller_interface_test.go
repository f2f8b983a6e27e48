package integration

import (
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// publish publishes an interface until the test ends.
func (w *controllerWorld) publish(spec string) *v1alpha1.Interface {
	w.t.Helper()
	o := &v1alpha1.Interface{}
	require.NoError(w.t, yaml.Unmarshal([]byte("spec: "+spec), o))
	o.Name = schema.ObjectName(o.Spec.Name, int(o.Spec.Version))
	w.create(o)
	w.t.Cleanup(func() { _ = w.admin.Delete(w.t.Context(), o) })
	return o
}

// found waits for what is said of an interface.
func (w *controllerWorld) found(name, ready string) v1alpha1.Interface {
	w.t.Helper()
	var o v1alpha1.Interface
	w.eventually(name+" "+ready, func() bool {
		require.NoError(w.t, w.admin.Get(w.ctx, client.ObjectKey{Name: name}, &o))
		return reason(o.Status.Conditions, "Ready") == ready
	})
	return o
}

// Interfaces are published as objects: each says whether it is in force, and if not,
// where it is wrong and what to do (SAFETY.md S5, C1).
func TestControllerJudgesInterfaces(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	unique := strings.ReplaceAll(w.namespace, "-", "_")

	t.Log("the example is in force")
	root, err := controlplane.Root()
	require.NoError(t, err)
	example := filepath.Join(root, "deployment", "examples", "interface.yaml")
	w.cluster.Kubectl(t, "apply", "-f", example)
	o := w.found("feature-flags-v1", schema.ReasonPublished)
	assert.Equal(t, v1alpha1.OriginCluster, o.Status.Origin)
	assert.EqualValues(t, 1, o.Status.ObservedGeneration)
	assert.Contains(t, w.cluster.Kubectl(t, "get", "iface"), "feature_flags")
	w.cluster.Kubectl(t, "delete", "-f", example)

	t.Log("what is wrong says where and why")
	broken := w.publish("{name: " + unique + "_broken, version: 1, description: d, provider: {application: {secrets: [password], schema: {properties: {password: {description: A secret., type: integer}}}}}}")
	o = w.found(broken.Name, "!"+schema.ReasonInvalid)
	message := meta.FindStatusCondition(o.Status.Conditions, "Stalled").Message
	assert.Contains(t, message, "provider/application/schema/properties/password/type: a bag holds strings")
	assert.Contains(t, message, "provider/application/secrets: there is no such field here; write one of ready, secret, schema, examples", "what is misspelt is not lost on the way")
	assert.Equal(t, metav1.ConditionFalse, meta.FindStatusCondition(o.Status.Conditions, "Reconciling").Status)
	misspelt := w.publish("{name: " + unique + "_misspelt, version: 1, description: d, requirr: {}}")
	assert.Contains(t, meta.FindStatusCondition(w.found(misspelt.Name, "!"+schema.ReasonInvalid).Status.Conditions, "Ready").Message, "requirr: there is no such field here")

	t.Log("what ships with Orcon is not replaced, but gone on with")
	o = w.found(w.publish("{name: sse, version: 1, description: mine}").Name, "!"+schema.ReasonBuiltIn)
	assert.Equal(t, v1alpha1.OriginBuiltIn, o.Status.Origin)
	o = w.found(w.publish("{name: sse, version: 2, description: d, provider: {application: {ready: [topic], schema: {properties: {topic: {description: Which.}}}}}}").Name, schema.ReasonPublished)
	assert.Equal(t, schema.ReasonBreaks, reason(o.Status.Conditions, "Incompatible"))

	t.Log("a published version is immutable, and an object has its interface's name")
	for what, change := range map[string]func(*v1alpha1.Interface){
		"description": func(o *v1alpha1.Interface) { o.Spec = specOf(t, strings.Replace(textOf(t, o), `"d"`, `"e"`, 1)) },
		"a schema":    func(o *v1alpha1.Interface) { o.Spec = specOf(t, strings.Replace(textOf(t, o), "Which.", "What.", 1)) },
		"a renamed bag": func(o *v1alpha1.Interface) {
			o.Spec = specOf(t, strings.Replace(textOf(t, o), `"application"`, `"unit"`, 1))
		},
	} {
		var now v1alpha1.Interface
		require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(&o), &now))
		change(&now)
		if err := w.admin.Update(w.ctx, &now); err == nil {
			w.found(now.Name, "!"+schema.ReasonChanged)
			t.Logf("the API server lets %s change; the controller does not", what)
		} else {
			assert.True(t, apierrors.IsInvalid(err), "%v", err)
			assert.ErrorContains(t, err, "a published version cannot be changed: publish another version")
		}
	}
	misnamed := &v1alpha1.Interface{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}, Spec: specOf(t, `{"name":"a_b","version":1,"description":"d"}`)}
	w.create(misnamed)
	assert.Contains(t, meta.FindStatusCondition(w.found(misnamed.Name, "!"+schema.ReasonName).Status.Conditions, "Ready").Message, "is published as a-b-v1")
	require.NoError(t, w.admin.Delete(w.ctx, misnamed))
	assert.Zero(t, c.refused.Load(), "deployment/rbac grants what the controller needs")
}

func specOf(t *testing.T, text string) (s v1alpha1.InterfaceSpec) {
	t.Helper()
	require.NoError(t, s.UnmarshalJSON([]byte(text)))
	return s
}

func textOf(t *testing.T, o *v1alpha1.Interface) string {
	t.Helper()
	text, err := o.Spec.MarshalJSON()
	require.NoError(t, err)
	return string(text)
}

// A shop asks for a database by an interface that ships with Orcon: it waits for the
// fields that the interface marks as ready, a secret in plain text is refused, and
// the rest is refused where the namespace enforces and told where it does not
// (RELATIONS.md P4, P5, SAFETY.md V5).
func TestControllerHoldsAConversationToItsInterface(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	w.create(w.consumer("db", map[string]string{application.KeyProvides: "main:postgresql_client"}), w.consumer("web", consumes("store:postgresql_client", "db")))
	web, db := w.speaker(c, "web", "10.9.1.1"), w.speaker(c, "db", "10.9.1.2")
	complete := func(what string, complete bool, message string) *wire.Relation {
		return hears(t, web.stream, what, func(s *wire.Snapshot) bool {
			return len(s.GetRelations()) == 1 && s.GetRelations()[0].GetComplete() == complete && strings.Contains(s.GetRelations()[0].GetMessage(), message)
		}).GetRelations()[0]
	}
	uid := complete("for what it waits", false, "db:main has not provided database, host, password, username yet; web:store must set database first").GetUid()
	hears(t, db.stream, "its number", func(s *wire.Snapshot) bool { return s.GetUnit().GetKnown() })
	lead, err := db.api.Lead(w.ctx, asking(db, &wire.LeadRequest{}))
	require.NoError(t, err)
	say := func(set map[string]string) error {
		return db.commit(w.ctx, lead.Msg.GetTerm(), &wire.Change{Relation: uid, Application: true, Set: set})
	}
	invalid := func(err error, at string) {
		t.Helper()
		require.Error(t, err)
		assert.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err))
		assert.Contains(t, err.Error(), at)
		assert.NotContains(t, err.Error(), "hunter2")
	}

	t.Log("a secret in plain text is refused, with the command that does it right")
	invalid(say(map[string]string{"host": "db", "password": "hunter2"}), "password: the field is secret and its value is not a reference to a secret; expected secret:<id>: run id=$(secret-add password#file=FILE)")
	assert.Empty(t, w.bag("db").State.Data, "refused whole")

	t.Log("what does not fit is stored and told, as long as nobody enforces")
	require.NoError(t, say(map[string]string{"host": "db", "port": "hunter2", "database": "orders", "password": "secret:c6b9fk2t7m0q3v8x1z5d"}))
	complete("what is missing", false, "db:main has not provided username yet")
	w.eventually("it is told", func() bool {
		return reason(w.relations()["db"].Status.Conditions, "SchemaViolated") == relation.ReasonViolated
	})
	told := meta.FindStatusCondition(w.relations()["db"].Status.Conditions, "SchemaViolated").Message
	assert.Contains(t, told, "db:main: port: it does not match the pattern")
	assert.NotContains(t, told, "hunter2")

	t.Log("the last field completes it")
	require.NoError(t, say(map[string]string{"username": "u"}))
	complete("the answer", true, "the relation works, but see condition SchemaViolated")

	t.Log("where the namespace enforces it is refused")
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	w.change(ns, func() { ns.Labels[application.LabelSchema] = "enforce" })
	w.eventually("refused", func() bool { return say(map[string]string{"port": "hunter2", "tls": "false"}) != nil })
	invalid(say(map[string]string{"port": "hunter2"}), "(postgresql_client@1 provider/application/schema/properties/port/pattern)")
	require.NoError(t, say(map[string]string{"port": "5432"}))
	complete("the answer fits", true, "web:store has the data that it needs from db:main")
	w.eventually("mended", func() bool { return reason(w.relations()["db"].Status.Conditions, "SchemaViolated") == "" })
	assert.Zero(t, c.refused.Load(), "deployment/rbac grants what the controller needs")
}

// An interface that the cluster publishes concerns relations that are there, without
// a restart of anything, and its withdrawal too (SAFETY.md S5, V5).
func TestControllerFollowsInterfaces(t *testing.T) {
	w := newControllerWorld(t)
	w.controller(-1)
	name := w.namespace
	s := w.provider("db", "db.example.org")
	s.Labels[application.KeyProvides] = name
	w.create(s, w.consumer("web", consumes(name, "db")))
	w.becomes("db", relation.ReasonComplete)
	o := w.publish("{name: " + name + ", version: 1, description: d, provider: {application: {ready: [user], schema: {properties: {user: {description: Who.}}}}}}")
	w.becomes("db", "!"+relation.ReasonMissing)
	message := meta.FindStatusCondition(w.relations()["db"].Status.Conditions, "Ready").Message
	assert.Equal(t, "db:"+name+" has not provided user yet", message)
	w.change(s, func() { s.Annotations = map[string]string{application.PrefixData + name: "user: me"} })
	w.becomes("db", relation.ReasonComplete)
	w.change(s, func() { s.Annotations = nil })
	w.becomes("db", "!"+relation.ReasonMissing)
	require.NoError(t, w.admin.Delete(w.ctx, o))
	w.becomes("db", relation.ReasonComplete)
}

package kube

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// published is an object that the API server has as it was written.
func published(t *testing.T, spec string) *v1alpha1.Interface {
	t.Helper()
	o := &v1alpha1.Interface{}
	require.NoError(t, yaml.Unmarshal([]byte("spec: "+spec), o))
	o.Name = schema.ObjectName(o.Spec.Name, int(o.Spec.Version))
	o.UID, o.ResourceVersion, o.Generation = types.UID("uid-"+o.Name), "7", 1
	return o
}

func namespaceOf(name, mode string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{application.LabelSchema: mode}}}
}

func interfaces(t *testing.T, server *strict) *Interfaces {
	t.Helper()
	i, err := NewInterfaces(server.kept)
	require.NoError(t, err)
	i.Writer, i.Now = server, epoch
	return i
}

const flags = "{name: flags, version: 1, description: Flags., provider: {application: {secret: [token], ready: [url], schema: {properties: {url: {description: Where., pattern: ^http}, token: {description: A secret.}}}}}}"

// Interfaces are those that ship with Orcon and those that are published and right;
// one that is deleted is unknown again (SAFETY.md S5).
func TestInterfaces(t *testing.T) {
	server := &strict{kept: memory{}}
	i := interfaces(t, server)
	find := func(name string, version int) bool {
		_, found := i.Find(t.Context(), name, version)
		return found
	}
	assert.True(t, find("sse", 0))
	assert.False(t, find("flags", 0))
	o := published(t, flags)
	server.kept.put(o, published(t, "{name: sse, version: 1, description: mine}"), published(t, "{name: broken, version: 1, description: d, requier: {}}"))
	assert.True(t, find("flags", 1))
	assert.False(t, find("flags", 2))
	assert.False(t, find("broken", 1), "a misspelt word is kept, and told")
	sse, _ := i.Find(t.Context(), "sse", 1)
	assert.NotEqual(t, "mine", sse.Description, "what ships with Orcon is not replaced")
	changed := o.DeepCopy()
	changed.Generation = 2
	server.kept.put(changed)
	assert.False(t, find("flags", 1), "what was changed after it was published is not what was published")
	clear(server.kept)
	assert.False(t, find("flags", 1))
	assert.True(t, find("sse", 1))
}

// silent is a reader that fails.
type silent struct {
	client.Reader
	failed error
}

func (s silent) List(context.Context, client.ObjectList, ...client.ListOption) error { return s.failed }

// What cannot be read now is what was read before.
func TestInterfacesOutlastAnOutage(t *testing.T) {
	server := &strict{kept: memory{}}
	server.kept.put(published(t, flags))
	i := interfaces(t, server)
	_, found := i.Find(t.Context(), "flags", 1)
	require.True(t, found)
	i.reader = silent{failed: errGone}
	_, found = i.Find(t.Context(), "flags", 1)
	assert.True(t, found)
}

func TestInterfacesMode(t *testing.T) {
	server := &strict{kept: memory{}}
	server.kept.put(namespaceOf("strict", "enforce"), namespaceOf("plain", ""), namespaceOf("old", "off"))
	i := interfaces(t, server)
	for namespace, want := range map[string]schema.Mode{"strict": schema.Enforce, "plain": schema.Warn, "old": schema.Off, "unknown": schema.Warn} {
		assert.Equal(t, want, i.Mode(t.Context(), namespace), namespace)
	}
	alone, err := NewInterfaces(nil)
	require.NoError(t, err)
	assert.Equal(t, schema.Warn, alone.Mode(t.Context(), "strict"), "before anything was read")
}

// What is said of a published interface is written once, and names what counts.
func TestInterfacesJudge(t *testing.T) {
	server := &strict{kept: memory{}}
	server.kept.put(published(t, flags), published(t, "{name: sse, version: 1, description: mine}"), published(t, "{name: broken, version: 1, description: d, requier: {}}"),
		published(t, "{name: flags, version: 2, description: d, provider: {application: {ready: [token, url], schema: {properties: {url: {description: Where.}, token: {description: A secret.}}}}}}"))
	i := interfaces(t, server)
	tests := map[string]struct{ reason, origin, special string }{
		"flags-v1":  {schema.ReasonPublished, v1alpha1.OriginCluster, ""},
		"flags-v2":  {schema.ReasonPublished, v1alpha1.OriginCluster, "Incompatible"},
		"sse-v1":    {schema.ReasonBuiltIn, v1alpha1.OriginBuiltIn, ""},
		"broken-v1": {schema.ReasonInvalid, "", ""},
	}
	for name, tc := range tests {
		require.NoError(t, i.Judge(t.Context(), name))
		writes := server.writes
		require.NoError(t, i.Judge(t.Context(), name))
		assert.Equal(t, writes, server.writes, "judging twice is judging once")
		o := &v1alpha1.Interface{}
		require.NoError(t, server.Get(t.Context(), client.ObjectKey{Name: name}, o))
		assert.Equal(t, tc.reason, meta.FindStatusCondition(o.Status.Conditions, "Ready").Reason, name)
		assert.Equal(t, tc.origin, o.Status.Origin, name)
		assert.EqualValues(t, 1, o.Status.ObservedGeneration, "SAFETY.md C1")
		if assert.Equal(t, tc.special != "", len(o.Status.Conditions) > 3, name) && tc.special != "" {
			assert.Equal(t, tc.special, o.Status.Conditions[3].Type)
		}
	}
	require.NoError(t, i.Judge(t.Context(), "gone"))
	assert.ElementsMatch(t, []string{"flags-v1", "flags-v2"}, i.Versions(t.Context(), "flags"))
}

// The example is in force wherever it is applied.
func TestInterfaceExample(t *testing.T) {
	text, err := os.ReadFile("../../../deployment/examples/interface.yaml")
	require.NoError(t, err)
	var o v1alpha1.Interface
	require.NoError(t, yaml.UnmarshalStrict(text, &o))
	p, err := o.ToDomain()
	require.NoError(t, err)
	i, err := NewInterfaces(nil)
	require.NoError(t, err)
	_, conditions, ok := i.builtIn.Admit(p)
	assert.True(t, ok, "%v", conditions)
}

// A namespace that is observed comes with what it is judged by.
func TestObserveInterfaces(t *testing.T) {
	server := &strict{kept: memory{}}
	server.kept.put(published(t, flags), namespaceOf("shop", "enforce"))
	w := World{Reader: server.kept, Writer: server, Events: events.NewFakeRecorder(10), Now: epoch, Interfaces: interfaces(t, server)}
	s, err := w.Observe(t.Context(), "shop")
	require.NoError(t, err)
	assert.Equal(t, schema.Enforce, s.Schema)
	_, found := s.Interfaces.Find("flags", 1)
	assert.True(t, found)
}

// A write that the interface does not allow is refused whole: a secret in plain text
// always (RELATIONS.md P5), all else where the namespace enforces, with where the
// interface says so and without the value (RELATIONS.md P4).
func TestCommitFits(t *testing.T) {
	tests := map[string]struct {
		why   string
		mode  string
		own   bool
		key   string
		value string
		at    string
	}{
		"Secret":        {why: "never", key: "token", value: "hunter2", at: "flags@1 provider/application/schema/properties/token"},
		"SecretOff":     {why: "nor where nobody looks", mode: "off", key: "token", value: "hunter2", at: "flags@1 provider/application/schema/properties/token"},
		"Reference":     {why: "that is the way", mode: "enforce", key: "token", value: "secret:c6b9fk2t7m0q3v8x1z5d"},
		"Emptied":       {why: "RELATIONS.md P3: nothing is no plain text", mode: "enforce", key: "token"},
		"Warned":        {why: "stored, and told on the Relation", key: "url", value: "hunter2"},
		"Enforced":      {why: "refused where the namespace says so", mode: "enforce", key: "url", value: "hunter2", at: "flags@1 provider/application/schema/properties/url/pattern"},
		"Unit":          {why: "another bag, of which nothing is said", mode: "enforce", own: true, key: "url", value: "x"},
		"UnknownFields": {why: "only add fields", mode: "enforce", key: "more", value: "x"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			server, commits := shop()
			server.kept.put(published(t, flags), namespaceOf("shop", tc.mode))
			commits.Interfaces = interfaces(t, server)
			change := saying("one", tc.own, tc.key, tc.value, "refresh", "30")
			change.Role, change.Interface = application.Provider, "flags"
			_, err := commits.Commit(t.Context(), answer(change, saying("two", false, "fine", "yes")), nil)
			if tc.at == "" {
				require.NoError(t, err, tc.why)
				return
			}
			require.ErrorIs(t, err, transaction.ErrInvalid, tc.why)
			assert.Contains(t, err.Error(), tc.at)
			assert.NotContains(t, err.Error(), "hunter2")
			assert.Empty(t, server.bags(t), "refused whole")
		})
	}
}

package interfaces

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

func interfaces(t *testing.T, server *kubetest.Strict) *Catalogue {
	t.Helper()
	i, err := New(server.Kept)
	require.NoError(t, err)
	i.Writer, i.Now = server, kubetest.Epoch
	return i
}

// Interfaces are those that ship with Orcon and those that are published and right;
// one that is deleted is unknown again (SAFETY.md S5).
func TestInterfaces(t *testing.T) {
	server := &kubetest.Strict{Kept: kubetest.Memory{}}
	i := interfaces(t, server)
	find := func(name string, version int) bool {
		_, found := i.Find(t.Context(), name, version)
		return found
	}
	assert.True(t, find("sse", 0))
	assert.False(t, find("flags", 0))
	o := kubetest.Published(t, kubetest.Flags)
	server.Kept.Put(o, kubetest.Published(t, "{name: sse, version: 1, description: mine}"), kubetest.Published(t, "{name: broken, version: 1, description: d, requier: {}}"))
	assert.True(t, find("flags", 1))
	assert.False(t, find("flags", 2))
	assert.False(t, find("broken", 1), "a misspelt word is kept, and told")
	sse, _ := i.Find(t.Context(), "sse", 1)
	assert.NotEqual(t, "mine", sse.Description, "what ships with Orcon is not replaced")
	changed := o.DeepCopy()
	changed.Generation = 2
	server.Kept.Put(changed)
	assert.False(t, find("flags", 1), "what was changed after it was published is not what was published")
	clear(server.Kept)
	assert.False(t, find("flags", 1))
	assert.True(t, find("sse", 1))
}

// What cannot be read now is what was read before.
func TestInterfacesOutlastAnOutage(t *testing.T) {
	server := &kubetest.Strict{Kept: kubetest.Memory{}}
	server.Kept.Put(kubetest.Published(t, kubetest.Flags))
	i := interfaces(t, server)
	_, found := i.Find(t.Context(), "flags", 1)
	require.True(t, found)
	i.reader = kubetest.Silent{Failed: kubetest.ErrGone}
	_, found = i.Find(t.Context(), "flags", 1)
	assert.True(t, found)
}

func TestInterfacesMode(t *testing.T) {
	server := &kubetest.Strict{Kept: kubetest.Memory{}}
	server.Kept.Put(kubetest.Judging("strict", "enforce"), kubetest.Judging("plain", ""), kubetest.Judging("old", "off"))
	i := interfaces(t, server)
	for namespace, want := range map[string]schema.Mode{"strict": schema.Enforce, "plain": schema.Warn, "old": schema.Off, "unknown": schema.Warn} {
		assert.Equal(t, want, i.Mode(t.Context(), namespace), namespace)
	}
	alone, err := New(nil)
	require.NoError(t, err)
	assert.Equal(t, schema.Warn, alone.Mode(t.Context(), "strict"), "before anything was read")
}

// What is said of a published interface is written once, and names what counts.
func TestInterfacesJudge(t *testing.T) {
	server := &kubetest.Strict{Kept: kubetest.Memory{}}
	server.Kept.Put(kubetest.Published(t, kubetest.Flags), kubetest.Published(t, "{name: sse, version: 1, description: mine}"), kubetest.Published(t, "{name: broken, version: 1, description: d, requier: {}}"),
		kubetest.Published(t, "{name: flags, version: 2, description: d, provider: {application: {ready: [token, url], schema: {properties: {url: {description: Where.}, token: {description: A secret.}}}}}}"))
	i := interfaces(t, server)
	tests := map[string]struct{ reason, origin, special string }{
		"flags-v1":  {schema.ReasonPublished, v1alpha1.OriginCluster, ""},
		"flags-v2":  {schema.ReasonPublished, v1alpha1.OriginCluster, "Incompatible"},
		"sse-v1":    {schema.ReasonBuiltIn, v1alpha1.OriginBuiltIn, ""},
		"broken-v1": {schema.ReasonInvalid, "", ""},
	}
	for name, tc := range tests {
		require.NoError(t, i.Judge(t.Context(), name))
		writes := server.Writes
		require.NoError(t, i.Judge(t.Context(), name))
		assert.Equal(t, writes, server.Writes, "judging twice is judging once")
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
	text, err := os.ReadFile("../../../../deployment/examples/interface.yaml")
	require.NoError(t, err)
	var o v1alpha1.Interface
	require.NoError(t, yaml.UnmarshalStrict(text, &o))
	p, err := convert.ToPublished(&o)
	require.NoError(t, err)
	i, err := New(nil)
	require.NoError(t, err)
	_, conditions, ok := i.builtIn.Admit(p)
	assert.True(t, ok, "%v", conditions)
}

package webhook

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// schemas: declared data is judged by Orcon's own interfaces and by those that the
// cluster has published a moment ago (SAFETY.md I27, RELATIONS.md P5).
func (w *webhookWorld) schemas(t *testing.T) {
	told, strict, off := w.optedIn("told"), w.optedIn("strict", "tengu.io/schema", "enforce"), w.optedIn("off", "tengu.io/schema", "off")
	service := func(iface, data string) string {
		return "apiVersion: v1\nkind: Service\nmetadata: {name: s, annotations: {tengu.io/provides: 'main:" + iface + "', data.tengu.io/main: '" + data + "'}}\nspec: {ports: [{port: 80}]}\n"
	}
	create := func(namespace, iface, data string) (string, error) {
		out, err := w.kubectl(t, service(iface, data), "-n", namespace, "create", "--dry-run=server", "-f", "-")
		assert.NotContains(t, out, "hunter2", "a value is never told")
		return strings.ReplaceAll(out, `\"`, `"`), err
	}
	const unfit, plain = `metadata.annotations[data.tengu.io/main]: "port": it does not match the pattern`, `"password": the field is secret and its value is not a reference to a secret; expected the annotation secret.tengu.io/main instead`

	out, err := create(told, "db", "port: hunter2")
	require.NoError(t, err, out)
	assert.Contains(t, out, "Warning: "+unfit)
	out, err = create(strict, "db", "port: hunter2")
	require.Error(t, err)
	assert.Contains(t, out, unfit)
	for _, namespace := range []string{told, strict} {
		out, err = create(namespace, "db", "password: hunter2")
		require.Error(t, err, "RELATIONS.md P5")
		assert.Contains(t, out, plain)
	}
	out, err = create(off, "db", "{password: hunter2, port: hunter2}")
	require.NoError(t, err, out)
	assert.NotContains(t, out, "Warning")

	t.Log("an interface of the cluster's own counts as soon as it is published, and no longer than that")
	name := w.prefix + "-shop"
	iface := "apiVersion: orcon.tengu.io/v1alpha1\nkind: Interface\nmetadata: {name: " + name + "-v1}\nspec: {name: " + name + ", version: 1, description: A shop's., provider: {application: {schema: {properties: {port: {description: Where., pattern: '^[0-9]+$'}, key: {description: What.}}}}}}\n"
	out, err = create(strict, name, "port: hunter2")
	require.NoError(t, err, out)
	out, err = w.kubectl(t, iface, "create", "-f", "-")
	require.NoError(t, err, out)
	refused := func() bool { _, err := create(strict, name, "port: hunter2"); return err != nil }
	controlplane.Eventually(t, refused, 10*time.Second)
	p, err := w.create(t, strict, "metadata: {name: a, annotations: {tengu.io/consumes: 'main:"+name+",store:postgresql_client'}}\nspec: {containers: [{name: a, image: a}]}")
	require.NoError(t, err)
	var names []string
	for _, v := range p.Spec.Containers[0].Env {
		names = append(names, v.Name)
	}
	assert.Subset(t, names, []string{"MAIN_KEY", "STORE_DATABASE", "STORE_USERNAME"}, "SAFETY.md P7: fields are variables")
	assert.NotContains(t, names, "STORE_PASSWORD", "SAFETY.md P7: secrets are not")
	out, err = w.kubectl(t, "", "delete", "interface", name+"-v1")
	require.NoError(t, err, out)
	controlplane.Eventually(t, func() bool { return !refused() }, 10*time.Second)
}

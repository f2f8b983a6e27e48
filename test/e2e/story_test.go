package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The demo's story, asserted step by step (issue: the main job).
func TestStory(t *testing.T) {
	w := withOrcon(t)

	w.apply(external("sse-endpoint", "sse", "idlab-iot.tengu.io"))
	w.apply(sleeper("Deployment", "sleep", `tengu.io/consumes: "sse,db", tengu.io/relations: "sse-endpoint,db-endpoint"`))
	w.contains("db", "logs", "deploy/sleep", "-c", "relation-agent")
	w.contains("no Service or workload named db-endpoint", "get", "relatedapplications", "sleep")
	assert.NotEmpty(t, w.kubectl("get", "pods", "-o", "jsonpath={.items[0].status.podIP}"), "a waiting pod has its IP (INJECTION.md I16)")
	assert.Equal(t, "false", w.kubectl("get", "pods", "-o", "jsonpath={.items[0].status.initContainerStatuses[0].started}"))
	uid := w.kubectl("get", "pods", "-o", "jsonpath={.items[0].metadata.uid}")

	w.apply(external("db-endpoint", "db", "db.tengu.io"))
	w.running("sleep", 1)
	env := w.kubectl("exec", "deploy/sleep", "-c", "main", "--", "env")
	for _, variable := range []string{"SSE=idlab-iot.tengu.io", "DB=db.tengu.io", "DB_HOST=db.tengu.io", "SERVICE_BINDING_ROOT=/bindings"} {
		assert.Contains(t, strings.Split(env, "\n"), variable)
	}
	files := w.kubectl("exec", "deploy/sleep", "-c", "main", "--", "sh", "-c", "cd /bindings/db && cat type provider host")
	assert.Equal(t, "dbdb-endpointdb.tengu.io", strings.ReplaceAll(files, "\n", ""))
	w.prints("True True", "get", "relations", "-o", `jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}`)

	begin := time.Now()
	w.kubectl("patch", "service", "db-endpoint", "--type=merge", "-p", `{"spec":{"externalName":"db2.tengu.io"}}`)
	w.prints("db2.tengu.io", "exec", "deploy/sleep", "-c", "main", "--", "cat", "/bindings/db/host")
	t.Logf("the new value was read from the running container %s after the command began", time.Since(begin).Round(time.Millisecond))

	w.kubectl("delete", "service", "db-endpoint")
	w.prints("ProviderGone", "get", "relations", "-l", "", "-o", `jsonpath={.items[?(@.spec.provider.application=="db-endpoint")].status.conditions[?(@.type=="Ready")].reason}`)
	assert.Equal(t, "db2.tengu.io", w.kubectl("exec", "deploy/sleep", "-c", "main", "--", "cat", "/bindings/db/host"), "the running pod keeps its last files")
	require.Equal(t, uid, w.kubectl("get", "pods", "-o", "jsonpath={.items[0].metadata.uid}"), "nothing was restarted")
	assert.Equal(t, "0", w.kubectl("get", "pods", "-o", "jsonpath={.items[0].status.containerStatuses[0].restartCount}"))
}

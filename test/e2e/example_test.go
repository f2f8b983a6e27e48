package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// deployment/examples/http: the consumer's list is, whatever happens, exactly the
// units that there are.
func TestExampleHTTP(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	w.Kubectl(t, "apply", "-k", deployment(t, "examples/http"))
	t.Cleanup(func() { w.Kubectl(t, "delete", "namespace", "pages", "--wait=false") })
	w.namespace = "pages"
	w.running("front", 1)
	for _, replicas := range []int{2, 5, 1, 3} {
		began := time.Now()
		w.kubectl("scale", "deployment/site", fmt.Sprintf("--replicas=%d", replicas))
		w.eventually(func() string {
			pods, err := w.client.CoreV1().Pods(w.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=site"})
			if err != nil || len(pods.Items) != replicas {
				return fmt.Sprintf("there are not %d units", replicas)
			}
			var addresses []string
			for _, p := range pods.Items {
				addresses = append(addresses, p.Status.PodIP)
			}
			slices.Sort(addresses)
			listed, _ := w.try("exec", "deploy/front", "-c", "front", "--", "cat", "/shared/upstreams")
			if listed == strings.Join(addresses, "\n") {
				return ""
			}
			return fmt.Sprintf("the list is %q and not %q", listed, addresses)
		})
		t.Logf("%d units, exactly, %s after the command", replicas, time.Since(began).Round(100*time.Millisecond))
	}

	t.Log("after the relation's end the list is empty (RELATIONS.md E3)")
	w.kubectl("annotate", "service", "site", "tengu.io/provides-")
	w.kubectl("rollout", "pause", "deployment/site") // its units stay
	w.kubectl("patch", "deployment", "site", "--type=json", "-p", `[{"op":"remove","path":"/spec/template/metadata/annotations/tengu.io~1provides"}]`)
	w.eventually(func() string {
		if w.kubectl("get", "relations", "-o", "jsonpath={.items[0].status.holdTime}") != "" {
			return ""
		}
		return "the relation is not held"
	})
	w.kubectl("delete", "relations", "--all", "--wait=false")
	w.eventually(func() string {
		if listed, err := w.try("exec", "deploy/front", "-c", "front", "--", "cat", "/shared/upstreams"); err != nil || listed != "" {
			return fmt.Sprintf("the list is still %q", listed)
		}
		return ""
	})
}

// rotate asks for a new password and prints how many milliseconds it takes until the
// database lets in who shows the one that the tools give. The old one is of no use then.
const rotate = `
  PATH=/orcon/tools:$PATH
  cd /bindings/store
  enter() { PGPASSWORD=$1 psql -qtA -h "$(cat host)" -U "$(cat username)" -d "$(cat database)" -c 'SELECT 1' >/dev/null 2>&1; }
  old=$(secret-get "$(cat password)" password)
  began=$(date +%s%N)
  relation-set -r "$(relation-ids store)" --app rotate="$began"
  until new=$(secret-get --refresh "$(cat password)" password) && [ "$new" != "$old" ] && enter "$new"; do sleep 0.2; done
  echo $((($(date +%s%N) - began) / 1000000))
  ! enter "$old"
`

// deployment/examples/postgresql: a shop asks for a database and runs real queries
// with what it is given; nobody else can read its password; an annotation that is
// removed and restored loses nothing, and an ended relation drops the database
// (SAFETY.md L5, E14, RELATIONS.md P5).
func TestExamplePostgreSQL(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	loadPostgreSQL(t, w.Cluster)
	began := time.Now()
	w.Kubectl(t, "apply", "-k", deployment(t, "examples/postgresql"))
	t.Cleanup(func() { w.Kubectl(t, "delete", "namespace", "shop", "--wait=false") })
	w.namespace = "shop"

	visits := func() string { return w.lastLine("deploy/shop", "shop") }
	w.eventually(func() string {
		if strings.HasPrefix(visits(), "relation_1 has seen ") {
			return ""
		}
		return "the shop has not queried its database: " + visits()
	})
	t.Logf("from kubectl apply to the first query: %s; the shop says: %s", time.Since(began).Round(100*time.Millisecond), visits())

	t.Log("what the interface has is in the environment, but for secrets (SAFETY.md P7)")
	env := w.kubectl("exec", "deploy/shop", "-c", "shop", "--", "sh", "-c", `echo "$STORE_DATABASE $STORE_USERNAME ${STORE_PASSWORD-none}"`)
	assert.Equal(t, "orders relation_1 none", env)

	t.Log("the password is in no bag, file, Event or object but its Secret")
	password := w.kubectl("exec", "deploy/shop", "-c", "shop", "--", "sh", "-c", `/orcon/tools/secret-get "$(cat /bindings/store/password)" password`)
	require.Len(t, password, 32)
	for _, kind := range []string{"databags,relations,relatedapplications,events,configmaps,pods"} {
		assert.NotContains(t, w.kubectl("get", kind, "-o", "yaml"), password)
	}

	t.Log("the role enters no other database, where what it made would keep it from being dropped")
	elsewhere := `PGPASSWORD=$(/orcon/tools/secret-get "$(cat /bindings/store/password)" password) psql -h "$(cat /bindings/store/host)" ` +
		`-U "$STORE_USERNAME" -d postgres -tAc "SELECT lo_create(0)" 2>&1 || true`
	assert.Contains(t, w.kubectl("exec", "deploy/shop", "-c", "shop", "--", "sh", "-c", elsewhere), "permission denied for database")

	t.Log("a new password, asked for by the shop, is soon in its hands")
	rotated := w.kubectl("exec", "deploy/shop", "-c", "shop", "--", "timeout", "300", "sh", "-euc", rotate)
	t.Logf("from the question to a query with the new password: %s ms", rotated)

	t.Log("an annotation that is removed and restored loses nothing")
	w.kubectl("patch", "deployment", "shop", "--type=json", "-p", `[{"op":"remove","path":"/spec/template/metadata/annotations/tengu.io~1relations"}]`)
	w.eventually(func() string {
		if w.kubectl("get", "relations", "-o", "jsonpath={.items[0].status.holdTime}") != "" {
			return ""
		}
		return "the relation is not held"
	})
	w.kubectl("patch", "deployment", "shop", "--type=json", "-p", `[{"op":"add","path":"/spec/template/metadata/annotations/tengu.io~1relations","value":"postgres"}]`)
	w.kubectl("rollout", "status", "deployment/shop", "--timeout=300s")
	w.eventually(func() string {
		if line := visits(); strings.HasPrefix(line, "relation_1 has seen ") && line != "relation_1 has seen 1 visits in orders" {
			return ""
		}
		return "the database is not what it was: " + visits()
	})

	t.Log("the relation ends, and the database goes with it")
	w.kubectl("patch", "deployment", "shop", "--type=json", "-p", `[{"op":"remove","path":"/spec/template/metadata/annotations/tengu.io~1relations"}]`)
	w.kubectl("delete", "relations", "--all", "--wait=true", "--timeout=300s")
	w.kubectl("wait", "--for=delete", "relationsides", "--all", "--timeout=300s") // the end is owed to the handlers
	databases := w.kubectl("exec", "postgres-0", "-c", "postgres", "--", "psql", "-h", "127.0.0.1", "-U", "postgres", "-tAc", "SELECT datname FROM pg_database UNION SELECT rolname FROM pg_roles")
	assert.NotContains(t, databases, "orders")
	assert.NotContains(t, databases, "relation_1")
	passwords := w.kubectl("get", "relatedsecrets", "-o", "jsonpath={.items[*].state.revisions}")
	assert.Empty(t, passwords, "the password goes with what it opened")
}

// packed makes sure that the database's image is made, once.
var packed sync.Once //nolint:gochecknoglobals // what is done once for all clusters of the tests

// loadPostgreSQL makes the image of the examples' database and imports it into the node.
func loadPostgreSQL(t *testing.T, c *controlplane.Cluster) {
	t.Helper()
	file := filepath.Join(repository(t), "dist", "postgresql.tar")
	packed.Do(func() {
		produce(t, file, sourcesOfPackages(t), "build/builder", "debian", "postgresql", "--packages", "postgresql-15,dash,coreutils,sed,grep")
	})
	c.Run(t, "load", file)
}

// lastLine is what a container has printed last.
func (w *world) lastLine(of, container string) string {
	out, _ := w.try("logs", of, "-c", container, "--tail=1")
	return out
}

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// The commands of docs/how-to/restore.md for single objects make those again that were deleted, and the contents of secrets
// also where the Secret that held them is there: what it has got since the backup stays (TRUST.md T5).
func TestSingleObjectsAreRestored(t *testing.T) {
	t.Parallel()
	cluster := controlplane.Start(t)
	install(t, cluster)
	root, err := controlplane.Root()
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(root, "docs", "how-to", "restore.md"))
	require.NoError(t, err)
	_, block, marked := strings.Cut(string(page), "<!-- test: ran by TestSingleObjectsAreRestored -->\n```sh\n")
	require.True(t, marked)
	block, _, _ = strings.Cut(block, "```")

	cluster.Kubectl(t, "create", "namespace", "shop")
	work := t.TempDir()
	run := func(script string) (string, error) {
		command := exec.CommandContext(t.Context(), "bash", "-c", script)
		command.Dir = work
		command.Env = append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig, "PATH="+cluster.Programs+":"+os.Getenv("PATH"))
		out, err := command.CombinedOutput()
		return string(out), err
	}
	out, err := run(`set -e
kubectl -n shop create -f - <<'END'
apiVersion: v1
kind: Secret
metadata: {name: orcon-secrets-0, labels: {app.kubernetes.io/part-of: orcon}}
data: {removed.password: b2xk, kept.password: b2xk}
END
cat > offer.yaml <<'END'
apiVersion: orcon.tengu.io/v1alpha1
kind: Offer
metadata: {name: db}
spec: {application: db, endpoint: main, consumers: [shop]}
END
kubectl -n shop apply -f offer.yaml
kubectl get offers -A -o yaml > objects.yaml
kubectl get secrets -A -l app.kubernetes.io/part-of=orcon -o yaml > contents.yaml
kubectl -n shop delete offer db
kubectl -n shop patch secret orcon-secrets-0 --type=merge -p '{"data":{"removed.password":null,"later.password":"bmV3"}}'`)
	require.NoError(t, err, out)

	out, err = run(block)
	assert.NoError(t, err, out)
	assert.Equal(t, "db", cluster.Kubectl(t, "-n", "shop", "get", "offers", "-o", "jsonpath={.items[*].metadata.name}"))
	assert.JSONEq(t, `{"removed.password": "b2xk", "kept.password": "b2xk", "later.password": "bmV3"}`,
		cluster.Kubectl(t, "-n", "shop", "get", "secret", "orcon-secrets-0", "-o", "jsonpath={.data}"))
	out, err = run("kubectl -n shop apply -f offer.yaml")
	assert.NoError(t, err, "what was restored can be applied again: %s", out)
}

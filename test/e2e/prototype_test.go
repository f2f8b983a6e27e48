package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

const (
	// exampleNamespace is the one of the prototype's example.
	exampleNamespace = "k8s-tengu-test"
	// generated is what the step "trust" writes.
	generated = "deployment/relations-mutating-webhook/webhook-config-generated.yaml"
)

// terminal is where somebody types the prototype's commands: in the repository,
// with kubectl and KUBECONFIG.
type terminal struct {
	*controlplane.Cluster
	root string
}

// types runs a command line as it is written in PROTOTYPE.md; it must succeed,
// and no API version that it uses may be on its way out.
func (c terminal) types(t *testing.T, line string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", line)
	cmd.Dir = c.root
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig, "PATH="+c.Programs+":"+os.Getenv("PATH"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Run(), "%s\n%s", line, &out)
	assert.NotContains(t, out.String(), "deprecated", line)
	return out.String()
}

// rolledOut waits until both Deployments run in Orcon's namespace.
func (c terminal) rolledOut(t *testing.T, namespace string) {
	t.Helper()
	for _, name := range []string{controllerName, webhookName} {
		c.types(t, "kubectl -n "+namespace+" rollout status deployment/"+name+" --timeout=300s")
	}
}

// world is a namespace that the commands made.
func (c terminal) world(t *testing.T, namespace string) *world {
	t.Helper()
	return &world{Cluster: c.Cluster, t: t, client: c.Client(t), objects: objects(t, c.Cluster), namespace: namespace}
}

// Every command of PROTOTYPE.md in its order and as its users typed it, on a
// node of its own; then the prototype's faults; then what a developer did.
func TestPrototype(t *testing.T) {
	t.Parallel()
	c := terminal{Cluster: controlplane.Start(t, controlplane.Node), root: repository(t)}
	keep(t, filepath.Join(c.root, generated))
	steps := []struct {
		name string
		do   func(*testing.T, terminal)
	}{
		{"build", typeBuild}, {"certificate", typeCertificate}, {"trust", typeTrust}, {"deploy", typeDeploy},
		{"example", typeExample}, {"faults", lookForFaults}, {"configuration", typeConfiguration}, {"develop", typeDevelop},
	}
	for _, step := range steps {
		require.True(t, t.Run(step.name, func(t *testing.T) { step.do(t, c) }), "what follows needs this step")
	}
}

// keep puts a file back as it was, or removes one that was not there.
func keep(t *testing.T, file string) {
	t.Helper()
	before, err := os.ReadFile(file)
	t.Cleanup(func() {
		if err != nil {
			_ = os.Remove(file)
			return
		}
		assert.NoError(t, os.WriteFile(file, before, 0o600))
	})
}

func typeBuild(t *testing.T, c terminal) {
	c.types(t, "./build/builder busybox") // the example's image, which the prototype pulled
	images := []string{filepath.Join(c.root, "dist", "busybox.tar")}
	for _, name := range []string{controllerName, webhookName, "relation-agent"} {
		c.types(t, "./build/builder build "+name)
		assert.FileExists(t, filepath.Join(c.root, "bin", name))
		c.types(t, "./build/builder publish "+name)
		images = append(images, filepath.Join(c.root, "dist", name+".tar"))
	}
	c.Run(t, "load", images...)
}

func typeCertificate(t *testing.T, c terminal) {
	c.types(t, "./deployment/webhook-create-signed-cert.sh --service relations-mutating-webhook --secret tengu-controllers-certs --namespace default")
	keys := c.types(t, "kubectl get secret tengu-controllers-certs -o go-template='{{range $key, $value := .data}}{{$key}} {{end}}'")
	assert.Equal(t, "cert.pem key.pem ", keys)
}

func typeTrust(t *testing.T, c terminal) {
	c.types(t, "cat deployment/relations-mutating-webhook/webhook-config-templ.yaml | deployment/webhook-patch-ca-bundle.sh > "+generated)
	text, err := os.ReadFile(filepath.Join(c.root, generated))
	require.NoError(t, err)
	assert.Equal(t, 4, strings.Count(string(text), "caBundle: "), "every webhook is trusted")
}

func typeDeploy(t *testing.T, c terminal) {
	c.types(t, "kubectl apply -f deployment/rbac.yaml")
	for _, file := range []string{"controller-configmap.yaml", "controller.yaml", "service.yaml", "webhook-config-generated.yaml"} {
		c.types(t, "kubectl apply -f deployment/relations-mutating-webhook/"+file)
	}
	c.types(t, "kubectl apply -f deployment/relations-controller/controller.yaml")
	c.rolledOut(t, "default")
}

// typeExample is the prototype's example: env SSE and DB are the Services'
// externalNames, and the pod says that it was injected.
func typeExample(t *testing.T, c terminal) {
	c.types(t, "kubectl create namespace k8s-tengu-test")
	c.types(t, "kubectl label namespace k8s-tengu-test tengu-injector=enabled")
	c.types(t, "kubectl -n k8s-tengu-test apply -f deployment/demo/external-service.yaml")
	c.types(t, "kubectl -n k8s-tengu-test apply -f deployment/demo/sleep-deployment.yaml")
	w := c.world(t, exampleNamespace)
	w.kubectl("rollout", "status", "deployment/sleep", "--timeout=300s")
	env := strings.Split(w.kubectl("exec", "deploy/sleep", "-c", "sleep", "--", "env"), "\n")
	assert.Contains(t, env, "SSE=idlab-iot.tengu.io")
	assert.Contains(t, env, "DB=db.tengu.io")
	assert.Equal(t, "injected", w.kubectl("get", "pods", "-o", `jsonpath={.items[0].metadata.annotations.injector\.tengu\.io/status}`))
	labels := w.kubectl("get", "deployment", "sleep", "-o", `jsonpath={.metadata.labels.tengu\.io/relationships}`)
	assert.Equal(t, "full", labels, "accepted, and not needed")
}

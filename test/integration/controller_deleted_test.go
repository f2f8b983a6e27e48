package integration

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	podagent "gitlab.ilabt.imec.be/tengu/orcon/controller/agent"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// applied is an Orcon that kubectl applied to a cluster, with one replica of the controller, a shop that has the data of a
// bank's vault, and the agents of both.
type applied struct {
	*controllerWorld
	bank *controllerWorld
	root string
	node *chaosNode

	mu sync.Mutex
	c  *controllerProcess
	// heard are the events that handlers have handled, in order.
	heard []string
}

// kustomization is the folder that a person applies and deletes, and orconNamespace the namespace that it makes.
const (
	kustomization  = "deployment/selfsigned"
	orconNamespace = "orcon-system"
)

func newApplied(t *testing.T) *applied {
	t.Helper()
	root, err := controlplane.Root()
	require.NoError(t, err)
	w := newAppliedBy(t, func(c *controlplane.Cluster) {
		c.Kubectl(t, "apply", "-k", filepath.Join(root, kustomization))
		c.Established(t)
	})
	w.root = root
	return w
}

// newAppliedBy returns an Orcon that a function installs, with its definitions established.
func newAppliedBy(t *testing.T, install func(*controlplane.Cluster)) *applied {
	t.Helper()
	cluster := controlplane.Start(t)
	w := &applied{}
	install(cluster)
	w.controllerWorld = newWorldIn(t, cluster)
	w.bank = w.another()
	w.deploy()
	w.run()
	w.node = newNode(t, w.handle, w.controllerWorld, w.bank)
	w.node.server, w.node.trust = "relations-controller."+orconNamespace+".svc", []byte(w.trust())
	w.node.serving = func() []string { return []string{w.controller().address()} }
	t.Cleanup(w.node.begin(w.ctx))
	w.eventually("the vault's data", func() bool { return w.shows("user", "shop") })
	w.eventually("both lead", func() bool {
		heard := w.events()
		return slices.Contains(heard, "web leader-elected") && slices.Contains(heard, "vault leader-elected")
	})
	w.eventually("no handler has anything to do", w.idle)
	return w
}

// deploy makes the applications. Their pods come before the namespaces opt in: no webhook runs that would inject them.
func (w *applied) deploy() {
	w.t.Helper()
	vault := injected(w.bank.consumer("vault", map[string]string{application.KeyProvides: "main:pg", application.KeyHandlers: "/handlers"}))
	vault.Annotations = map[string]string{application.PrefixData + "main": "{port: '5432'}"}
	declared := consumes("store:pg", "vault."+w.bank.namespace)
	declared[application.KeyHandlers] = "/handlers"
	for _, s := range []*controllerWorld{w.controllerWorld, w.bank} {
		s.optOut()
	}
	w.bank.create(w.bank.offer(w.namespace), vault)
	w.create(injected(w.consumer("web", declared)))
	for name, s := range map[string]*controllerWorld{"web": w.controllerWorld, "vault": w.bank} {
		s.podOf(name)
		s.optIn()
	}
}

// run runs the controller with the token of its account, as in its pod, which dies with the account.
func (w *applied) run() {
	w.t.Helper()
	accounts := w.cluster.Client(w.t).CoreV1().ServiceAccounts(orconNamespace)
	made, err := accounts.CreateToken(w.ctx, "relations-controller", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	cfg, err := clientcmd.LoadFromFile(w.cluster.Kubeconfig)
	require.NoError(w.t, err)
	for name := range cfg.AuthInfos {
		cfg.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: made.Status.Token}
	}
	kubeconfig := filepath.Join(w.t.TempDir(), "kubeconfig")
	require.NoError(w.t, clientcmd.WriteToFile(*cfg, kubeconfig))
	c := w.startProcess(controlplane.Binary(w.t, "relations-controller"), kubeconfig,
		"-namespace="+orconNamespace, "-webhookConfiguration=relations-mutating-webhook")
	w.mu.Lock()
	defer w.mu.Unlock()
	w.c = c
}

// controller returns the replica that was run last.
func (w *applied) controller() *controllerProcess {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.c
}

// mount gives each agent the authorities that its namespace has, as the kubelet does.
func (w *applied) mount() {
	for _, a := range w.node.all() {
		file := filepath.Join(a.root, "identity", "ca.crt")
		require.NoError(w.t, os.WriteFile(file+".new", []byte(w.trust()), 0o600))
		require.NoError(w.t, os.Rename(file+".new", file))
	}
}

// handle handles the events of an agent. The vault answers a relation with a user.
func (w *applied) handle(ctx context.Context, a *chaosAgent) {
	runner := podagent.Runner{Socket: a.socket()}
	for turn, ok := runner.Next(ctx); ok; turn, ok = runner.Next(ctx) {
		done := podagent.Done{Context: turn.Context, Handled: true}
		if turn.Hook == "main-relation-created" {
			if leads, _ := a.tool(ctx, turn.Env, "is-leader"); leads != "True" {
				done.Failure = "it does not lead yet"
			} else if _, ok := a.tool(ctx, turn.Env, "relation-set", "--app", "user=shop"); !ok {
				done.Failure = "it cannot write"
			}
		}
		if done.Failure == "" {
			w.mu.Lock()
			w.heard = append(w.heard, a.application+" "+turn.Hook)
			w.mu.Unlock()
		}
		_ = runner.Done(ctx, done)
	}
}

// events returns the events that handlers have handled, in order.
func (w *applied) events() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.heard)
}

// shows reports whether the files of web have a value of the vault.
func (w *applied) shows(key, value string) bool {
	for _, a := range w.node.all() {
		if a.application == "web" {
			return a.binding("store/"+key) == value
		}
	}
	return false
}

// idle reports whether both agents, with the authorities of today, are connected and their handlers have handled everything.
func (w *applied) idle() bool {
	w.mount()
	for _, a := range w.node.all() {
		out, _ := exec.CommandContext(w.ctx, a.program, "-root="+a.root, "status").Output()
		if said := string(out); !strings.Contains(said, ", connected since") || !strings.Contains(said, "all events are handled") {
			return false
		}
	}
	return len(w.node.all()) == 2
}

// stored returns all that Orcon stores of the relation, on both sides.
func (w *applied) stored() map[string]any {
	all := map[string]any{"relation": w.relations()["vault"].State, "offer": w.bank.offered("to-the-shop").Spec}
	for _, s := range []*controllerWorld{w.controllerWorld, w.bank} {
		for role, side := range s.sides() {
			all[role] = []any{side.UID, side.Spec, side.State}
		}
		for _, bag := range s.bagsOf(w.relations()["vault"].State.Identity) {
			all[bag.Name] = []any{bag.UID, bag.State.Data}
		}
	}
	return all
}

// goesOn changes what the vault provides, and waits until web has it.
func (w *applied) goesOn(port string) {
	w.t.Helper()
	vault := w.bank.consumer("vault", nil)
	w.change(vault, func() { vault.Annotations[application.PrefixData+"main"] = "{port: '" + port + "'}" })
	w.eventually("the change", func() bool { return w.shows("port", port) })
	w.eventually("its event is handled", w.idle)
}

// serves reports whether the API server trusts the authority that agents trust.
func (w *applied) serves() bool {
	c := object.Named(&registrationv1.MutatingWebhookConfiguration{}, "", "relations-mutating-webhook")
	require.NoError(w.t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(c), c))
	return !slices.ContainsFunc(c.Webhooks, func(hook registrationv1.MutatingWebhook) bool {
		return string(hook.ClientConfig.CABundle) != w.trust()
	})
}

// createPod creates a pod that declares a relation, in a dry run.
func (w *applied) createPod() error {
	meta := w.meta("new")
	meta.Annotations = consumes("store:pg", "vault."+w.bank.namespace)
	pod := &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}}}
	return w.admin.Create(w.ctx, pod, client.DryRunAll)
}

// deleteNamespace deletes Orcon's namespace alone. The webhook's configuration stays, and is deleted too.
func (w *applied) deleteNamespace(t *testing.T) {
	w.cluster.Kubectl(t, "delete", "namespace", orconNamespace, "--timeout=60s")
	require.ErrorContains(t, w.createPod(), "pods.relations.tengu.io")
	w.cluster.Kubectl(t, "delete", "mutatingwebhookconfiguration", "relations-mutating-webhook")
}

// deleteKustomization deletes all of Orcon but its definitions, whose deletion is refused.
func (w *applied) deleteKustomization(t *testing.T) {
	all := definitions(t, w.cluster)
	out, err := w.cluster.Try("delete", "-k", filepath.Join(w.root, kustomization), "--timeout=60s")
	require.Error(t, err)
	for _, said := range []string{
		"Error from server", "run orcon leave; to end every relation first, run orcon leave --end",
		"do not run kubectl delete -k again: it takes this policy away",
	} {
		assert.Equal(t, len(all), strings.Count(out, said), "%s: %s", said, out)
	}
	assert.ElementsMatch(t, all, definitions(t, w.cluster))
	w.cluster.Kubectl(t, "apply", "-f", filepath.Join(w.root, "deployment/rbac/leave.yaml"))
	w.eventually("the policy is back", func() bool {
		out, err := w.cluster.Try("delete", all[0], "--dry-run=server")
		return err != nil && strings.Contains(out, "run orcon leave")
	})
}

// Orcon's namespace is deleted, and later all that was applied, while relations live. Nothing ends: no handler runs, files
// and data stay. Nothing hangs. Applied again, Orcon goes on with the same relations (TRUST.md T1).
func TestOrconIsDeleted(t *testing.T) {
	t.Parallel()
	w := newApplied(t)
	for _, step := range []struct {
		name, port string
		takeAway   func(*testing.T)
	}{{"Namespace", "1111", w.deleteNamespace}, {"Kustomization", "2222", w.deleteKustomization}} {
		require.True(t, t.Run(step.name, func(t *testing.T) {
			stored, heard := w.stored(), w.events()
			step.takeAway(t)
			w.eventually("pods start without Orcon", func() bool { return w.createPod() == nil })
			c := w.controller()
			w.eventually("the controller has lost its rights", func() bool { return strings.Contains(c.said.String(), "leads no longer") })
			require.NoError(t, c.cmd.Process.Signal(syscall.SIGTERM))
			_ = c.cmd.Wait()
			assert.NotContains(t, c.said.String(), "panic")
			assert.Equal(t, stored, w.stored())
			assert.True(t, w.shows("user", "shop"))

			w.cluster.Kubectl(t, "apply", "-k", filepath.Join(w.root, kustomization))
			w.run()
			w.eventually("the agents are back", w.idle)
			assert.Equal(t, heard, w.events())
			assert.Equal(t, stored, w.stored())
			w.goesOn(step.port)
			assert.Equal(t, append(heard, "web store-relation-changed"), w.events())
			w.eventually("the API server trusts the webhook", w.serves)
		}))
	}
}

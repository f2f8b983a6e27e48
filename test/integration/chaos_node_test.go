package integration

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/identity"
	podagent "gitlab.ilabt.imec.be/tengu/orcon/controller/agent"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos"
)

// chaosNode runs the agent of each pod of some namespaces, as a kubelet would, and what uses it.
type chaosNode struct {
	dir, program string
	// server is the name in the certificate of the controllers, and trust the authority that signed it.
	server     string
	trust      []byte
	admin      client.Client
	clients    kubernetes.Interface
	namespaces []string
	// serving returns the addresses of the controllers.
	serving func() []string
	// use is run for each agent until it ends.
	use func(context.Context, *chaosAgent)

	mu     sync.Mutex
	agents map[types.UID]*chaosAgent
	made   int
	users  sync.WaitGroup
}

// chaosAgent is a pod's agent.
type chaosAgent struct {
	*chaosProcess
	application, namespace, pod, root string
	uid                               types.UID
	began                             int
	link                              *chaos.Link
	stop                              context.CancelFunc

	mu   sync.Mutex
	unit string
}

// begin runs the node until ctx ends or stop is called.
func (n *chaosNode) begin(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.keep(ctx)
	}()
	return sync.OnceFunc(func() {
		cancel()
		<-ended
		n.end()
	})
}

// keep follows the pods until ctx ends.
func (n *chaosNode) keep(ctx context.Context) {
	for ctx.Err() == nil {
		_ = n.look(ctx) // what fails while the API server is away is done later
		wait(ctx, 100*time.Millisecond)
	}
}

// look starts the agents of new pods and ends those of pods that are gone.
func (n *chaosNode) look(ctx context.Context) error {
	present := map[types.UID]bool{}
	for _, namespace := range n.namespaces {
		var pods corev1.PodList
		if err := n.admin.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
			return err
		}
		for i := range pods.Items {
			pod := &pods.Items[i]
			present[pod.UID] = true
			if n.agent(pod.UID) == nil {
				if err := n.run(ctx, pod); err != nil {
					return err
				}
			}
		}
	}
	for _, a := range n.all() {
		if !present[a.uid] {
			n.mu.Lock()
			delete(n.agents, a.uid)
			n.mu.Unlock()
			a.gone()
		}
	}
	return nil
}

func (n *chaosNode) agent(uid types.UID) *chaosAgent {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.agents[uid]
}

// all returns the agents, the oldest first.
func (n *chaosNode) all() []*chaosAgent {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.SortedFunc(maps.Values(n.agents), func(a, b *chaosAgent) int { return a.began - b.began })
}

// run gives a pod its address, token and volumes, and starts its agent.
func (n *chaosNode) run(ctx context.Context, pod *corev1.Pod) error {
	if pod.DeletionTimestamp != nil {
		return nil
	}
	n.made++
	before := pod.DeepCopy()
	pod.Status.PodIP = fmt.Sprintf("10.8.%d.%d", n.made/200, n.made%200+1)
	pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}}
	if err := n.admin.Status().Patch(ctx, pod, client.MergeFrom(before)); err != nil {
		return err
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences:      []string{identity.Audience},
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
	}}
	made, err := n.clients.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	root := filepath.Join(n.dir, string(pod.UID)[:8]) // the path of a socket has 107 bytes at most
	for _, volume := range []string{"bindings", "run", "state", "identity", "tools"} {
		if err := os.MkdirAll(filepath.Join(root, volume), 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(root, "identity", "token"), []byte(made.Status.Token), 0o600); err != nil {
		return err
	}
	link, err := chaos.NewLink(n.serving)
	if err != nil {
		return err
	}
	a := &chaosAgent{
		application: pod.Labels["app"], namespace: pod.Namespace, pod: pod.Name, root: root, uid: pod.UID, began: n.made, link: link,
		chaosProcess: &chaosProcess{program: n.program, args: []string{"-root=" + root}, log: root + ".log"},
	}
	env := n.environment(pod)
	env["ORCON_ADDRESS"] = "https://" + link.Address()
	for name, value := range env {
		a.env = append(a.env, name+"="+value)
	}
	living, stop := context.WithCancel(ctx)
	a.stop = stop
	n.mu.Lock()
	n.agents[pod.UID] = a
	n.mu.Unlock()
	n.users.Go(func() { n.use(living, a) })
	return a.start()
}

// environment returns what the webhook wrote for the agent, with the addresses of this machine.
func (n *chaosNode) environment(pod *corev1.Pod) map[string]string {
	env := map[string]string{}
	for _, c := range pod.Spec.InitContainers {
		for _, v := range c.Env {
			if c.Name == injection.AgentContainer && v.ValueFrom == nil {
				env[v.Name] = v.Value
			}
		}
	}
	env["POD_NAME"], env["POD_NAMESPACE"] = pod.Name, pod.Namespace
	env["ORCON_SERVER_NAME"], env["ORCON_TRUST"] = n.server, string(n.trust)
	return env
}

// gone ends an agent and what uses it, and removes its volumes.
func (a *chaosAgent) gone() {
	a.stop()
	a.finish()
	a.link.Close()
	_ = os.RemoveAll(a.root)
}

// end ends all agents.
func (n *chaosNode) end() {
	for _, a := range n.all() {
		a.gone()
	}
	n.users.Wait()
}

// kill kills the agent and starts it again; it reports whether there was one.
func (a *chaosAgent) kill() bool {
	return a.end(syscall.SIGKILL) && a.start() == nil
}

func (a *chaosAgent) socket() string {
	return filepath.Join(a.root, "run", "sockets", injection.HandlerContainer, "agent.sock")
}

// name returns the unit's name, once its handlers know it.
func (a *chaosAgent) name() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.unit
}

// tool runs a tool, in the event of a handler if env has its context.
func (a *chaosAgent) tool(ctx context.Context, env map[string]string, name string, args ...string) (string, bool) {
	result := podagent.Call(ctx, a.socket(), tool.Call{Name: name, Args: args, Env: env})
	return strings.TrimSpace(string(result.Stdout)), result.ExitCode == 0
}

// lines runs a tool and returns the lines that it printed.
func (a *chaosAgent) lines(ctx context.Context, name string, args ...string) []string {
	out, ok := a.tool(ctx, nil, name, args...)
	if !ok {
		return nil
	}
	return strings.Fields(out)
}

// wait returns after a time, or when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

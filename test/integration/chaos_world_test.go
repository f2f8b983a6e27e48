package integration

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// chaosServer is the name in the certificate of Orcon's servers.
const chaosServer = "relations-controller.default.svc"

// chaosReplica is one replica of one of Orcon's servers.
type chaosReplica struct {
	*chaosProcess
	address, health string
	// link is the way to the API server.
	link *chaos.Link
}

// chaosWorld is a bank and its tenants in three namespaces, with the binaries as they ship.
type chaosWorld struct {
	*controllerWorld
	dir string
	// program returns the path of a program.
	program               func(name string) string
	spaces                []*controllerWorld
	authority             *chaosAuthority
	controllers, webhooks []*chaosReplica
	admission             *chaos.Link
	node                  *chaosNode
	stopNode              func()
	users                 *chaosUsers
	journal               *chaos.Journal
	tally                 *chaos.Tally
	tenants               int
}

func newChaosWorld(t *testing.T) *chaosWorld {
	t.Helper()
	return newChaosWorldOf(t, func(name string) string { return controlplane.Binary(t, name) })
}

func newChaosWorldOf(t *testing.T, program func(name string) string) *chaosWorld {
	t.Helper()
	home := newControllerWorld(t)
	return newChaosWorldIn(t, program, home, home.another(), home.another())
}

// newChaosWorldIn returns a world in those namespaces, the bank's first.
func newChaosWorldIn(t *testing.T, program func(name string) string, spaces ...*controllerWorld) *chaosWorld {
	t.Helper()
	home := spaces[0]
	dir, err := os.MkdirTemp("", "chaos-") //nolint:usetesting // a socket's path is short
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	w := &chaosWorld{
		controllerWorld: home, dir: dir, program: program, spaces: spaces,
		journal: chaos.NewJournal(), tally: &chaos.Tally{},
	}
	w.authority, err = newChaosAuthority(dir)
	require.NoError(t, err)
	t.Cleanup(w.explain)
	for i := range 2 {
		w.controllers = append(w.controllers, w.server("relations-controller", i, controllerUser, "-trustFile="+w.authority.path("ca.crt")))
		w.webhooks = append(w.webhooks, w.server("relations-mutating-webhook", i, "", "-webhookConfiguration=", "-tenguCfgFile="+w.settings()))
	}
	w.admission = w.linkTo(func() []string { return addresses(w.webhooks) })
	w.register()
	w.users = &chaosUsers{journal: w.journal, postgres: newChaosPostgres(t, w.journal)}
	w.node = &chaosNode{
		dir: dir, program: program("relation-agent"), server: chaosServer, trust: w.authority.bundle(), admin: w.admin,
		clients: w.cluster.Client(t), serving: func() []string { return addresses(w.controllers) }, use: w.users.use,
		agents: map[types.UID]*chaosAgent{},
	}
	for _, s := range w.spaces {
		w.node.namespaces = append(w.node.namespaces, s.namespace)
	}
	w.runNode()
	return w
}

// runNode runs the node until the test ends or it is stopped.
func (w *chaosWorld) runNode() {
	w.stopNode = w.node.begin(w.ctx)
	w.t.Cleanup(w.stopNode)
}

// endAll ends all programs of the world for good.
func (w *chaosWorld) endAll() {
	w.stopNode()
	for _, s := range append(w.controllers, w.webhooks...) {
		s.finish()
	}
}

// explain shows the ends of the logs if the test has failed.
func (w *chaosWorld) explain() {
	if !w.t.Failed() {
		return
	}
	for _, s := range append(w.controllers, w.webhooks...) {
		w.t.Logf("%s, which ended %d times by itself:\n%s", s.log, s.failures(), s.last())
	}
	if w.node == nil {
		return // it failed before
	}
	for _, a := range w.node.all() {
		w.t.Logf("%s:\n%s", a.pod, a.last())
	}
	for _, s := range w.spaces {
		w.t.Log(w.cluster.Kubectl(w.t, "-n", s.namespace, "get", "relations,relationsides,relatedapplications,databags,pods,replicasets,events", "-o", "wide"))
	}
}

// settings writes the webhook's configuration.
func (w *chaosWorld) settings() string {
	path := filepath.Join(w.dir, "tenguconfig.yaml")
	require.NoError(w.t, os.WriteFile(path, []byte("agent: {image: 'agent:test'}\n"), 0o600))
	return path
}

func (w *chaosWorld) linkTo(backends func() []string) *chaos.Link {
	link, err := chaos.NewLink(backends)
	require.NoError(w.t, err)
	w.t.Cleanup(link.Close)
	return link
}

func addresses(all []*chaosReplica) (living []string) {
	for _, s := range all {
		if s.alive() {
			living = append(living, s.address)
		}
	}
	return living
}

// server starts one of Orcon's servers, whose way to the API server can be cut.
func (w *chaosWorld) server(name string, replica int, user string, args ...string) *chaosReplica {
	w.t.Helper()
	port, health := controlplane.FreePort(w.t), controlplane.FreePort(w.t)
	at, err := url.Parse(w.cluster.APIServer)
	require.NoError(w.t, err)
	s := &chaosReplica{
		address: fmt.Sprintf("127.0.0.1:%d", port), health: fmt.Sprintf("http://127.0.0.1:%d", health),
		link: w.linkTo(func() []string { return []string{at.Host} }),
	}
	s.chaosProcess = &chaosProcess{
		program: w.program(name), log: filepath.Join(w.dir, fmt.Sprintf("%s-%d.log", name, replica)),
		args: append(args, "-namespace=default", "-v=1", "-kubeconfig="+w.kubeconfigOf(user, s.link.Address()),
			"-tlsCertFile="+w.authority.path("tls.crt"), "-tlsKeyFile="+w.authority.path("tls.key"),
			fmt.Sprintf("-port=%d", port), fmt.Sprintf("-healthPort=%d", health)),
	}
	require.NoError(w.t, s.start())
	w.t.Cleanup(s.finish)
	return s
}

// get returns what a path of the health port answers; empty if it is not OK.
func (s *chaosReplica) get(path string) string {
	res, err := http.Get(s.health + path)
	if err != nil {
		return ""
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		return ""
	}
	return string(text)
}

// metric returns a number that a server publishes.
func (s *chaosReplica) metric(name string) int {
	found := regexp.MustCompile(`(?m)^` + name + ` (\d+)$`).FindStringSubmatch(s.get("/metrics"))
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(found[1])
	return n
}

// restart ends a server by a signal and starts it again; it reports whether the process was there.
func (s *chaosReplica) restart(signal syscall.Signal) bool { return s.end(signal) && s.start() == nil }

// register has the API server call the webhook for the namespaces of this world.
func (w *chaosWorld) register() {
	w.t.Helper()
	root, err := controlplane.Root()
	require.NoError(w.t, err)
	text, err := os.ReadFile(filepath.Join(root, "deployment", "relations-mutating-webhook", "webhook-config-templ.yaml"))
	require.NoError(w.t, err)
	var c registrationv1.MutatingWebhookConfiguration
	require.NoError(w.t, yaml.UnmarshalStrict(text, &c))
	c.Name = "chaos-" + w.namespace
	names := make([]string, 0, len(w.spaces))
	for _, s := range w.spaces {
		names = append(names, s.namespace)
	}
	for i := range c.Webhooks {
		hook := &c.Webhooks[i]
		address := "https://" + w.admission.Address() + *hook.ClientConfig.Service.Path
		hook.ClientConfig = registrationv1.WebhookClientConfig{URL: &address, CABundle: w.authority.bundle()}
		hook.TimeoutSeconds = new(int32(30)) // the machine may be busy
		hook.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: names},
		}}
	}
	w.create(&c)
	w.t.Cleanup(func() { _ = w.admin.Delete(context.WithoutCancel(w.ctx), &c) })
}

// deploy makes an application with handlers.
func (w *chaosWorld) deploy(in *controllerWorld, name string, replicas int32, annotations map[string]string) error {
	annotations[application.KeyHandlers], annotations[application.KeyHandlerImage] = "/handlers", "app"
	labels := map[string]string{"app": name}
	return w.admin.Create(w.ctx, &appsv1.Deployment{ObjectMeta: in.meta(name), Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}},
		},
	}})
}

// open deploys the bank and offers it to the other namespaces.
func (w *chaosWorld) open() {
	w.t.Helper()
	var consumers []string
	for _, s := range w.spaces[1:] {
		consumers = append(consumers, s.namespace)
	}
	w.create(&v1alpha1.Offer{ObjectMeta: w.meta(chaosBank), Spec: v1alpha1.OfferSpec{Application: chaosBank, Endpoint: "main", Consumers: consumers}})
	require.NoError(w.t, w.deploy(w.controllerWorld, chaosBank, 2, map[string]string{application.KeyProvides: "main:pg"}))
}

// tenant adds a tenant in the next namespace.
func (w *chaosWorld) tenant() error {
	in := w.spaces[w.tenants%len(w.spaces)]
	return w.addTenant(in, chaosTenant+strconv.Itoa(w.tenants+1))
}

func (w *chaosWorld) addTenant(in *controllerWorld, name string) error {
	bank := chaosBank
	if in != w.controllerWorld {
		bank += "." + w.namespace
	}
	if err := w.deploy(in, name, 1, consumes("store:pg", bank)); err != nil {
		return err
	}
	w.tenants++
	return nil
}

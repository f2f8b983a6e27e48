package bundles

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// system is Orcon's own namespace.
const system = "orcon-system"

// commandLine is orcon as a person runs it on a cluster.
type commandLine struct {
	t                   *testing.T
	kubeconfig, program string
}

func newCommandLine(t *testing.T, c *controlplane.Cluster) *commandLine {
	t.Helper()
	return &commandLine{t: t, kubeconfig: c.Kubeconfig, program: controlplane.Binary(t, "orcon")}
}

// run returns the exit code and all that was said.
func (l *commandLine) run(line string) (int, string) {
	l.t.Helper()
	command := exec.CommandContext(l.t.Context(), l.program, append(strings.Fields(line), "--kubeconfig", l.kubeconfig)...)
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	l.t.Logf("orcon %s\n%s", line, &out)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), out.String()
	}
	require.NoError(l.t, err)
	return 0, out.String()
}

// must runs what has to succeed.
func (l *commandLine) must(line string) string {
	l.t.Helper()
	code, out := l.run(line)
	require.Zero(l.t, code, out)
	return out
}

// Orcon installs itself from what its command line holds. The same again, and what the
// running controller writes, is no change; another image is an upgrade. Uninstalled, the definitions and their objects
// stay; after orcon leave --end, the cluster has the objects that it had, no more and no fewer (BUNDLES.md 2, 4 and 7,
// TRUST.md T1).
func TestInstallsItself(t *testing.T) {
	t.Parallel()
	c := controlplane.Start(t)
	l := newCommandLine(t, c)
	before := c.Snapshot(t)
	code, out := l.run("check")
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "ok    Kubernetes 1.35 or newer\nFAIL  kinds of orcon.tengu.io/v1alpha1: not installed", "SAFETY.md D13")
	assert.Contains(t, out, "FAIL  Deployments of Orcon: not installed")
	code, out = l.run("install builtin:selfsigned --name orcon -n default --plan")
	assert.Zero(t, code)
	assert.Contains(t, out, "create   Namespace orcon-system")
	assert.Equal(t, before, c.Snapshot(t), "a plan writes nothing")

	pretendPods(t, c, system)
	l.must("install builtin:selfsigned --name orcon -n default --yes --timeout 3m")
	code, out = l.run("check")
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "FAIL  MutatingWebhookConfiguration relations-mutating-webhook: its caBundle is empty")
	trust(t, c)
	_, out = l.run("check")
	assert.Contains(t, out, "ok    Deployment orcon-system/relations-controller\n")
	assert.Contains(t, out, "ok    MutatingWebhookConfiguration relations-mutating-webhook\n")
	assert.Contains(t, out, "FAIL  the relations API of orcon-system answers", "its pods are pretended")
	assert.Contains(t, l.must("install builtin:selfsigned --name orcon -n default --yes"), "nothing to change")
	assert.Contains(t, l.must("install builtin:selfsigned --name orcon -n default --yes --timeout 3m --set tag=v2"), "is healthy: revision 2")
	images := c.Kubectl(t, "-n", system, "get", "deployments", "-o", "jsonpath={.items[*].spec.template.spec.containers[*].image}")
	assert.Equal(t, "localhost/orcon/relations-controller:v2 localhost/orcon/relations-mutating-webhook:v2", images)
	bundles := c.Kubectl(t, "get", "mutatingwebhookconfiguration", "relations-mutating-webhook", "-o", "jsonpath={.webhooks[*].clientConfig.caBundle}")
	assert.Equal(t, "Y2VydA== Y2VydA== Y2VydA== Y2VydA==", bundles, "an upgrade leaves whom to trust to the controller")

	root, err := controlplane.Root()
	require.NoError(t, err)
	flags := filepath.Join(root, "deployment", "examples", "interface.yaml")
	c.Kubectl(t, "apply", "-f", flags)
	code, out = l.run("uninstall orcon -n default --yes")
	assert.Equal(t, 2, code, "the namespace is confirmed")
	assert.NotContains(t, out, "--confirm CustomResourceDefinition", "definitions stay")
	l.must("uninstall orcon -n default --yes --timeout 3m --confirm Namespace/" + system)
	c.Kubectl(t, "get", "-f", flags)
	c.Kubectl(t, "get", "validatingadmissionpolicy/orcon-leave", "validatingadmissionpolicybinding/orcon-leave")
	out = l.must("leave --end --yes")
	assert.Contains(t, out, "deleted CustomResourceDefinition interfaces.orcon.tengu.io")
	controlplane.Eventually(t, func() bool { return assert.ObjectsAreEqual(before, c.Snapshot(t)) }, time.Minute, "what was stored is collected")
}

// Check misses the bundle controller while a BundleDeployment is there. The controller is not uninstalled then, since only it
// can end one; afterwards it is (SAFETY.md D13, BUNDLES.md 7).
func TestBundleControllerOutlivesItsDeployments(t *testing.T) {
	t.Parallel()
	c := controlplane.Start(t)
	l := newCommandLine(t, c)
	root, err := controlplane.Root()
	require.NoError(t, err)
	c.Kubectl(t, "apply", "-k", filepath.Join(root, "deployment", "crd"))
	c.Kubectl(t, "create", "namespace", system)
	pretendPods(t, c, system)
	c.Established(t)
	_, out := l.run("check")
	assert.NotContains(t, out, "the bundle controller: not installed")
	c.Kubectl(t, "apply", "-n", "default", "-f", filepath.Join(root, "deployment", "examples", "bundledeployment.yaml"))
	_, out = l.run("check")
	const install = "install builtin:bundle-controller --name orcon-bundles -n " + system
	assert.Contains(t, out, "FAIL  Deployment of the bundle controller: not installed, although BundleDeployment default/")
	assert.Contains(t, out, "orcon "+install+"\n")
	l.must(install + " --yes --timeout 3m")
	_, out = l.run("check")
	assert.NotContains(t, out, "the bundle controller: not installed")
	name := c.Kubectl(t, "get", "bundledeployments", "-n", "default", "-o", "jsonpath={.items[0].metadata.name}")
	code, out := l.run("uninstall orcon-bundles -n " + system + " --yes")
	assert.Equal(t, 4, code, out)
	assert.Contains(t, out, "cannot delete Deployment orcon-system/bundle-controller: without it these could never be deleted: BundleDeployment default/"+name)
	deletion := "\nkubectl delete bundledeployments " + name + " -n default\n"
	assert.Contains(t, out, "stays:"+deletion, "the controller runs")
	c.Kubectl(t, "-n", system, "scale", "deployment", "bundle-controller", "--replicas=0")
	controlplane.Eventually(t, func() bool {
		_, out := l.run("uninstall orcon-bundles -n " + system + " --yes")
		return strings.Contains(out, "stays:\nkubectl -n "+system+" scale deployment bundle-controller --replicas=2"+deletion)
	}, time.Minute, "a controller that does not run is started first")
	assert.NotContains(t, out, "leave.md", "no label has to be taken away")
	c.Kubectl(t, "-n", system, "get", "deployment", "bundle-controller")
	c.Kubectl(t, "delete", "bundledeployments", name, "-n", "default")
	l.must("uninstall orcon-bundles -n " + system + " --yes --timeout 3m")
}

// pretendPods makes the pods of a namespace ready, those of Jobs complete, and its Services answered: there is no node
// that would.
func pretendPods(t *testing.T, c *controlplane.Cluster, namespace string) {
	t.Helper()
	client := c.Client(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	t.Cleanup(func() { stop(); <-done })
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			pods, _ := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Pending"})
			for _, p := range pods.Items {
				p.Status.Phase = corev1.PodRunning
				if p.Labels[batchv1.JobNameLabel] != "" {
					p.Status.Phase = corev1.PodSucceeded
				}
				p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
				_, _ = client.CoreV1().Pods(namespace).UpdateStatus(ctx, &p, metav1.UpdateOptions{})
			}
			services, _ := client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
			for _, s := range services.Items {
				_, _ = client.DiscoveryV1().EndpointSlices(namespace).Create(ctx, &discoveryv1.EndpointSlice{
					ObjectMeta:  metav1.ObjectMeta{Name: s.Name, Labels: map[string]string{discoveryv1.LabelServiceName: s.Name}},
					AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"198.18.1.1"}}},
				}, metav1.CreateOptions{})
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
}

// trust writes an authority into the webhook configuration, as the controller does.
func trust(t *testing.T, c *controlplane.Cluster) {
	t.Helper()
	names := []string{"pods.relations.tengu.io", "declarations.relations.tengu.io", "outside.relations.tengu.io", "bundles.orcon.tengu.io"}
	var hooks []string
	for _, name := range names {
		hooks = append(hooks, `{"name":"`+name+`","clientConfig":{"caBundle":"Y2VydA=="}}`)
	}
	patch := `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingWebhookConfiguration","metadata":{"name":"relations-mutating-webhook"},"webhooks":[` + strings.Join(hooks, ",") + `]}`
	_, err := c.Client(t).AdmissionregistrationV1().MutatingWebhookConfigurations().Patch(t.Context(), "relations-mutating-webhook",
		types.ApplyPatchType, []byte(patch), metav1.PatchOptions{FieldManager: certificate.FieldManager, Force: new(true)})
	require.NoError(t, err)
}

package arch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// imageless returns the binaries that have no image, with the reason: the list by
// which build/builder publishes.
func imageless(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "build/image/without"))
	require.NoError(t, err)
	reasons := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, why, _ := strings.Cut(strings.TrimSpace(line), ": ")
		reasons[name] = why
	}
	return reasons
}

// Every binary is shipped as an image that the manifests name, or is listed as one
// without, with the reason.
func TestEveryBinaryHasAnImage(t *testing.T) {
	without := imageless(t)
	entries, err := os.ReadDir(filepath.Join(repository, "cmd"))
	require.NoError(t, err)
	images, err := os.ReadFile(filepath.Join(repository, "deployment/images/kustomization.yaml"))
	require.NoError(t, err)
	for _, e := range entries {
		if _, listed := without[e.Name()]; !listed {
			assert.Contains(t, string(images), "\n  - name: localhost/orcon/"+e.Name()+"\n", "cmd/%s is built and not shipped", e.Name())
		}
	}
	for name, why := range without {
		assert.DirExists(t, filepath.Join(repository, "cmd", name), "no such binary is without an image")
		assert.NotEmpty(t, why, "cmd/%s: why has it none?", name)
		assert.NotContains(t, string(images), "localhost/orcon/"+name+"\n", "it has none and is deployed")
	}
	for line := range strings.Lines(string(images)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- name: localhost/orcon/"); ok {
			assert.DirExists(t, filepath.Join(repository, "cmd", name), "an image of no binary")
		}
	}
}

func TestEveryCRDIsShippedWithAnExample(t *testing.T) {
	crds := kustomize(t, filepath.Join(repository, "deployment/crd"))
	files, err := filepath.Glob(filepath.Join(repository, "deployment/crd/orcon.tengu.io_*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	assert.Len(t, crds, len(files), "deployment/crd/kustomization.yaml does not list every CRD")

	var shown []string
	examples, err := filepath.Glob(filepath.Join(repository, "deployment/examples/*.yaml"))
	require.NoError(t, err)
	for _, file := range examples {
		for _, o := range readManifests(t, file) {
			shown = append(shown, o.GetKind())
		}
	}
	for _, crd := range crds {
		kind, _ := unstructuredString(crd.Object, "spec", "names", "kind")
		assert.Contains(t, shown, kind, "no example of %s in deployment/examples", kind)
	}
}

func unstructuredString(o map[string]any, path ...string) (string, bool) {
	for _, key := range path[:len(path)-1] {
		next, ok := o[key].(map[string]any)
		if !ok {
			return "", false
		}
		o = next
	}
	s, ok := o[path[len(path)-1]].(string)
	return s, ok
}

// Both ways deploy the same objects (PROTOTYPE.md). cert-manager's own and the
// namespace are all that differs.
func TestAllVariantsAreTheSameObjects(t *testing.T) {
	all := variants(t)
	want := append(all["Prototype"].all.names(), "Namespace/orcon-system")
	assert.ElementsMatch(t, want, all["SelfSigned"].all.names())
	assert.ElementsMatch(t, want, slices.DeleteFunc(all["CertManager"].all.names(), func(name string) bool {
		return strings.HasPrefix(name, "Certificate/") || strings.HasPrefix(name, "Issuer/")
	}))
}

// The prototype's namespace is right everywhere, and nothing of it is left in the
// recommended one (SAFETY.md S6).
func TestNamespaces(t *testing.T) {
	clusterScoped := map[string]bool{
		"Namespace": true, "CustomResourceDefinition": true, "ClusterRole": true, "ClusterRoleBinding": true, "MutatingWebhookConfiguration": true,
		"ValidatingAdmissionPolicy": true, "ValidatingAdmissionPolicyBinding": true, "PriorityClass": true,
	}
	for label, v := range variants(t) {
		t.Run(label, func(t *testing.T) {
			for _, o := range v.all {
				if clusterScoped[o.GetKind()] {
					assert.Empty(t, o.GetNamespace(), "%s %s", o.GetKind(), o.GetName())
				} else {
					assert.Equal(t, v.namespace, o.GetNamespace(), "%s %s", o.GetKind(), o.GetName())
				}
			}
			for _, b := range objects[clusterBinding](t, v.all, "ClusterRoleBinding") {
				for _, s := range b.Subjects {
					assert.Equal(t, v.namespace, s.Namespace)
				}
			}
			for _, b := range objects[binding](t, v.all, "RoleBinding") {
				for _, s := range b.Subjects {
					assert.Equal(t, v.namespace, s.Namespace)
				}
			}
		})
	}
}

// A node that is full makes room for the webhook, and a control plane outside of the nodes' network reaches it
// (TRUST.md A10).
func TestWebhookIsReached(t *testing.T) {
	for label, v := range variants(t) {
		t.Run(label, func(t *testing.T) {
			classes := map[string]int32{}
			for _, c := range objects[schedulingv1.PriorityClass](t, v.all, "PriorityClass") {
				classes[c.Name] = c.Value
			}
			for _, d := range objects[appsv1.Deployment](t, v.all, "Deployment") {
				if d.Name != "relations-mutating-webhook" {
					continue
				}
				webhook := d.Spec.Template.Spec.Containers[0]
				assert.Positive(t, classes[d.Spec.Template.Spec.PriorityClassName])
				assert.Contains(t, webhook.Args, "-port=10250")
				i := slices.IndexFunc(webhook.Ports, func(p corev1.ContainerPort) bool { return p.Name == "webhook" })
				assert.EqualValues(t, 10250, webhook.Ports[i].ContainerPort)
			}
		})
	}
}

// The one place for images reaches all three, the agent's too.
func TestImagesAreSetInOnePlace(t *testing.T) {
	root := edited(t, map[string][2]string{"images/kustomization.yaml": {"    newTag: dev", "    newTag: v7"}})
	for _, variant := range []string{"selfsigned", "certmanager"} {
		var images []string
		for _, d := range objects[deployment](t, kustomize(t, filepath.Join(root, variant)), "Deployment") {
			for _, c := range d.Spec.Template.Spec.Containers {
				images = append(images, c.Image)
				for _, e := range c.Env {
					if e.Name == "ORCON_AGENT_IMAGE" {
						images = append(images, e.Value)
					}
				}
			}
		}
		assert.ElementsMatch(t, []string{
			"localhost/orcon/relations-controller:v7", "localhost/orcon/relations-mutating-webhook:v7", "localhost/orcon/relation-agent:v7",
		}, images, variant)
	}
}

// Another namespace is a change of two files, as orcon-system/kustomization.yaml says.
func TestNamespaceCanBeChosen(t *testing.T) {
	root := edited(t, map[string][2]string{
		"orcon-system/kustomization.yaml": {"namespace: orcon-system", "namespace: tengu"},
		"orcon-system/namespace.yaml":     {"name: orcon-system", "name: tengu"},
	})
	for _, variant := range []string{"selfsigned", "certmanager"} {
		for _, o := range kustomize(t, filepath.Join(root, variant)) {
			text, err := o.MarshalJSON()
			require.NoError(t, err)
			assert.NotContains(t, string(text), "orcon-system", "%s %s", o.GetKind(), o.GetName())
			assert.NotContains(t, string(text), ".default.svc", "%s %s", o.GetKind(), o.GetName())
		}
	}
}

// The configuration that is shipped is one that the webhook reads, and says what
// holds without it.
func TestShippedConfiguration(t *testing.T) {
	for _, o := range prototype(t) {
		if o.GetKind() != "ConfigMap" {
			continue
		}
		text, found := unstructuredString(o.Object, "data", "tenguconfig.yaml")
		require.True(t, found)
		config, err := injection.ParseConfig([]byte(text))
		require.NoError(t, err)
		want := injection.DefaultConfig()
		want.Agent.PullPolicy = "IfNotPresent"
		assert.Equal(t, want, config)
		return
	}
	require.Fail(t, "no ConfigMap with tenguconfig.yaml")
}

// TRUST.md U3: the NetworkPolicies admit what the pods serve, from everywhere, and nothing else. No
// other variant contains them.
func TestNetworkPoliciesAdmitWhatIsServed(t *testing.T) {
	policies := kustomize(t, filepath.Join(repository, "deployment/network-policies"))
	ports := map[string][]int32{}
	for _, p := range objects[networkingv1.NetworkPolicy](t, policies, "NetworkPolicy") {
		assert.Equal(t, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, p.Spec.PolicyTypes, p.Name)
		for _, rule := range p.Spec.Ingress {
			assert.Empty(t, rule.From, p.Name)
			for _, port := range rule.Ports {
				name := p.Spec.PodSelector.MatchLabels["app.kubernetes.io/name"]
				ports[name] = append(ports[name], port.Port.IntVal)
			}
		}
	}
	served := map[string][]int32{}
	var deployments []appsv1.Deployment
	for _, folder := range []string{"selfsigned", "bundle-controller", "job-controller"} {
		deployments = append(deployments, objects[appsv1.Deployment](t, kustomize(t, filepath.Join(repository, "deployment", folder)), "Deployment")...)
	}
	for _, d := range deployments {
		for _, port := range d.Spec.Template.Spec.Containers[0].Ports {
			name := d.Spec.Template.Labels["app.kubernetes.io/name"]
			served[name] = append(served[name], port.ContainerPort)
		}
	}
	assert.Equal(t, served, ports)
	for name, v := range variants(t) {
		for _, o := range v.all {
			assert.NotEqual(t, "NetworkPolicy", o.GetKind(), name)
		}
	}
}

// What applies and prunes manifests leaves definitions where they are, and the policy that refuses their deletion: with one
// go all objects of its kind (TRUST.md T1).
func TestDefinitionsStay(t *testing.T) {
	for _, crd := range kustomize(t, filepath.Join(repository, "deployment/crd")) {
		staysPut(t, crd)
		group, _ := unstructuredString(crd.Object, "spec", "group")
		assert.Equal(t, "orcon.tengu.io", group, "the policy orcon-leave selects by it")
	}
	for label, v := range variants(t) {
		policies := 0
		for _, o := range v.all {
			if o.GetName() == "orcon-leave" {
				policies++
				staysPut(t, o)
			}
		}
		assert.Equal(t, 2, policies, "%s: a policy and its binding", label)
	}
}

// staysPut checks that an object has the annotations by which tools leave it where it is.
func staysPut(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	assert.Equal(t, "Never", o.GetAnnotations()["orcon.tengu.io/prune"], o.GetName())
	assert.Equal(t, "Prune=false,Delete=false", o.GetAnnotations()["argocd.argoproj.io/sync-options"], o.GetName())
	assert.Equal(t, "disabled", o.GetAnnotations()["kustomize.toolkit.fluxcd.io/prune"], o.GetName())
}

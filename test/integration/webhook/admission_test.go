package webhook

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// TestWebhook is the webhook as users have it, asked by a real API server.
func TestWebhook(t *testing.T) {
	w := newWebhookWorld(t)
	t.Run("Pods", w.pods)
	t.Run("Restricted", w.restricted)
	t.Run("Untouched", w.untouched)
	t.Run("Controllers", w.controllers)
	t.Run("Services", w.services)
	t.Run("Refusals", w.refusals)
	t.Run("Refused", w.refused)
	t.Run("Warnings", w.warnings)
	t.Run("Schemas", w.schemas)
	t.Run("Labels", w.labels)
	t.Run("Outside", w.outside)
	t.Run("Updates", w.updates)
	t.Run("Configuration", w.configuration)
	t.Run("Shutdown", w.shutdown)
}

// create creates a pod and returns it as the API server has it.
func (w *webhookWorld) create(t *testing.T, namespace, manifest string, dryRun ...string) (*corev1.Pod, error) {
	t.Helper()
	var p corev1.Pod
	require.NoError(t, yaml.UnmarshalStrict([]byte(manifest), &p))
	return w.admin.CoreV1().Pods(namespace).Create(t.Context(), &p, metav1.CreateOptions{DryRun: dryRun})
}

const declaring = "metadata: {name: %s, annotations: {tengu.io/consumes: 'sse,db:postgresql?', tengu.io/relations: 'a,b'}}\n"

// pods of every shape are injected so that the API server takes them
// (INJECTION.md I2, I3, I4, I7, I14, SAFETY.md I29).
func (w *webhookWorld) pods(t *testing.T) {
	namespace := w.optedIn("pods")
	tests := map[string]string{
		"minimal":       declaring + "spec: {containers: [{name: a, image: a}]}",
		"inits":         declaring + "spec: {initContainers: [{name: i, image: i}, {name: s, image: s, restartPolicy: Always}], containers: [{name: a, image: a}]}",
		"mesh":          declaring + "spec: {initContainers: [{name: istio-proxy, image: i, restartPolicy: Always}], containers: [{name: a, image: a}]}",
		"host":          declaring + "spec: {hostNetwork: true, containers: [{name: a, image: a, ports: [{containerPort: 8080}]}]}",
		"shared":        declaring + "spec: {shareProcessNamespace: true, containers: [{name: a, image: a}]}",
		"root":          declaring + "spec: {securityContext: {runAsUser: 0, fsGroup: 5}, containers: [{name: a, image: a}]}",
		"guaranteed":    declaring + "spec: {containers: [{name: a, image: a, resources: {limits: {cpu: 1, memory: 1Gi}}}]}",
		"pod-resources": declaring + "spec: {resources: {limits: {cpu: 1, memory: 256Mi}, requests: {cpu: 5m, memory: 8Mi}}, containers: [{name: a, image: a}]}",
		"projected":     declaring + "spec: {containers: [{name: a, image: a, volumeMounts: [{name: p, mountPath: /p}]}], volumes: [{name: p, projected: {sources: [{serviceAccountToken: {path: t}}]}}]}",
		"env":           declaring + "spec: {containers: [{name: a, image: a, env: [{name: DSN, value: 'x://$(DB_HOST)'}, {name: SERVICE_BINDING_ROOT, value: /b}]}]}",
		"once":          declaring + "spec: {restartPolicy: Never, containers: [{name: a, image: a}]}",
	}
	for name, manifest := range tests {
		t.Run(name, func(t *testing.T) {
			dry, err := w.create(t, namespace, fmt.Sprintf(manifest, name), metav1.DryRunAll)
			require.NoError(t, err)
			p, err := w.create(t, namespace, fmt.Sprintf(manifest, name))
			require.NoError(t, err)
			w.injected(t, p)
			assert.Len(t, dry.Spec.InitContainers, len(p.Spec.InitContainers), "a dry run has the same answer")
			if name == "guaranteed" {
				assert.Equal(t, corev1.PodQOSGuaranteed, p.Status.QOSClass, "SAFETY.md I29")
			}
			if name == "mesh" {
				assert.Equal(t, "istio-proxy", p.Spec.InitContainers[0].Name, "SAFETY.md I18")
			}
		})
	}
	t.Run("GenerateName", func(t *testing.T) {
		p, err := w.create(t, namespace, strings.Replace(fmt.Sprintf(tests["minimal"], "web-"), "name: web-", "generateName: web-", 1))
		require.NoError(t, err)
		w.injected(t, p)
	})
}

// injected checks what every injected pod has.
func (w *webhookWorld) injected(t *testing.T, p *corev1.Pod) {
	t.Helper()
	assert.Equal(t, "injected", p.Annotations["injector.tengu.io/status"])
	assert.Equal(t, "true", p.Labels["tengu.io/injected"], "SAFETY.md I22")
	var agents, variables int
	for _, c := range p.Spec.InitContainers {
		if c.Name == "relation-agent" {
			agents++
			assert.Equal(t, "agent:test", c.Image)
			for _, m := range c.VolumeMounts {
				assert.NotContains(t, m.Name, "kube-api-access", "the agent gets no token for the API")
			}
			assert.Equal(t, corev1.ContainerRestartPolicyAlways, *c.RestartPolicy)
		}
	}
	for _, e := range p.Spec.Containers[0].Env {
		if e.ValueFrom != nil && e.ValueFrom.FileKeyRef != nil {
			variables++
		}
	}
	assert.Equal(t, 1, agents)
	assert.Equal(t, 11, variables, "five of each endpoint, and the path of sse (SAFETY.md P7); SAFETY.md D4: the API server kept the references")
}

// restricted: a pod that Pod Security takes is taken with the agent in it
// (INJECTION.md I4).
func (w *webhookWorld) restricted(t *testing.T) {
	namespace := w.optedIn("restricted", "pod-security.kubernetes.io/enforce", "restricted")
	const spec = "spec: {securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}, containers: [{name: a, image: a, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]}"
	p, err := w.create(t, namespace, fmt.Sprintf(declaring, "p")+spec)
	require.NoError(t, err)
	w.injected(t, p)
}

// untouched: a pod in a namespace that did not opt in is, byte for byte, what
// it is without Orcon; and so is one that opts out or declares nothing.
func (w *webhookWorld) untouched(t *testing.T) {
	const spec = "spec: {automountServiceAccountToken: false, containers: [{name: a, image: a, env: [{name: A, value: b}]}]}"
	elsewhere, here := w.namespace("elsewhere", map[string]string{"world": w.prefix}), w.optedIn("here")
	var specs []string
	for namespace, metadata := range map[string]string{
		elsewhere: fmt.Sprintf(declaring, "p"),
		here:      "metadata: {name: p, annotations: {tengu.io/consumes: sse, injector.tengu.io/inject: 'false'}}\n",
		"default": "metadata: {generateName: " + w.prefix + "-}\n",
	} {
		p, err := w.create(t, namespace, metadata+spec)
		require.NoError(t, err)
		raw, err := w.admin.CoreV1().RESTClient().Get().Namespace(namespace).Resource("pods").Name(p.Name).DoRaw(t.Context())
		require.NoError(t, err)
		var parts map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(raw, &parts))
		specs = append(specs, string(parts["spec"]))
	}
	assert.Equal(t, specs[0], specs[1])
	assert.Equal(t, specs[0], specs[2])
}

// controllers: what a workload says reaches the pods that its controller makes
// (INJECTION.md I30, SAFETY.md I21).
func (w *webhookWorld) controllers(t *testing.T) {
	namespace := w.optedIn("controllers")
	const template = "selector: {matchLabels: {app: %[1]s}}, template: {metadata: {labels: {app: %[1]s}}, spec: {containers: [{name: a, image: a}]}}"
	const pods = "template: {metadata: {labels: {app: %[1]s}}, spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}"
	const head = "metadata: {name: %[1]s, annotations: {tengu.io/consumes: 'sse,db:postgresql?', tengu.io/relations: 'a,b'}}\n"
	tests := map[string]string{
		"deployment":  "apiVersion: apps/v1\nkind: Deployment\n" + head + "spec: {" + template + "}",
		"statefulset": "apiVersion: apps/v1\nkind: StatefulSet\n" + head + "spec: {serviceName: x, " + template + "}",
		"job":         "apiVersion: batch/v1\nkind: Job\n" + head + "spec: {" + pods + "}",
		"cronjob":     "apiVersion: batch/v1\nkind: CronJob\n" + head + "spec: {schedule: '* * * * *', jobTemplate: {spec: {" + pods + "}}}",
	}
	for name, manifest := range tests {
		t.Run(name, func(t *testing.T) {
			w.apply(t, namespace, fmt.Sprintf(manifest, name))
			if name == "cronjob" {
				return // its template is looked at below, not waited for
			}
			var p corev1.Pod
			controlplane.Eventually(t, func() bool {
				list, err := w.admin.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + name})
				if err != nil || len(list.Items) == 0 {
					return false
				}
				p = list.Items[0]
				return true
			}, 30*time.Second)
			w.injected(t, &p)
		})
	}
	c, err := w.admin.BatchV1().CronJobs(namespace).Get(t.Context(), "cronjob", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, "sse,db:postgresql?", c.Spec.JobTemplate.Spec.Template.Annotations["tengu.io/consumes"])
	daemons := "apiVersion: apps/v1\nkind: DaemonSet\n" + head + "spec: {" + template + "}"
	w.apply(t, namespace, fmt.Sprintf(daemons, "daemonset"))
	d, err := w.admin.AppsV1().DaemonSets(namespace).Get(t.Context(), "daemonset", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, "tengu.io/consumes", d.Spec.Template.Annotations["injector.tengu.io/copied"])
}

// kubectl runs kubectl with a manifest on its standard input.
func (w *webhookWorld) kubectl(t *testing.T, manifest string, arguments ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(w.cluster.Programs, "kubectl"), append([]string{"--kubeconfig", w.cluster.Kubeconfig}, arguments...)...)
	command.Stdin = strings.NewReader(manifest)
	out, err := command.CombinedOutput()
	return string(out), err
}

func (w *webhookWorld) apply(t *testing.T, namespace, manifest string) string {
	t.Helper()
	out, err := w.kubectl(t, manifest, "-n", namespace, "apply", "-f", "-")
	require.NoError(t, err, out)
	return out
}

const workload = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s, annotations: {%s}}\nspec: {replicas: 0, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: a}]}}}\n"

// services: what a Service says of its pods is known in time (SAFETY.md I22).
func (w *webhookWorld) services(t *testing.T) {
	namespace := w.optedIn("services")
	w.apply(t, namespace, "apiVersion: v1\nkind: Service\nmetadata: {name: web, annotations: {tengu.io/consumes: sse, tengu.io/relations: a}}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n")
	controlplane.Eventually(t, func() bool {
		out, err := w.kubectl(t, fmt.Sprintf(workload, "web", ""), "-n", namespace, "create", "--dry-run=server", "-o", "yaml", "-f", "-")
		return err == nil && strings.Contains(out, "tengu.io/consumes: sse") && strings.Contains(out, "injector.tengu.io/copied: tengu.io/consumes@web")
	}, 10*time.Second)
}

// refusals reach the person with the field that is wrong (INJECTION.md I30, SAFETY.md
// I24, I28).
func (w *webhookWorld) refusals(t *testing.T) {
	namespace := w.optedIn("refusals")
	service := func(annotations string) string {
		return "apiVersion: v1\nkind: Service\nmetadata: {name: s, annotations: {" + annotations + "}}\nspec: {ports: [{port: 80}]}\n"
	}
	deployment := func(annotations string) string { return fmt.Sprintf(workload, "d", annotations) }
	onChange := func(value, spec string) string {
		template := "template: {metadata: {annotations: {tengu.io/on-change: '" + value + "'}, labels"
		return strings.NewReplacer("template: {metadata: {labels", template, "spec: {containers", "spec: {"+spec+"containers").Replace(deployment(""))
	}
	const related = "tengu.io/relations: x, "
	tests := []struct{ manifest, field, entry string }{
		{service("tengu.io/provides: 'A'"), "metadata.annotations[tengu.io/provides]", `"A"`},
		{service("tengu.io/provides: 'a,'"), "metadata.annotations[tengu.io/provides]", "empty"},
		{service("tengu.io/provides: 'a:b@0'"), "metadata.annotations[tengu.io/provides]", `"a:b@0"`},
		{service("tengu.io/provides: 'a,a'"), "metadata.annotations[tengu.io/provides]", "twice"},
		{service("data.tengu.io/a: '['"), "metadata.annotations[data.tengu.io/a]", "YAML"},
		{service("data.tengu.io/a: '[1]'"), "metadata.annotations[data.tengu.io/a]", "map"},
		{service("data.tengu.io/a: '{b: {c: d}}'"), "metadata.annotations[data.tengu.io/a]", `"b"`},
		{service("data.tengu.io/a.b: 'c: d'"), "metadata.annotations[data.tengu.io/a.b]", "endpoint"},
		{service("tengu.io/peers: a"), "metadata.annotations[tengu.io/peers]", `"a"`},
		{service("tengu.io/retain: x"), "metadata.annotations[tengu.io/retain]", `"x"`},
		{deployment(related + "tengu.io/consumes: 'D B'"), "metadata.annotations[tengu.io/consumes]", "write d-b"},
		{deployment(related + "tengu.io/consumes: '../x'"), "metadata.annotations[tengu.io/consumes]", `"../x"`},
		{deployment(related + "tengu.io/consumes: juju"), "metadata.annotations[tengu.io/consumes]", "reserved"},
		{deployment(related + "tengu.io/consumes: 'db!x'"), "metadata.annotations[tengu.io/consumes]", "limit"},
		{deployment(related + "tengu.io/consumes: 'db@1'"), "metadata.annotations[tengu.io/consumes]", "version"},
		{deployment("tengu.io/relations: A"), "metadata.annotations[tengu.io/relations]", `"A"`},
		{deployment("tengu.io/relations: 'a,a'"), "metadata.annotations[tengu.io/relations]", "twice"},
		{deployment("tengu.io/relations: 'x=a'"), "metadata.annotations[tengu.io/relations]", `"x"`},
		{deployment(related + "tengu.io/consumes: db, tengu.io/env: x"), "metadata.annotations[tengu.io/env]", `"x"`},
		{deployment(related + "tengu.io/consumes: ld, tengu.io/env: ld=preload"), "metadata.annotations[tengu.io/env]", "LD_PRELOAD"},
		{deployment("tengu.io/on-change: x"), "metadata.annotations[tengu.io/on-change]", `"x"`},
		{onChange("http://elsewhere:80/x", ""), "spec.template.metadata.annotations[tengu.io/on-change]", "write http::80/x"},
		{onChange("signal:HUP", "securityContext: {runAsUser: 1000}, "), "spec.template.metadata.annotations[tengu.io/on-change]", "set spec.shareProcessNamespace: true"},
		{onChange("signal:HUP", "shareProcessNamespace: true, securityContext: {runAsUser: 0}, "), "spec.template.metadata.annotations[tengu.io/on-change]", "set spec.securityContext.runAsUser"},
		{"apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {tengu.io/on-change: 'exec:a | b', injector.tengu.io/handler-image: i}}\nspec: {containers: [{name: a, image: a}]}\n", "tengu.io/on-change", "no shell reads it"},
		{"apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {tengu.io/consumes: db, tengu.io/relations: x}}\nspec: {containers: [{name: a, image: a, volumeMounts: [{name: orcon-identity, mountPath: /x}]}]}\n", "spec.containers[0].volumeMounts[0].name", `"orcon-identity"`},
		{deployment("tengu.io/gate: x"), "metadata.annotations[tengu.io/gate]", `"x"`},
		{deployment("injector.tengu.io/inject: x"), "metadata.annotations[injector.tengu.io/inject]", `"x"`},
		{"apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {tengu.io/consumes: 'D B'}}\nspec: {containers: [{name: a, image: a}]}\n", "tengu.io/consumes", `"D B"`},
	}
	for _, tc := range tests {
		t.Run(tc.field+tc.entry, func(t *testing.T) {
			out, err := w.kubectl(t, tc.manifest, "-n", namespace, "create", "-f", "-")
			require.Error(t, err)
			assert.Contains(t, out, tc.field)
			assert.Contains(t, strings.ReplaceAll(out, `\"`, `"`), tc.entry)
		})
	}
}

// warnings reach the person who sends the object (INJECTION.md I1).
func (w *webhookWorld) warnings(t *testing.T) {
	namespace := w.optedIn("warnings")
	out := w.apply(t, namespace, fmt.Sprintf(workload, "typo", "tengu.io/consume: db"))
	assert.Contains(t, out, "Warning: metadata.annotations[tengu.io/consume]: this key is unknown and has no effect; did you mean tengu.io/consumes?")
	out = w.apply(t, namespace, fmt.Sprintf(workload, "alone", "tengu.io/consumes: db"))
	assert.Contains(t, out, "tengu.io/relations is missing")
	const bare = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s, annotations: {%s}}\nspec: {containers: [{name: a, image: a}]}"
	out = w.apply(t, namespace, fmt.Sprintf(bare, "bare", "tengu.io/consume: db, tengu.io/relation: pg"))
	assert.Contains(t, out, "Warning: metadata.annotations[tengu.io/consume]: this key is unknown and has no effect; did you mean tengu.io/consumes?")
	out = w.apply(t, namespace, fmt.Sprintf(bare, "injected", "tengu.io/consumes: db, tengu.io/relation: pg"))
	assert.Equal(t, 1, strings.Count(out, "did you mean tengu.io/relations?"), "one webhook or the other: %s", out)
	assert.NotContains(t, w.apply(t, namespace, fmt.Sprintf(bare, "plain", "app: web")), "Warning")
}

// outside an opted-in namespace whoever declares something hears that it does
// nothing (INJECTION.md I1); controllers' pods and objects that declare nothing
// are not even sent (I5).
func (w *webhookWorld) outside(t *testing.T) {
	namespace := w.namespace("outside", map[string]string{"world": w.prefix})
	const said = "it has no effect, because namespace %s has not opted in; label the namespace tengu-injector=enabled"
	tests := map[string]struct{ manifest, want string }{
		"Workload": {fmt.Sprintf(workload, "web", "tengu.io/consumes: db"), "metadata.annotations[tengu.io/consumes]: " + said},
		"Template": {"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: tick}\nspec: {schedule: '0 0 1 1 *', jobTemplate: {spec: {template: {metadata: {annotations: {tengu.io/consumes: db}}, spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}}", "spec.jobTemplate.spec.template.metadata.annotations[tengu.io/consumes]: " + said},
		"Service":  {"apiVersion: v1\nkind: Service\nmetadata: {name: db, labels: {tengu.io/provides: db}}\nspec: {type: ExternalName, externalName: x.y}", "metadata.labels[tengu.io/provides]: " + said},
		"Pod":      {"apiVersion: v1\nkind: Pod\n" + fmt.Sprintf(declaring, "bare") + "spec: {containers: [{name: a, image: a}]}", "metadata.annotations[tengu.io/consumes]: " + said},
		"Data":     {"apiVersion: v1\nkind: Service\nmetadata: {name: data, annotations: {data.tengu.io/db: 'a: b'}}\nspec: {type: ExternalName, externalName: x.y}", "metadata.annotations[data.tengu.io/db]: " + said},
		"Nothing":  {"apiVersion: v1\nkind: Service\nmetadata: {name: plain, labels: {app: web}, annotations: {xtengu.io/y: z}}\nspec: {type: ExternalName, externalName: x.y}", ""},
		"OptedOut": {"apiVersion: v1\nkind: Pod\nmetadata: {name: out, annotations: {injector.tengu.io/inject: 'false'}}\nspec: {containers: [{name: a, image: a}]}", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			out := w.apply(t, namespace, tc.manifest)
			if tc.want == "" {
				assert.NotContains(t, out, "Warning")
				return
			}
			assert.Contains(t, out, "Warning: "+fmt.Sprintf(tc.want, namespace))
			again, err := w.kubectl(t, tc.manifest, "-n", namespace, "label", "--overwrite", "-f", "-", "x=y")
			require.NoError(t, err, again)
			assert.NotContains(t, again, "Warning", "what was said once is not said at every change")
		})
	}
	system := w.prefix + "-system"
	_, err := w.kubectl(t, "", "label", "namespace", system, "world="+w.prefix)
	require.NoError(t, err)
	assert.Contains(t, w.apply(t, system, fmt.Sprintf(workload, "web", "tengu.io/consumes: db")),
		"it has no effect, because Orcon itself runs in namespace "+system+"; declare it in another namespace")
}

// updates of what was admitted follow the workload (INJECTION.md I12, I30).
func (w *webhookWorld) updates(t *testing.T) {
	namespace := w.optedIn("updates")
	consumes := func() string {
		d, err := w.admin.AppsV1().Deployments(namespace).Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err)
		return d.Spec.Template.Annotations["tengu.io/consumes"]
	}
	w.apply(t, namespace, fmt.Sprintf(workload, "web", "tengu.io/consumes: db, tengu.io/relations: a"))
	assert.Equal(t, "db", consumes())
	w.apply(t, namespace, fmt.Sprintf(workload, "web", "tengu.io/consumes: 'db,sse', tengu.io/relations: a"))
	assert.Equal(t, "db,sse", consumes())
	w.apply(t, namespace, fmt.Sprintf(workload, "web", ""))
	assert.Empty(t, consumes())
	p, err := w.create(t, namespace, fmt.Sprintf(declaring, "p")+"spec: {containers: [{name: a, image: a}]}")
	require.NoError(t, err)
	out, err := w.kubectl(t, "", "-n", namespace, "label", "pod", p.Name, "x=y")
	require.NoError(t, err, out)
	out, err = w.kubectl(t, "", "-n", namespace, "delete", "pod", p.Name, "--wait=false")
	require.NoError(t, err, out)
}

// configuration is followed, and a wrong one changes nothing.
func (w *webhookWorld) configuration(t *testing.T) {
	namespace := w.optedIn("configuration")
	image := func() string {
		p, err := w.create(t, namespace, fmt.Sprintf(declaring, "p")+"spec: {containers: [{name: a, image: a}]}", metav1.DryRunAll)
		require.NoError(t, err)
		return p.Spec.InitContainers[len(p.Spec.InitContainers)-1].Image
	}
	write := func(text string) { require.NoError(t, os.WriteFile(w.config, []byte(text), 0o600)) }
	write("initContainers: [{name: unit, image: 'unit:1'}]\nagent: {image: 'agent:next'}\n")
	controlplane.Eventually(t, func() bool { return image() == "agent:next" }, 15*time.Second)
	p, err := w.create(t, namespace, fmt.Sprintf(declaring, "p")+"spec: {containers: [{name: a, image: a}]}", metav1.DryRunAll)
	require.NoError(t, err)
	assert.Equal(t, "unit", p.Spec.InitContainers[0].Name, "PROTOTYPE.md: as written, before the agent")
	write("agent: {imge: x}\n")
	tick, end := time.NewTicker(500*time.Millisecond), time.After(3*time.Second)
	defer tick.Stop()
	for looking := true; looking; {
		assert.Equal(t, "agent:next", image(), "a wrong configuration changes nothing")
		select {
		case <-tick.C:
		case <-end:
			looking = false
		}
	}
}

// shutdown loses no admission: what is asked before the end is answered, on
// connections that are open as the API server's are.
func (w *webhookWorld) shutdown(t *testing.T) {
	const body = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","resource":{"resource":"pods"},"operation":"CREATE","object":{"metadata":{"annotations":{"tengu.io/consumes":"a"}},"spec":{"containers":[{"name":"a"}]}}}}`
	url := fmt.Sprintf("https://127.0.0.1:%d/mutate", w.port)
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(w.port))
	const many = 8
	begun, ending, answered := make(chan struct{}, many), make(chan struct{}), make(chan error, many)
	for range many {
		reader, writer := io.Pipe()
		go func() {
			_, _ = io.WriteString(writer, body[:100])
			begun <- struct{}{}
			<-ending
			_, _ = io.WriteString(writer, body[100:])
			_ = writer.Close()
		}()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, reader)
		require.NoError(t, err)
		// The body is sent when the webhook begins to read it: only then does it know of
		// the request. It may close a connection on which it has read nothing.
		request.Header.Set("Expect", "100-continue")
		request.Header.Set("Content-Type", "application/json")
		go func() {
			response, err := w.dial().Do(request)
			if err == nil {
				_ = response.Body.Close()
				if response.StatusCode != http.StatusOK {
					err = fmt.Errorf("answered %s", response.Status)
				}
			}
			answered <- err
		}()
	}
	for range many {
		<-begun
	}
	require.NoError(t, w.command.Process.Signal(syscall.SIGTERM))
	controlplane.Eventually(t, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	}, 10*time.Second, "it listens no more")
	close(ending)
	for range many {
		require.NoError(t, <-answered)
	}
}

package bundles

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/cluster"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// workload is a Deployment that was there before.
const workload = `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: old
        env: [{name: KEEP, value: mine}]
        ports: [{containerPort: 80}]
`

// claim installs manifests over what is there.
func (w *world) claim(policy bundle.ConflictPolicy, manifests string) {
	w.t.Helper()
	p := w.process(-1)
	wish := p.wish(w.t, manifests)
	wish.Conflicts = policy
	require.NoError(w.t, p.install(wish))
}

// theirs is what others see of an object, without what the controller of Deployments counts.
func (w *world) theirs(kind, name string) string {
	w.t.Helper()
	path := `{.metadata.uid} {.metadata.labels} {.metadata.annotations} {.data} {.spec}`
	seen := w.cluster.Kubectl(w.t, "-n", w.namespace, "get", kind, name, "-o", "jsonpath="+path)
	return regexp.MustCompile(`"deployment.kubernetes.io/revision":"\d+",?`).ReplaceAllString(seen, "")
}

// fieldsOf reports whether Orcon is a manager of fields of an object.
func (w *world) fieldsOf(kind, name string) bool {
	managers := w.cluster.Kubectl(w.t, "-n", w.namespace, "get", kind, name, "--show-managed-fields", "-o", "jsonpath={.metadata.managedFields[*].manager}")
	return strings.Contains(" "+managers+" ", " "+cluster.Manager+" ")
}

// TRUST.md T9: what was adopted is left as it was found, whatever revisions changed since; what
// others changed meanwhile stays theirs.
func TestAdoptedObjectsAreGivenBack(t *testing.T) {
	w := newWorld(t)
	mine := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "colour", Labels: map[string]string{"mine": "yes"}}, Data: map[string]string{"colour": "mine", "theirs": "1"},
	}
	_, err := w.client.CoreV1().ConfigMaps(w.namespace).Create(t.Context(), mine, metav1.CreateOptions{FieldManager: "somebody"})
	require.NoError(t, err)
	w.apply(strings.ReplaceAll(workload, "name: web}", "name: web, namespace: "+w.namespace+"}"))
	config, deployment := w.theirs("configmap", "colour"), w.theirs("deployment", "web")

	w.claim(bundle.TakeAll, blue+extra+workload)
	w.change("colour", "theirs", "2")
	changed := strings.NewReplacer("image: old", "image: new", "value: mine", "value: ours", "ports:", "args: [run]\n        ports:").Replace(workload)
	w.claim(bundle.TakeAll, green+changed)
	assert.NotEqual(t, deployment, w.theirs("deployment", "web"))

	require.NoError(t, w.process(-1).uninstall())
	assert.Equal(t, strings.ReplaceAll(config, `"theirs":"1"`, `"theirs":"2"`), w.theirs("configmap", "colour"))
	assert.Equal(t, deployment, w.theirs("deployment", "web"))
	assert.NotContains(t, w.configMaps(), "extra", "what it made is gone")
	assert.False(t, w.fieldsOf("configmap", "colour"))
	assert.False(t, w.fieldsOf("deployment", "web"))
}

// TRUST.md T9: an adopted Secret keeps its values, and an adopted object that leaves the bundle
// stays too.
func TestAdoptedObjectLeavesTheBundle(t *testing.T) {
	w := newWorld(t)
	key := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "key"}, StringData: map[string]string{"user": "alice"}}
	_, err := w.client.CoreV1().Secrets(w.namespace).Create(t.Context(), key, metav1.CreateOptions{FieldManager: "somebody"})
	require.NoError(t, err)

	w.claim(bundle.AdoptUnowned, blue+secret)
	w.claim(bundle.AdoptUnowned, blue)
	back, err := w.client.CoreV1().Secrets(w.namespace).Get(t.Context(), "key", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, map[string][]byte{"user": []byte("alice")}, back.Data)
	assert.Empty(t, back.Annotations)
	assert.Empty(t, back.Labels)
}

// TRUST.md T9: an object that was deleted and made again is the deployment's own.
func TestRecreatedObjectIsNotGivenBack(t *testing.T) {
	w := newWorld(t)
	_, err := w.client.CoreV1().ConfigMaps(w.namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "extra"}}, metav1.CreateOptions{FieldManager: "somebody"})
	require.NoError(t, err)
	w.claim(bundle.AdoptUnowned, extra)
	require.NoError(t, w.client.CoreV1().ConfigMaps(w.namespace).Delete(t.Context(), "extra", metav1.DeleteOptions{}))
	w.claim(bundle.AdoptUnowned, extra)
	require.NoError(t, w.process(-1).uninstall())
	assert.NotContains(t, w.configMaps(), "extra")
}

// TRUST.md T9: a process that is killed before any of its writes loses nothing that was there.
func TestAdoptionSurvivesKills(t *testing.T) {
	w := newWorld(t)
	mine := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "colour"}, Data: map[string]string{"colour": "mine"}}
	_, err := w.client.CoreV1().ConfigMaps(w.namespace).Create(t.Context(), mine, metav1.CreateOptions{FieldManager: "somebody"})
	require.NoError(t, err)
	before := w.theirs("configmap", "colour")
	killed := 0
	repeat := func(do func(p process) error) {
		for writes := int64(0); do(w.process(writes)) != nil; writes++ {
			killed++
			require.Less(t, writes, int64(20))
		}
	}
	repeat(func(p process) error {
		wish := p.wish(t, blue)
		wish.Conflicts = bundle.TakeAll
		return p.install(wish)
	})
	assert.Equal(t, "blue", w.configMaps()["colour"]["colour"])
	repeat(func(p process) error { return p.uninstall() })
	assert.Greater(t, killed, 6)
	assert.Equal(t, before, w.theirs("configmap", "colour"))
	assert.False(t, w.fieldsOf("configmap", "colour"))
}

// TRUST.md T9: the deletion of a BundleDeployment gives back what it has adopted.
func TestDeploymentGivesBack(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	mine := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "a"}, Data: map[string]string{"k": "mine"}}
	require.NoError(t, w.admin.Create(w.ctx, mine))
	d := w.bundle(configMap("a", "1") + configMap("b", "1"))
	d.Spec.Conflicts = "Take"
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "Healthy")
	require.Equal(t, "1", w.configMaps()["a"]["k"])
	require.NoError(t, w.admin.Delete(w.ctx, d))
	controlplane.Eventually(t, func() bool {
		return apierrors.IsNotFound(w.admin.Get(w.ctx, client.ObjectKeyFromObject(d), d))
	}, soon)
	assert.Equal(t, map[string]string{"k": "mine"}, w.configMaps()["a"])
	assert.NotContains(t, w.configMaps(), "b")
}

// deployedByQontract is a Deployment that Qontract applied at a time.
func (w *world) deployedByQontract(at time.Time) {
	w.t.Helper()
	marks := fmt.Sprintf("name: web, namespace: %s, annotations: {qontract.integration: github, qontract.update: %q}}", w.namespace,
		at.UTC().Format("2006-01-02T15:04:05"))
	text := strings.Replace(workload, "name: web}", marks, 1)
	w.apply(strings.Replace(text, "image: old", "image: old\n        args: [run]", 1))
}

// plans returns the plan for manifests.
func (w *world) plans(policy bundle.ConflictPolicy, manifests string) (bundle.Plan, error) {
	w.t.Helper()
	p := w.process(-1)
	wish := p.wish(w.t, manifests)
	wish.Conflicts = policy
	return p.Plan(w.t.Context(), wish)
}

// FLEET-DESIGN.md 11: a workload that Qontract deployed is taken over without a restart, once Qontract has left it alone for
// an hour. Fields that Qontract's client had set are then the deployment's.
func TestTakenFromQontract(t *testing.T) {
	w := newWorld(t)
	same := strings.Replace(workload, "image: old", "image: old\n        args: [run]", 1)
	w.deployedByQontract(time.Now().Add(-time.Minute))
	p, err := w.plans(bundle.AdoptUnowned, same)
	require.NoError(t, err)
	require.Len(t, p.Conflicts, 1)
	assert.Contains(t, p.Conflicts[0].String(), "is managed by Qontract integration github")
	p, err = w.plans(bundle.TakeAll, same)
	require.NoError(t, err)
	require.Len(t, p.Conflicts, 1)
	assert.Contains(t, p.Conflicts[0].String(), "less than an hour ago")

	w.deployedByQontract(time.Now().Add(-2 * time.Hour))
	p, err = w.plans(bundle.TakeAll, same)
	require.NoError(t, err)
	require.Empty(t, p.Conflicts)
	assert.Equal(t, "is managed by Qontract integration github; pod template unchanged", p.Actions[0].Why)
	assert.False(t, p.Actions[0].Restarts)
	spec := func() string {
		return w.cluster.Kubectl(t, "-n", w.namespace, "get", "deployment", "web", "-o", "jsonpath={.spec}")
	}
	before := spec()
	w.claim(bundle.TakeAll, same)
	assert.Equal(t, before, spec())
	assert.NotContains(t, w.theirs("deployment", "web"), "qontract")
	assert.NotContains(t, w.theirs("deployment", "web"), "last-applied")

	w.claim(bundle.Prevent, strings.Replace(same, "        args: [run]\n", "", 1))
	assert.NotContains(t, w.theirs("deployment", "web"), "args")
}

// FLEET-DESIGN.md 11: a plan shows the fields of Qontract's that the bundle does not have; they go, and come back with the object.
func TestTakenFromQontractWithLess(t *testing.T) {
	w := newWorld(t)
	w.deployedByQontract(time.Now().Add(-2 * time.Hour))
	before := w.theirs("deployment", "web")
	p, err := w.plans(bundle.TakeAll, workload)
	require.NoError(t, err)
	assert.True(t, p.Actions[0].Restarts)
	require.Len(t, p.Actions[0].Changes, 1, "%+v", p.Actions[0].Changes)
	assert.Equal(t, `["run"]`, p.Actions[0].Changes[0].Before)
	w.claim(bundle.TakeAll, workload)
	assert.NotContains(t, w.theirs("deployment", "web"), "args")
	require.NoError(t, w.process(-1).uninstall())
	assert.Equal(t, before, w.theirs("deployment", "web"))
}

// FLEET-DESIGN.md 11: a container that the bundle names otherwise takes the place of Qontract's.
func TestTakenFromQontractWithAnotherContainer(t *testing.T) {
	w := newWorld(t)
	w.deployedByQontract(time.Now().Add(-2 * time.Hour))
	before := w.theirs("deployment", "web")
	renamed := strings.Replace(workload, "- name: web", "- name: int", 1)
	p, err := w.plans(bundle.TakeAll, renamed)
	require.NoError(t, err)
	assert.True(t, p.Actions[0].Restarts)
	w.claim(bundle.TakeAll, renamed)
	names := w.cluster.Kubectl(t, "-n", w.namespace, "get", "deployment", "web", "-o", "jsonpath={.spec.template.spec.containers[*].name}")
	assert.Equal(t, "int", names)
	require.NoError(t, w.process(-1).uninstall())
	assert.Equal(t, before, w.theirs("deployment", "web"))
}

// A deployment that is deleted with deletionPolicy: Orphan leaves what it made and what it adopted as they are, without a
// mark, and another one can adopt them (FLEET.md O4).
func TestOrphans(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	mine := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "a"}, Data: map[string]string{"k": "mine"}}
	require.NoError(t, w.admin.Create(w.ctx, mine))
	d := w.bundle(configMap("a", "1") + configMap("b", "1"))
	d.Spec.Conflicts, d.Spec.DeletionPolicy = "Take", v1alpha1.DeletionPolicyOrphan
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "Healthy")
	require.NoError(t, w.admin.Delete(w.ctx, d))
	controlplane.Eventually(t, func() bool {
		return apierrors.IsNotFound(w.admin.Get(w.ctx, client.ObjectKeyFromObject(d), d))
	}, soon)
	for _, name := range []string{"a", "b"} {
		var now corev1.ConfigMap
		require.NoError(t, w.admin.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, &now))
		assert.Equal(t, map[string]string{"k": "1"}, now.Data, name)
		assert.Empty(t, now.Annotations, name)
		assert.Empty(t, now.Labels, name)
		for _, entry := range now.ManagedFields {
			assert.NotEqual(t, cluster.Manager, entry.Manager, name)
		}
	}
}

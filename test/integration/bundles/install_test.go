package bundles

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/cluster"
	engine "gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// What some bundles are made of.
const (
	blue    = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: colour}\ndata: {colour: blue, size: '3'}\n"
	green   = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: colour}\ndata: {colour: green}\n"
	extra   = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\ndata: {a: b}\n"
	secret  = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {password: hunter2}\n"
	service = "---\napiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {type: ExternalName, externalName: example.org}\n"
	// broken is a Deployment that never becomes healthy: nothing here runs pods.
	broken = `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  progressDeadlineSeconds: 2
  minReadySeconds: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: none}]}
`
)

// An upgrade changes what differs, and deletes what left the bundle after all else has
// succeeded; the same again writes nothing (BUNDLES.md 2 and 3).
func TestUpgrade(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.install(blue+extra+secret+service))
	assert.Equal(t, map[string]map[string]string{"colour": {"colour": "blue", "size": "3"}, "extra": {"a": "b"}}, w.configMaps())

	writes := w.writes.Load()
	require.NoError(t, w.install(blue+extra+secret+service))
	assert.Equal(t, writes, w.writes.Load(), "the same again writes nothing")

	require.NoError(t, w.install(green+secret+service))
	assert.Equal(t, map[string]map[string]string{"colour": {"colour": "green"}}, w.configMaps(), "a field and an object that left the bundle are gone")
}

// A plan writes nothing, and shows no secret (BUNDLES.md 1 and 10).
func TestPlanWritesNothing(t *testing.T) {
	w := newWorld(t)
	p := w.process(0)
	plan, err := p.Plan(t.Context(), p.wish(t, blue+secret))
	require.NoError(t, err)
	assert.True(t, plan.Changes())
	assert.Empty(t, w.secrets())

	require.NoError(t, w.install(blue+secret))
	p = w.process(0)
	plan, err = p.Plan(t.Context(), p.wish(t, blue+strings.ReplaceAll(secret, "hunter2", "hunter3")))
	require.NoError(t, err)
	plan.Sequence = nil
	text, err := json.Marshal(plan)
	require.NoError(t, err)
	assert.Contains(t, string(text), "data.password")
	for _, value := range []string{"hunter2", "hunter3", "aHVudGVyMg", "aHVudGVyMw"} {
		assert.NotContains(t, string(text), value)
	}
}

// What the API server would refuse is found before the first write (BUNDLES.md 1).
func TestRefusedBeforeTheFirstWrite(t *testing.T) {
	w := newWorld(t)
	err := w.install(blue + strings.ReplaceAll(extra, "\ndata:", "\ndatum:"))
	require.ErrorContains(t, err, "datum")
	require.Error(t, w.install(blue+strings.ReplaceAll(service, "example.org", "'not a name'")))
	require.ErrorContains(t, w.install(strings.ReplaceAll(blue, "name: colour", "name: colour, namespace: nowhere")), "namespace nowhere does not exist: kubectl create namespace nowhere")
	assert.Zero(t, w.writes.Load())
}

// What is wrong in a Secret is told without what it holds, be it there already or not
// (BUNDLES.md 10).
func TestRefusedSecretIsNotShown(t *testing.T) {
	w := newWorld(t)
	refused := func() {
		t.Helper()
		for _, wrong := range []string{"data: {password: '!27182818!'}", "data: {a key: MjcxODI4MTg=}"} {
			err := w.install(strings.ReplaceAll(secret, "stringData: {password: hunter2}", wrong))
			require.ErrorContains(t, err, "Secret", wrong)
			assert.NotContains(t, err.Error(), "27182818")
			assert.NotContains(t, err.Error(), "MjcxODI4MTg")
		}
	}
	refused()
	require.NoError(t, w.install(secret))
	refused()
}

// What somebody else has made is in the way, and stays as it is (BUNDLES.md 5).
func TestForeignObject(t *testing.T) {
	w := newWorld(t)
	mine := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "colour"}, Data: map[string]string{"colour": "mine"}}
	_, err := w.client.CoreV1().ConfigMaps(w.namespace).Create(t.Context(), mine, metav1.CreateOptions{FieldManager: "somebody"})
	require.NoError(t, err)

	var refused *bundle.RefusedError
	require.ErrorAs(t, w.install(blue), &refused)
	assert.Equal(t, bundle.Conflicted, refused.Reason)
	assert.Zero(t, w.writes.Load())
	assert.Equal(t, "mine", w.configMaps()["colour"]["colour"])

	p := w.process(-1)
	wish := p.wish(t, blue)
	wish.Conflicts = bundle.TakeAll
	require.NoError(t, p.install(wish))
	assert.Equal(t, "blue", w.configMaps()["colour"]["colour"], "a plan that takes lists it, and does it")
}

// Fields are taken back where they were ours, and from nobody else (BUNDLES.md 2).
func TestFieldsOfOthers(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.install(blue))
	w.change("colour", "colour", "red")
	w.change("colour", "theirs", "new")
	require.NoError(t, w.install(blue))
	assert.Equal(t, map[string]string{"colour": "blue", "size": "3", "theirs": "new"}, w.configMaps()["colour"])

	var refused *bundle.RefusedError
	require.ErrorAs(t, w.install(strings.ReplaceAll(blue, "size:", "theirs:")), &refused)
	assert.Equal(t, bundle.Conflicted, refused.Reason)
	assert.Equal(t, "new", w.configMaps()["colour"]["theirs"])
}

// Definitions are confirmed by name before they are deleted (BUNDLES.md 4), and not while
// others use them; with the deployment goes all that it made (BUNDLES.md 7).
func TestUninstall(t *testing.T) {
	w := newWorld(t)
	group := w.namespace + ".example.org"
	definition := strings.ReplaceAll(`---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.GROUP}
spec:
  group: GROUP
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
---
apiVersion: GROUP/v1
kind: Widget
metadata: {name: one}
`, "GROUP", group)
	require.NoError(t, w.install(blue+secret+definition))

	var refused *bundle.RefusedError
	require.ErrorAs(t, w.process(-1).uninstall(), &refused)
	assert.Equal(t, bundle.Confirm, refused.Reason)

	foreign := "apiVersion: " + group + "/v1\nkind: Widget\nmetadata: {name: foreign, namespace: " + w.namespace + "}\n"
	w.apply(foreign)
	writes := w.writes.Load()
	require.ErrorAs(t, w.process(-1).uninstall("CustomResourceDefinition/widgets."+group), &refused)
	assert.Equal(t, bundle.InUse, refused.Reason)
	assert.Equal(t, writes, w.writes.Load(), "what would serve it is still there")

	w.cluster.Kubectl(t, "-n", w.namespace, "delete", "widgets."+group, "foreign")
	require.NoError(t, w.process(-1).uninstall("CustomResourceDefinition/widgets."+group))
	assert.Empty(t, w.configMaps())
	controlplane.Eventually(t, func() bool { return len(w.secrets()) == 0 }, time.Minute, "what was stored is collected")
	assert.NotContains(t, w.cluster.Kubectl(t, "get", "crd", "-o", "name"), group)
}

// What fails comes back to what was healthy, and is not tried again (BUNDLES.md 6).
func TestWayBack(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.install(blue+extra))
	var failed *engine.FailedError
	require.ErrorAs(t, w.install(green+broken), &failed)
	assert.Equal(t, 3, failed.Back)
	assert.Equal(t, map[string]map[string]string{"colour": {"colour": "blue", "size": "3"}, "extra": {"a": "b"}}, w.configMaps())
	_, err := w.client.AppsV1().Deployments(w.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "what the failed revision made is gone")

	writes := w.writes.Load()
	require.ErrorIs(t, w.install(green+broken), bundle.ErrQuarantined)
	assert.Equal(t, writes, w.writes.Load())
}

// Of two who want something else the first ends as soon as the second has begun: neither puts
// right for long what the other writes (BUNDLES.md 2).
func TestAnotherBegins(t *testing.T) {
	w := newWorld(t)
	first := make(chan error, 1)
	go func() {
		first <- w.install(blue + strings.ReplaceAll(broken, "progressDeadlineSeconds: 2", "progressDeadlineSeconds: 600"))
	}()
	controlplane.Eventually(t, func() bool { return w.configMaps()["colour"]["colour"] == "blue" }, soon)
	require.NoError(t, w.install(green))
	require.ErrorIs(t, <-first, cluster.ErrMoved)
	assert.Equal(t, "green", w.configMaps()["colour"]["colour"])
}

// Who is too slow is told that somebody else was at work (BUNDLES.md 2).
func TestTwoAtOnce(t *testing.T) {
	w := newWorld(t)
	slow := w.process(-1)
	wish := slow.wish(t, blue)
	plan, err := slow.Plan(t.Context(), wish)
	require.NoError(t, err)
	require.NoError(t, w.install(green))
	require.Error(t, slow.Install(t.Context(), plan, wish))
	assert.Equal(t, "green", w.configMaps()["colour"]["colour"])
}

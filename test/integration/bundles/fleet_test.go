package bundles

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/cluster"
	bundle "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/bundledeployment"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/fleet"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
	webhook "gitlab.ilabt.imec.be/tengu/orcon/webhook/fleet"
)

// templates render an OpenShift Template with a ConfigMap for each shard, and one that all of a namespace share.
const templates = `apiVersion: template.openshift.io/v1
kind: Template
metadata: {name: qr}
parameters:
- {name: CHANNEL, value: none}
objects:
{{- range concat .Values.integrations .Values.cronjobs }}{{ $one := . }}
{{- range .shard_specs }}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: "qr-{{ $one.name }}{{ .shard_name_suffix }}"}
  data: {k: "{{ $.Values.mark }}${CHANNEL} {{ .extra_args }}"}
{{- end }}{{ end }}
{{- if not .Values.excludeService }}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: shared}
{{- end }}
`

// fleetWorld is a namespace with an IntegrationSet, and the controllers that keep it.
type fleetWorld struct {
	*operated

	set     *v1alpha1.IntegrationSet
	webhook http.Handler
	// data are the files of the ConfigMap that the set reads.
	data map[string]string
}

// newFleet returns a namespace without a set yet; change gets the reconciler of sets and the namespace.
func newFleet(t *testing.T, change ...func(*fleet.Reconciler, string)) *fleetWorld {
	t.Helper()
	w := &fleetWorld{operated: newOperated(t), data: map[string]string{}}
	require.NoError(t, v1alpha1.AddToScheme(w.admin.Scheme()))
	w.controller(func(r *bundledeployment.Reconciler, m manager.Manager) {
		connect := func(account, owner string) (fleet.Inputs, error) {
			as := rest.CopyConfig(w.config)
			as.Impersonate = rest.ImpersonationConfig{UserName: account}
			return cluster.As(as, m.GetRESTMapper(), owner)
		}
		sets := &fleet.Reconciler{
			Client: m.GetClient(), Reader: m.GetAPIReader(), Events: m.GetEventRecorder("bundle-controller"),
			Contents: r.Contents, Places: r.Places, Now: time.Now, Resync: time.Second, Connect: connect,
			Running: func(ctx context.Context, account, namespace, variable, value string) (map[string]string, error) {
				as := rest.CopyConfig(w.config)
				as.Impersonate = rest.ImpersonationConfig{UserName: account}
				c, err := client.New(as, client.Options{Mapper: m.GetRESTMapper()})
				require.NoError(t, err)
				return cluster.Running(ctx, c, namespace, variable, value)
			},
		}
		for _, do := range change {
			do(sets, w.namespace)
		}
		require.NoError(t, sets.Setup(m))
		w.webhook = webhook.New(&fleet.Waker{Client: m.GetClient(), Reader: m.GetAPIReader(), Now: time.Now, Connect: connect}, time.Millisecond)
	})
	w.files("chart", map[string]string{"Chart.yaml": "apiVersion: v2\nname: qr\nversion: 1.0.0\n"})
	w.files("templates", map[string]string{"all.yaml": templates})
	w.data["ns.yml"] = "$schema: /openshift/lean-namespace-1.yml\nname: " + w.namespace + "\n" +
		"cluster: {name: one}\nenvironment: {name: prod, parameters: {CHANNEL: ops, SPARE: x}}\n"
	w.data["far.yml"] = "$schema: /openshift/lean-namespace-1.yml\nname: far\ncluster: {name: two}\nenvironment: {name: prod}\n"
	w.set = &v1alpha1.IntegrationSet{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "fleet"}}
	w.set.Spec.Cluster, w.set.Spec.Environments = "one", []string{"prod"}
	w.set.Spec.Data.Sources = []bundle.BundleSource{{Reference: "configmaps:data"}}
	w.set.Spec.Chart.Sources = []bundle.BundleSource{{Reference: "configmaps:chart"}, {Reference: "configmaps:templates", Destination: "templates"}}
	w.set.Spec.Chart.Values = &runtime.RawExtension{Raw: []byte(`{"mark": "#"}`)}
	return w
}

// files writes a ConfigMap.
func (w *fleetWorld) files(name string, data map[string]string) {
	w.t.Helper()
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, Data: data}
	if err := w.admin.Create(w.ctx, c); !apierrors.IsAlreadyExists(err) {
		require.NoError(w.t, err)
		return
	}
	require.NoError(w.t, w.admin.Update(w.ctx, c))
}

// declares writes the file of an integration that runs here, with the lines of its entry; without any it is removed.
func (w *fleetWorld) declares(integration string, lines ...string) {
	w.t.Helper()
	if delete(w.data, integration+".yml"); len(lines) > 0 {
		w.data[integration+".yml"] = "$schema: /app-sre/integration-1.yml\nname: " + integration + "\nmanaged:\n" +
			"- namespace: {$ref: /ns.yml}\n  " + strings.Join(lines, "\n  ") + "\n" +
			"- namespace: {$ref: /far.yml}\n  spec: {resources: {limits: {memory: 1Mi}}}\n"
	}
	w.files("data", w.data)
}

// becomes waits until the set is ready for a reason, and returns the message.
func (w *fleetWorld) becomes(reason string) string {
	w.t.Helper()
	var last metav1.Condition
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("waited for %s, and last was %+v, waits %v", reason, last, w.set.Status.Waits)
		}
	})
	controlplane.Eventually(w.t, func() bool {
		if w.admin.Get(w.ctx, client.ObjectKeyFromObject(w.set), w.set) != nil {
			return false
		}
		if ready := meta.FindStatusCondition(w.set.Status.Conditions, "Ready"); ready != nil {
			last = *ready
		}
		return last.Reason == reason && last.ObservedGeneration == w.set.Generation
	}, soon)
	for _, c := range w.set.Status.Conditions {
		if c.Type == "Stalled" && c.Status == metav1.ConditionTrue {
			return c.Message
		}
	}
	return last.Message
}

// change changes the set until nobody is in between.
func (w *fleetWorld) change(do func()) {
	w.t.Helper()
	controlplane.Eventually(w.t, func() bool {
		require.NoError(w.t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(w.set), w.set))
		do()
		return w.admin.Update(w.ctx, w.set) == nil
	}, soon)
}

// members returns the members by integration.
func (w *fleetWorld) members() map[string]bundle.BundleDeployment {
	w.t.Helper()
	var list bundle.BundleDeploymentList
	require.NoError(w.t, w.admin.List(w.ctx, &list, client.InNamespace(w.namespace)))
	all := map[string]bundle.BundleDeployment{}
	for _, d := range list.Items {
		all[d.Annotations[v1alpha1.IntegrationKey]] = d
	}
	return all
}

// stamped lists the ConfigMaps that the members made.
func (w *fleetWorld) stamped() map[string]string {
	all := map[string]string{}
	for name, c := range w.configMaps() {
		if strings.HasPrefix(name, "qr-") || name == "shared" {
			all[name] = c["k"]
		}
	}
	return all
}

// ordinary is the spec of an integration without wishes.
const ordinary = "spec: {resources: {limits: {memory: 1Mi}}}"

// A directory of three integrations runs, is changed file by file, and loses nothing that a person has not confirmed
// (FLEET.md D1, D3, O1, O2, O5).
func TestFleet(t *testing.T) {
	t.Parallel()
	w := newFleet(t)
	w.declares("github", ordinary)
	w.declares("quay", `spec: {cron: "0 * * * *", extraArgs: --fast, resources: {limits: {memory: 1Mi}}}`)
	w.declares("terraform", ordinary, "sharding: {strategy: static, shards: 2}")
	require.NoError(t, w.admin.Create(w.ctx, w.set))
	assert.Equal(t, "members ready: 4 of 4", w.becomes("MembersReady"))
	all := map[string]string{"qr-github": "#ops ", "qr-quay": "#ops --fast", "qr-terraform-0": "#ops ", "qr-terraform-1": "#ops ", "shared": ""}
	assert.Equal(t, all, w.stamped())
	assert.EqualValues(t, 3, w.set.Status.Elsewhere)
	github := w.members()["github"]
	assert.Equal(t, "/github.yml", github.Annotations[v1alpha1.FileKey])
	assert.Equal(t, "4", github.Annotations[v1alpha1.LineKey])

	assert.Equal(t, w.set.Status.Data, strings.Fields(github.Annotations[v1alpha1.DataKey]))

	t.Log("one file changes one member")
	before := w.members()
	w.declares("github", "spec: {extraArgs: --all, resources: {limits: {memory: 1Mi}}}")
	controlplane.Eventually(t, func() bool { return w.stamped()["qr-github"] == "#ops --all" }, soon)
	w.becomes("MembersReady")
	for integration, d := range w.members() {
		assert.Equal(t, integration == "github", d.Generation > before[integration].Generation, integration)
	}

	t.Log("a bad file stops its own integration alone")
	w.declares("terraform", ordinary, "shrading: {strategy: static, shards: 2}")
	w.declares("github", ordinary)
	assert.Contains(t, w.becomes("DataFaulty"), `/terraform.yml:6: `)
	controlplane.Eventually(t, func() bool { return w.stamped()["qr-github"] == "#ops " }, soon)
	assert.Equal(t, all, w.stamped())

	t.Log("what the data no longer declare waits for a person where it is much")
	w.declares("terraform")
	says := w.becomes("RemovalHeld")
	assert.Contains(t, says, "2 of 4 workloads would go: no more than 20% may go at once; confirm "+w.set.Status.Removal.Digest)
	assert.Equal(t, all, w.stamped())
	w.change(func() { w.set.Annotations = map[string]string{v1alpha1.ConfirmKey: w.set.Status.Removal.Digest} })
	controlplane.Eventually(t, func() bool { return len(w.stamped()) == 3 }, soon)
	w.becomes("MembersReady")

	t.Log("data that declare nothing delete nothing")
	kept := w.stamped()
	w.files("data", map[string]string{"ns.yml": w.data["ns.yml"]})
	assert.Contains(t, w.becomes("RemovalHeld"), "the data declare nothing for this set")
	assert.Equal(t, kept, w.stamped())
	w.files("data", w.data)
	w.becomes("MembersReady")

	t.Log("data that cannot be read change nothing")
	w.change(func() { w.set.Spec.Data.Sources[0].Reference = "configmaps:none" })
	w.becomes("FetchFailed")
	assert.Equal(t, kept, w.stamped())

	t.Log("a deleted set leaves its members")
	require.NoError(t, w.admin.Delete(w.ctx, w.set))
	controlplane.Eventually(t, func() bool {
		return apierrors.IsNotFound(w.admin.Get(w.ctx, client.ObjectKeyFromObject(w.set), w.set))
	}, soon)
	for _, d := range w.members() {
		assert.NotContains(t, d.Labels, v1alpha1.SetLabel)
		assert.Zero(t, d.DeletionTimestamp)
	}
	assert.Equal(t, kept, w.stamped())
}

// A settled set writes nothing (FLEET.md O5).
func TestFleetIsSettled(t *testing.T) {
	t.Parallel()
	w := newFleet(t)
	w.declares("github", ordinary)
	require.NoError(t, w.admin.Create(w.ctx, w.set))
	w.becomes("MembersReady")
	versions := func() string {
		require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(w.set), w.set))
		versions := map[string]string{"": w.set.ResourceVersion}
		for _, d := range w.members() {
			versions[d.Name] = d.ResourceVersion
		}
		return fmt.Sprint(versions) // in the order of names
	}
	before := versions()
	<-time.After(5 * time.Second) // five rounds
	assert.Equal(t, before, versions())
}

// A set does not take what it did not make, stops where another user must approve, and only previews all environments
// (FLEET.md O4; FLEET-DESIGN.md 16).
func TestFleetRefuses(t *testing.T) {
	t.Parallel()
	w := newFleet(t)
	w.declares("github", ordinary)
	w.set.Spec.Environments = []string{"All"}
	require.NoError(t, w.admin.Create(w.ctx, w.set))
	assert.Contains(t, w.becomes("ReadOnly"), "it would create 2 members, update 0 and delete 0")
	assert.Empty(t, w.members())

	w.change(func() { w.set.Spec.Environments, w.set.Spec.Cluster = []string{"prod"}, "" })
	assert.Contains(t, w.becomes("InvalidSpec"), "cluster")
	assert.Empty(t, w.members())
}

// A webhook that proves the Secret of a set, read as the set's account, has the set fetch its data (FLEET.md D5).
func TestFleetWebhook(t *testing.T) {
	t.Parallel()
	w := newFleet(t)
	w.declares("github", ordinary)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "hook"}, StringData: map[string]string{"token": "s3cret"}}
	require.NoError(t, w.admin.Create(w.ctx, secret))
	w.set.Spec.Data.Webhook = &v1alpha1.IntegrationWebhook{SecretRef: bundle.BundleSecretRef{Name: "hook"}}
	require.NoError(t, w.admin.Create(w.ctx, w.set))
	w.becomes("MembersReady")
	call := func(token string) int {
		request := httptest.NewRequestWithContext(w.ctx, http.MethodPost, "/fleet/"+w.namespace+"/fleet", http.NoBody)
		request.Header.Set("X-Gitlab-Token", token)
		answer := httptest.NewRecorder()
		w.webhook.ServeHTTP(answer, request)
		return answer.Code
	}
	assert.Equal(t, http.StatusForbidden, call("guess"))
	require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(w.set), w.set))
	assert.NotContains(t, w.set.Annotations, v1alpha1.FetchKey)
	assert.Equal(t, http.StatusAccepted, call("s3cret"))
	require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(w.set), w.set))
	assert.Contains(t, w.set.Annotations, v1alpha1.FetchKey)
	assert.Equal(t, http.StatusAccepted, call("s3cret"), "a second one within 10 s is not lost")
}

// Where users must not approve their own changes, the requester of a set is that of its members, and no other user but the
// controller writes it there (TRUST.md R2, FLEET.md O1).
func TestFleetFourEyes(t *testing.T) {
	t.Parallel()
	w := newFleet(t)
	w.declares("github", ordinary)
	w.cluster.Kubectl(t, "annotate", "namespace", w.namespace, "orcon.tengu.io/self-approval=Forbid")
	w.set.Spec.Approval = v1alpha1.ApprovalSet
	controlplane.Eventually(t, func() bool { // policies see an annotation of a namespace a moment later
		return w.admin.Create(w.ctx, w.set.DeepCopy(), client.DryRunAll) != nil
	}, soon)
	require.ErrorContains(t, w.admin.Create(w.ctx, w.set), "annotation orcon.tengu.io/requester must say who asks for it, and you are admin")
	w.set.Annotations = map[string]string{bundle.RequesterKey: "admin"}
	require.NoError(t, w.admin.Create(w.ctx, w.set))
	controlplane.Eventually(t, func() bool { // one Approval is for the plans that wait when it is made
		return strings.HasPrefix(w.becomes("WaitingForApproval"), "plans that wait for approval: 2. ")
	}, soon)
	github := w.members()["github"]
	assert.Equal(t, "admin", github.Annotations[bundle.RequesterKey])
	approve := "fleet approve fleet --yes -n " + w.namespace
	admin := newCommandLine(t, w.cluster)
	controlplane.Eventually(t, func() bool {
		admin.run(approve) // once more where a plan was just made anew: then it is not among those that wait
		return strings.Contains(w.ready(&github, "WaitingForApproval"), `the Approval by "admin" must come from another person`)
	}, soon)

	w.cluster.Kubectl(t, "create", "rolebinding", "other", "-n", w.namespace, "--clusterrole=admin", "--serviceaccount="+w.namespace+":viewer")
	viewer := w.viewer()
	controlplane.Eventually(t, func() bool {
		viewer.run(approve)
		require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(w.set), w.set))
		return w.set.Status.ReadyMembers == 2
	}, soon)
	w.becomes("MembersReady")
	assert.Len(t, w.stamped(), 2)

	editor := w.as("editor-"+w.namespace, "admin")
	forged := w.bundle(configMap("a", "1"))
	forged.Labels = map[string]string{v1alpha1.SetLabel: "fleet"}
	forged.Annotations = map[string]string{bundle.RequesterKey: "other"}
	controlplane.Eventually(t, func() bool {
		err := editor.Create(w.ctx, forged)
		return err != nil && strings.Contains(err.Error(), "annotation orcon.tengu.io/requester must say who asks for it, and you are editor-")
	}, soon, "a label does not make a user the controller")
}

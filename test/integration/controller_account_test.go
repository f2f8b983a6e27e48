package integration

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// as returns a client of a user.
func (w *controllerWorld) as(user string) client.Client {
	w.t.Helper()
	cfg := w.cluster.Config(w.t)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user}
	c, err := client.New(cfg, client.Options{Scheme: w.scheme})
	require.NoError(w.t, err)
	return c
}

// secret returns what the controller applies for contents, changed by a test.
func (w *controllerWorld) secret(change ...func(*applycorev1.SecretApplyConfiguration)) *applycorev1.SecretApplyConfiguration {
	s := applycorev1.Secret("orcon-secrets-0", w.namespace).WithType(corev1.SecretTypeOpaque).WithLabels(partOfOrcon())
	for _, f := range change {
		f(s)
	}
	return s
}

func partOfOrcon() map[string]string { return map[string]string{"app.kubernetes.io/part-of": "orcon"} }

// The controller's token makes no other token: of Secrets it makes only those of contents, and those of its own
// certificates (TRUST.md R1).
func TestControllerMakesNoOtherSecret(t *testing.T) {
	w := newControllerWorld(t)
	controller, owner := w.as(controllerUser), client.FieldOwner("relations-controller")
	out := w.newNamespace(nil)
	// The type of a Secret that exists is refused as immutable, before the policy is asked.
	require.NoError(t, client.IgnoreNotFound(w.admin.Delete(w.ctx, object.Named(&corev1.Secret{}, "default", "orcon-ca"))))
	in := func(namespace string) func(*applycorev1.SecretApplyConfiguration) {
		return func(s *applycorev1.SecretApplyConfiguration) { s.WithNamespace(namespace) }
	}
	token := func(s *applycorev1.SecretApplyConfiguration) {
		s.WithType(corev1.SecretTypeServiceAccountToken).WithAnnotations(map[string]string{corev1.ServiceAccountNameKey: "default"})
	}
	tests := map[string]struct {
		why    string
		change []func(*applycorev1.SecretApplyConfiguration)
	}{
		"TokenOfTheSystem": {"a token of an account of the cluster", []func(*applycorev1.SecretApplyConfiguration){in("kube-system"), token}},
		"Token":            {"a token of an application", []func(*applycorev1.SecretApplyConfiguration){token}},
		"OwnToken":         {"a token of another account of Orcon", []func(*applycorev1.SecretApplyConfiguration){in("default"), token, named("orcon-ca")}},
		"NotOptedIn":       {"a namespace without applications", []func(*applycorev1.SecretApplyConfiguration){in(out)}},
		"System":           {"a namespace of the cluster", []func(*applycorev1.SecretApplyConfiguration){in("kube-system")}},
		"Unlabelled":       {"a Secret that looks like a user's", []func(*applycorev1.SecretApplyConfiguration){func(s *applycorev1.SecretApplyConfiguration) { s.Labels = nil }}},
		"OwnOther":         {"a Secret that Orcon does not have", []func(*applycorev1.SecretApplyConfiguration){in("default"), named("orcon-secrets-1")}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			err := controller.Apply(w.ctx, w.secret(tc.change...), owner, client.DryRunAll)
			assert.True(t, apierrors.IsForbidden(err), "%s: %v", tc.why, err)
		})
	}
	require.NoError(t, controller.Apply(w.ctx, w.secret(), owner), "what it needs")
	require.NoError(t, controller.Apply(w.ctx, w.secret(in("default"), named("orcon-ca")), owner, client.DryRunAll))
}

func named(name string) func(*applycorev1.SecretApplyConfiguration) {
	return func(s *applycorev1.SecretApplyConfiguration) { s.WithName(name) }
}

// A Secret that has the name of Orcon's and is a user's stays as it is; one of contents is written until the
// last is removed, also where the namespace has opted out (TRUST.md R1).
func TestControllerWritesContentsOnly(t *testing.T) {
	w := newControllerWorld(t)
	controller := w.as(controllerUser)
	users := &corev1.Secret{ObjectMeta: w.meta("orcon-secrets-1"), Data: map[string][]byte{"password": []byte("a")}}
	w.create(users)
	taken := users.DeepCopy()
	taken.Labels = partOfOrcon()
	require.True(t, apierrors.IsForbidden(controller.Update(w.ctx, taken)), "labelling it does not help")

	require.NoError(t, controller.Apply(w.ctx, w.secret(), client.FieldOwner("relations-controller")))
	full := &corev1.Secret{}
	require.NoError(t, controller.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: "orcon-secrets-0"}, full))
	full.Data = map[string][]byte{"key.value": []byte(strings.Repeat("x", 1<<20-16<<10))}
	require.NoError(t, controller.Update(w.ctx, full), "as large as contents are")
	w.optOut()
	full.Data = nil
	require.NoError(t, controller.Update(w.ctx, full), "what removes is allowed everywhere")
}

// optOut removes the namespace's label.
func (w *controllerWorld) optOut() {
	w.t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	w.change(ns, func() { delete(ns.Labels, application.LabelOptIn) })
}

// optIn gives the namespace its label back.
func (w *controllerWorld) optIn() {
	w.t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	w.change(ns, func() { ns.Labels[application.LabelOptIn] = application.OptedIn })
}

// Of a workload the controller changes what restarts its pods, and consumer keys that its author has not
// written, and nothing else (TRUST.md R1, INJECTION.md I30).
func TestControllerChangesNoWorkload(t *testing.T) {
	w := newControllerWorld(t)
	controller := w.as(controllerUser)
	web := w.consumer("web", map[string]string{
		application.KeyConsumes: "db:postgresql", application.KeyEnv: "db=URL", application.KeyCopied: application.KeyEnv,
	})
	web.Annotations = map[string]string{"a": "1"}
	w.create(web)
	image := `{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"evil"}]}}}}`
	annotations := func(text string) string { return `{"spec":{"template":{"metadata":{"annotations":` + text + `}}}}` }
	tests := map[string]struct {
		why, patch string
		admitted   bool
	}{
		"Restart":        {"tengu.io/on-change: restart", annotations(`{"injector.tengu.io/data-version":"1"}`), true},
		"Consumer":       {"a key that the template lacks", annotations(`{"tengu.io/gate":"none","injector.tengu.io/copied":"tengu.io/env,tengu.io/gate"}`), true},
		"Copied":         {"a copied key follows its origin", annotations(`{"tengu.io/env":"db=PORT"}`), true},
		"CopyGone":       {"a copied key goes with its origin", annotations(`{"tengu.io/env":null,"injector.tengu.io/copied":null}`), true},
		"Image":          {"other code", image, false},
		"Init":           {"more code", `{"spec":{"template":{"spec":{"initContainers":[{"name":"x","image":"evil"}]}}}}`, false},
		"Account":        {"other permissions", `{"spec":{"template":{"spec":{"serviceAccountName":"admin"}}}}`, false},
		"Field":          {"a field that was not set", `{"spec":{"paused":true}}`, false},
		"FieldGone":      {"a field that is set", `{"spec":{"template":{"spec":{"initContainers":[{"$patch":"delete","name":"relation-agent"}]}}}}`, false},
		"Replicas":       {"fewer pods", `{"spec":{"replicas":0}}`, false},
		"PodLabel":       {"another Service's pods", `{"spec":{"template":{"metadata":{"labels":{"tier":"db"}}}}}`, false},
		"Other":          {"an annotation of others", annotations(`{"sidecar.istio.io/inject":"false"}`), false},
		"Handlers":       {"a key that runs code", annotations(`{"injector.tengu.io/handler-image":"evil"}`), false},
		"Authored":       {"a key that its author wrote", annotations(`{"tengu.io/consumes":"other:postgresql"}`), false},
		"MarkedAsCopied": {"in two requests", annotations(`{"injector.tengu.io/copied":"tengu.io/consumes,tengu.io/env"}`), false},
		"Metadata":       {"an annotation of the workload", `{"metadata":{"annotations":{"a":"2"}}}`, false},
		"Finalizer":      {"it would never go", `{"metadata":{"finalizers":["example.org/x"]}}`, false},
		"Owner":          {"it would be collected", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"y"}]}}`, false},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			err := w.patch(controller, web.DeepCopy(), tc.patch)
			if tc.admitted {
				require.NoError(t, err, tc.why)
				return
			}
			assert.True(t, apierrors.IsForbidden(err), "%s: %v", tc.why, err)
		})
	}
	daemons := &appsv1.DaemonSet{ObjectMeta: w.meta("daemons"), Spec: appsv1.DaemonSetSpec{Selector: web.Spec.Selector.DeepCopy(), Template: *web.Spec.Template.DeepCopy()}}
	states := &appsv1.StatefulSet{ObjectMeta: w.meta("states"), Spec: appsv1.StatefulSetSpec{Selector: web.Spec.Selector.DeepCopy(), Template: *web.Spec.Template.DeepCopy()}}
	w.create(daemons, states)
	for _, o := range []client.Object{daemons, states} {
		require.NoError(t, w.patch(controller, o, annotations(`{"injector.tengu.io/data-version":"1"}`)), "the API server counts the templates of a DaemonSet")
		assert.True(t, apierrors.IsForbidden(w.patch(controller, o, image)), o.GetName())
		assert.True(t, apierrors.IsForbidden(w.patch(controller, o, `{"metadata":{"annotations":{"a":"2"}}}`)), o.GetName())
	}
	bare := w.consumer("bare", nil)
	w.create(bare)
	require.NoError(t, w.patch(controller, bare, annotations(`{"injector.tengu.io/data-version":"1"}`)), "a template without annotations")
	w.optOut()
	err := w.patch(controller, web, annotations(`{"injector.tengu.io/data-version":"2"}`))
	assert.True(t, apierrors.IsForbidden(err), "the namespace has opted out: %v", err)
}

// patch changes a Deployment as the controller does, and nothing is stored.
func (w *controllerWorld) patch(c client.Client, d client.Object, text string) error {
	return c.Patch(w.ctx, d, client.RawPatch(types.StrategicMergePatchType, []byte(text)), client.DryRunAll)
}

// Of its webhook configuration the controller changes whom the API server trusts, and nothing else: it would have
// another server change every pod of the cluster (TRUST.md R1).
func TestControllerRedirectsNoWebhook(t *testing.T) {
	w := newControllerWorld(t)
	controller, none := w.as(controllerUser), admissionv1.SideEffectClassNone
	hook := func(name string) admissionv1.MutatingWebhook {
		return admissionv1.MutatingWebhook{
			Name: name, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig:      admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: w.namespace, Name: "webhook"}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"none": "none"}},
		}
	}
	made := &admissionv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "relations-mutating-webhook"},
		Webhooks:   []admissionv1.MutatingWebhook{hook("pods.example.org"), hook("declarations.example.org")},
	}
	w.create(made)
	t.Cleanup(func() { assert.NoError(t, w.admin.Delete(context.WithoutCancel(w.ctx), made)) })
	tests := map[string]struct {
		why      string
		change   func(c *admissionv1.MutatingWebhookConfiguration)
		admitted bool
	}{
		"Trust": {"a renewed authority", func(c *admissionv1.MutatingWebhookConfiguration) {
			c.Webhooks[0].ClientConfig.CABundle, c.Webhooks[1].ClientConfig.CABundle = authority(t), authority(t)
		}, true},
		"Server":  {"another server", func(c *admissionv1.MutatingWebhookConfiguration) { c.Webhooks[0].ClientConfig.Service.Name = "evil" }, false},
		"Objects": {"other objects", func(c *admissionv1.MutatingWebhookConfiguration) { c.Webhooks[1].NamespaceSelector = nil }, false},
		"Rules": {"more rules", func(c *admissionv1.MutatingWebhookConfiguration) {
			c.Webhooks[0].Rules = []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{"*"}, Rule: admissionv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*"}},
			}}
		}, false},
		"More": {"another webhook", func(c *admissionv1.MutatingWebhookConfiguration) {
			c.Webhooks = append(c.Webhooks, hook("evil.example.org"))
		}, false},
		"Fewer":    {"a webhook less", func(c *admissionv1.MutatingWebhookConfiguration) { c.Webhooks = c.Webhooks[:1] }, false},
		"Metadata": {"cert-manager would write it", func(c *admissionv1.MutatingWebhookConfiguration) { c.Annotations = map[string]string{"a": "1"} }, false},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			changed := made.DeepCopy()
			tc.change(changed)
			err := controller.Patch(w.ctx, changed, client.MergeFrom(made), client.DryRunAll)
			if tc.admitted {
				require.NoError(t, err, tc.why)
				return
			}
			assert.True(t, apierrors.IsForbidden(err), "%s: %v", tc.why, err)
		})
	}
}

// Of an Offer the controller changes the UIDs of its consumers, and nothing else: consent is its namespace's (TRUST.md R1).
func TestControllerConsentsToNothing(t *testing.T) {
	w := newControllerWorld(t)
	controller := w.as(controllerUser)
	offer := &v1alpha1.Offer{ObjectMeta: w.meta("db"), Spec: v1alpha1.OfferSpec{Application: "db", Endpoint: "main", Consumers: []string{"shop"}}}
	w.create(offer)
	tests := map[string]struct {
		why, patch string
		admitted   bool
	}{
		"UID":         {"what it has seen", `{"spec":{"consumerNamespaces":[{"name":"shop","uid":"a"}]}}`, true},
		"Consumer":    {"another namespace", `{"spec":{"consumers":["shop","evil"]}}`, false},
		"Secrets":     {"more than data", `{"spec":{"secrets":["admin"]}}`, false},
		"Application": {"another application", `{"spec":{"application":"bank"}}`, false},
		"Finalizer":   {"it would never go", `{"metadata":{"finalizers":["example.org/x"]}}`, false},
		"Owner":       {"it would be collected", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"y"}]}}`, false},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			changed := &v1alpha1.Offer{}
			require.NoError(t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(offer), changed))
			require.NoError(t, json.Unmarshal([]byte(tc.patch), changed))
			err := controller.Update(w.ctx, changed, client.DryRunAll)
			if tc.admitted {
				require.NoError(t, err, tc.why)
				return
			}
			assert.True(t, apierrors.IsForbidden(err), "%s: %v", tc.why, err)
		})
	}
}

// authority returns a certificate that the API server takes for a bundle.
func authority(t *testing.T) []byte {
	t.Helper()
	root, err := certificate.NewRoot(time.Now(), certificate.DefaultPeriods())
	require.NoError(t, err)
	return certificate.Bundle(root.Certificate)
}

// A role with every permission in a namespace is not the controller: it writes nothing that applications
// are recognised by (TRUST.md T0, R1).
func TestOwnObjectsAreTheControllers(t *testing.T) {
	w := newControllerWorld(t)
	w.create(
		&rbacv1.Role{ObjectMeta: w.meta("everything"), Rules: []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}},
		&rbacv1.RoleBinding{
			ObjectMeta: w.meta("everything"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "everything"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "mallory"}},
		},
	)
	mallory, controller := w.as("mallory"), w.as(controllerUser)
	forged := w.manual("web", "db")
	forged.State.ID = 7
	all := map[string]client.Object{"StateOfARelation": forged}
	for _, name := range []string{"databag", "relatedapplication", "relatednamespace", "relatedsecret", "relationside"} {
		all[name] = w.example(name)
	}
	for label, o := range all {
		t.Run(label, func(t *testing.T) {
			err := mallory.Create(w.ctx, o.DeepCopyObject().(client.Object), client.DryRunAll)
			require.True(t, apierrors.IsForbidden(err), "%v", err)
			assert.Contains(t, err.Error(), "only the controller")
			require.NoError(t, controller.Create(w.ctx, o.DeepCopyObject().(client.Object), client.DryRunAll))
		})
	}
	side := all["relationside"]
	require.NoError(t, controller.Create(w.ctx, side))
	handled := client.RawPatch(types.MergePatchType, []byte(`{"state":{"end":{"state":"Handled"}}}`))
	require.True(t, apierrors.IsForbidden(mallory.Patch(w.ctx, side, handled)), "an end that is owed")
	require.NoError(t, w.admin.Patch(w.ctx, side, handled), "a backup is restored by an administrator")
	require.NoError(t, mallory.Delete(w.ctx, side), "who may delete is left to roles")
}

// example returns the example of a kind, in the namespace.
func (w *controllerWorld) example(name string) client.Object {
	w.t.Helper()
	root, err := controlplane.Root()
	require.NoError(w.t, err)
	text, err := os.ReadFile(filepath.Join(root, "deployment", "examples", name+".yaml"))
	require.NoError(w.t, err)
	o := &unstructured.Unstructured{}
	require.NoError(w.t, yaml.Unmarshal(text, &o.Object))
	o.SetNamespace(w.namespace)
	return o
}

package arch

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/secrets"
	jobs "gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Two replicas that are not lost at once, in pods that "restricted" lets in
// (INJECTION.md I5).
func TestDeployments(t *testing.T) {
	for label, v := range variants(t) {
		t.Run(label, func(t *testing.T) {
			for _, d := range objects[deployment](t, v.all, "Deployment") {
				require.NotNil(t, d.Spec.Replicas)
				assert.EqualValues(t, 2, *d.Spec.Replicas)
				assert.Equal(t, intstr.FromInt32(0), *d.Spec.Strategy.RollingUpdate.MaxUnavailable)
				assert.NotEmpty(t, d.Spec.Template.Spec.TopologySpreadConstraints)
				assert.True(t, budgeted(t, v.all, d), "no PodDisruptionBudget selects its pods")
				assert.NotEqual(t, "default", d.Spec.Template.Spec.ServiceAccountName)
				assertRestricted(t, d.Spec.Template.Spec)
				for _, c := range d.Spec.Template.Spec.Containers {
					assertWatched(t, c)
				}
			}
		})
	}
}

func budgeted(t *testing.T, m manifests, d deployment) bool {
	t.Helper()
	var found bool
	for _, b := range objects[budget](t, m, "PodDisruptionBudget") {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		require.NoError(t, err)
		found = found || selector.Matches(labels.Set(d.Spec.Template.Labels))
	}
	return found
}

// assertRestricted checks the whole of Pod Security's "restricted" (INJECTION.md I4).
func assertRestricted(t *testing.T, pod corev1.PodSpec) {
	t.Helper()
	assert.False(t, pod.HostNetwork || pod.HostPID || pod.HostIPC, "host namespaces")
	for _, v := range pod.Volumes {
		assert.Nil(t, v.HostPath, "volume %s", v.Name)
	}
	for _, c := range append(slices.Clone(pod.InitContainers), pod.Containers...) {
		require.NotNil(t, c.SecurityContext, c.Name)
		s := c.SecurityContext
		assert.False(t, *s.AllowPrivilegeEscalation, c.Name)
		assert.True(t, *s.RunAsNonRoot, c.Name)
		assert.Equal(t, []corev1.Capability{"ALL"}, s.Capabilities.Drop, c.Name)
		assert.Empty(t, s.Capabilities.Add, c.Name)
		assert.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, s.SeccompProfile.Type, c.Name)
		assert.Nil(t, s.RunAsUser, "%s: OpenShift chooses the user; the image has one", c.Name)
	}
}

func assertWatched(t *testing.T, c corev1.Container) {
	t.Helper()
	assert.True(t, *c.SecurityContext.ReadOnlyRootFilesystem)
	require.NotNil(t, c.ReadinessProbe)
	assert.Equal(t, "/readyz", c.ReadinessProbe.HTTPGet.Path)
	require.NotNil(t, c.LivenessProbe)
	assert.Equal(t, "/healthz", c.LivenessProbe.HTTPGet.Path)
	assert.Contains(t, c.Resources.Requests, corev1.ResourceCPU)
	assert.Contains(t, c.Resources.Requests, corev1.ResourceMemory)
	assert.Contains(t, c.Resources.Limits, corev1.ResourceMemory)
	assert.NotContains(t, c.Resources.Limits, corev1.ResourceCPU, "a throttled webhook is a slow cluster")
}

// A Service reaches the pods of its Deployment on a port that they have.
func TestServices(t *testing.T) {
	for label, v := range variants(t) {
		t.Run(label, func(t *testing.T) {
			for _, s := range objects[service](t, v.all, "Service") {
				reached, ports := false, map[int32]bool{}
				for _, p := range s.Spec.Ports {
					assert.Equal(t, s.Spec.Ports[0].TargetPort, p.TargetPort)
					ports[p.Port] = true
				}
				for _, d := range objects[deployment](t, v.all, "Deployment") {
					if labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(d.Spec.Template.Labels)) {
						reached = slices.ContainsFunc(d.Spec.Template.Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool {
							return p.Name == s.Spec.Ports[0].TargetPort.StrVal
						})
					}
				}
				assert.True(t, reached)
				assert.True(t, ports[443])
				assert.Equal(t, s.Name == "relations-controller", ports[9466], "TRUST.md A3: agents have a port of their own")
			}
		})
	}
}

// grantedSecrets lets the controller read what somebody else's Secrets hold, where it
// is bound. Nobody ships a binding (SAFETY.md S1 and S2).
const grantedSecrets = "orcon-granted-secrets"

// The prototype was cluster-admin; no part of Orcon is.
func TestRightsAreTheLeast(t *testing.T) {
	for label, v := range variants(t) {
		t.Run(label, func(t *testing.T) {
			for _, r := range objects[clusterRole](t, v.all, "ClusterRole") {
				if r.Name == grantedSecrets {
					assert.Equal(t, []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}}, r.Rules)
					continue
				}
				assertLeast(t, r.Rules, true)
				if r.Name == "relations-mutating-webhook" {
					assertOnlyReads(t, r.Rules)
				}
			}
			for _, r := range objects[role](t, v.all, "Role") {
				assertLeast(t, r.Rules, false)
				if r.Name == "relations-mutating-webhook" {
					assertOnlyReads(t, r.Rules)
				}
			}
			for _, b := range objects[clusterBinding](t, v.all, "ClusterRoleBinding") {
				assert.NotEqual(t, "cluster-admin", b.RoleRef.Name)
				assert.NotEqual(t, grantedSecrets, b.RoleRef.Name, "whoever administers a namespace opens it")
				assert.Contains(t, v.all.names(), "ClusterRole/"+b.RoleRef.Name, "a role that is not shipped")
				for _, s := range b.Subjects {
					assert.Equal(t, "ServiceAccount", s.Kind)
				}
			}
		})
	}
}

// The bundle controller acts as no account by itself: a namespace binds the one role that permits it (TRUST.md R1).
func TestBundleControllerActsAsNoAccount(t *testing.T) {
	found := false
	all := kustomize(t, filepath.Join(repository, "deployment/bundle-controller"))
	for _, r := range objects[clusterRole](t, all, "ClusterRole") {
		if r.Name == bundle.AccountRole {
			assert.Equal(t, []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, Verbs: []string{"impersonate"}}}, r.Rules)
			found = true
			continue
		}
		assertLeast(t, r.Rules, true)
	}
	assert.True(t, found, "%s is shipped", bundle.AccountRole)
	for _, b := range objects[clusterBinding](t, all, "ClusterRoleBinding") {
		assert.NotEqual(t, bundle.AccountRole, b.RoleRef.Name, "an administrator of a namespace binds it")
	}
	for _, b := range objects[binding](t, all, "RoleBinding") {
		assert.NotEqual(t, bundle.AccountRole, b.RoleRef.Name, "an administrator of a namespace binds it")
	}
}

// The controller of runs reads no Secret of a namespace that does not bind a role that permits it (TRUST.md R1).
func TestJobControllerHasLeast(t *testing.T) {
	all := kustomize(t, filepath.Join(repository, "deployment/job-controller"))
	bound := map[string][]rbacv1.PolicyRule{
		jobs.OutputsRole: {
			{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "create", "patch"}},
			{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"patch"}},
		},
		jobs.SecretsRole: {{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}},
		jobs.TokensRole:  {{APIGroups: []string{people.Group}, Resources: []string{"runnodes/token"}, Verbs: []string{"create"}}},
	}
	found := map[string][]rbacv1.PolicyRule{}
	for _, r := range objects[clusterRole](t, all, "ClusterRole") {
		if bound[r.Name] != nil {
			found[r.Name] = r.Rules
			continue
		}
		assertLeast(t, r.Rules, true)
	}
	assert.Equal(t, bound, found, "they are shipped")
	for _, b := range objects[clusterBinding](t, all, "ClusterRoleBinding") {
		assert.NotContains(t, bound, b.RoleRef.Name, "an administrator of a namespace binds it")
	}
	for _, b := range objects[binding](t, all, "RoleBinding") {
		assert.NotContains(t, bound, b.RoleRef.Name, "an administrator of a namespace binds it")
	}
	for _, r := range objects[role](t, all, "Role") {
		assertLeast(t, r.Rules, false)
	}
}

// assertLeast refuses wildcards, ways to more rights, and Secrets or ConfigMaps
// that are not named (SAFETY.md S2, TRUST.md R1). In every namespace only the Secrets that hold what units make, the
// ConfigMaps that hold copies of data, and the trust bundle can be reached, by name. Of the first two none is listed,
// watched or deleted, and no other is read.
func assertLeast(t *testing.T, rules []rbacv1.PolicyRule, everywhere bool) {
	t.Helper()
	require.NotEmpty(t, rules)
	for _, rule := range rules {
		for _, word := range slices.Concat(rule.Verbs, rule.Resources, rule.APIGroups) {
			assert.NotContains(t, word, "*", "%v", rule)
		}
		for _, verb := range []string{"escalate", "bind", "impersonate", "approve", "sign", "deletecollection"} {
			assert.NotContains(t, rule.Verbs, verb, "%v", rule)
		}
		assert.NotContains(t, rule.Resources, "pods/exec")
		secret, config := slices.Contains(rule.Resources, "secrets"), slices.Contains(rule.Resources, "configmaps")
		switch {
		case secret && everywhere:
			assert.Equal(t, []string{"secrets"}, rule.Resources, "%v", rule)
			assert.Equal(t, secrets.ContentSecrets(), rule.ResourceNames, "Secrets are Orcon's own only: %v", rule)
			assert.Equal(t, []string{"get", "create", "patch", "update"}, rule.Verbs, "%v", rule)
		case secret:
			assert.Subset(t, []string{"orcon-ca", "orcon-webhook-tls", "job-controller-keys", "job-node-authority"}, rule.ResourceNames, "%v", rule)
			require.NotEmpty(t, rule.ResourceNames, "%v", rule)
		}
		switch copied := application.StaleCopies(); {
		case config && everywhere && slices.Contains(rule.ResourceNames, copied[0]):
			assert.Equal(t, []string{"configmaps"}, rule.Resources, "%v", rule)
			assert.Equal(t, copied, rule.ResourceNames, "ConfigMaps are Orcon's own only: %v", rule)
			assert.Equal(t, []string{"get", "create", "patch"}, rule.Verbs, "%v", rule)
		case config:
			assert.Equal(t, []string{"orcon-trust"}, rule.ResourceNames, "%v", rule)
		}
		if slices.Contains(rule.Resources, "mutatingwebhookconfigurations") {
			assert.Equal(t, []string{"relations-mutating-webhook"}, rule.ResourceNames, "%v", rule)
		}
	}
}

func assertOnlyReads(t *testing.T, rules []rbacv1.PolicyRule) {
	t.Helper()
	for _, rule := range rules {
		assert.NotContains(t, rule.ResourceNames, "orcon-ca", "a key that it does not serve with (TRUST.md R1)")
		assert.Subset(t, []string{"get", "list", "watch"}, rule.Verbs, "the webhook writes nothing: %v", rule)
	}
}

// INJECTION.md I5, I6, I30: Fail only where opted in and never for the system or
// for Orcon; the rest may be lost.
func TestWebhookConfiguration(t *testing.T) {
	for label, v := range variants(t) {
		t.Run(label, func(t *testing.T) {
			for _, c := range objects[webhooks](t, v.all, "MutatingWebhookConfiguration") {
				require.Len(t, c.Webhooks, 4)
				pods, declarations, outside, bundles := c.Webhooks[0], c.Webhooks[1], c.Webhooks[2], c.Webhooks[3]
				for _, w := range c.Webhooks[:3] {
					assertHarmless(t, w, v.namespace)
				}
				assert.Equal(t, admissionv1.Ignore, *bundles.FailurePolicy, "without it the controller says what is wrong")
				assert.Equal(t, []string{"bundledeployments"}, bundles.Rules[0].Resources)
				assert.Equal(t, v.namespace, bundles.ClientConfig.Service.Namespace)
				assertOptedIn(t, pods, v.namespace)
				assertOptedIn(t, declarations, v.namespace)
				assertOutside(t, outside)
				assert.Equal(t, admissionv1.Fail, *pods.FailurePolicy)
				assert.Equal(t, "/mutate", *pods.ClientConfig.Service.Path)
				assert.Equal(t, []admissionv1.OperationType{admissionv1.Create}, pods.Rules[0].Operations)
				assert.Equal(t, []string{"pods"}, pods.Rules[0].Resources, "and no subresource")
				assert.Equal(t, admissionv1.Ignore, *declarations.FailurePolicy)
				assert.Equal(t, "/declare", *declarations.ClientConfig.Service.Path)
			}
		})
	}
}

func assertHarmless(t *testing.T, w admissionv1.MutatingWebhook, namespace string) {
	t.Helper()
	assert.Equal(t, admissionv1.SideEffectClassNone, *w.SideEffects)
	assert.Equal(t, admissionv1.Equivalent, *w.MatchPolicy)
	assert.LessOrEqual(t, *w.TimeoutSeconds, int32(5))
	assert.Empty(t, w.ClientConfig.CABundle, "whoever renews it writes it (INJECTION.md I10)")
	assert.Equal(t, "relations-mutating-webhook", w.ClientConfig.Service.Name)
	assert.Equal(t, namespace, w.ClientConfig.Service.Namespace)

	optOut, err := metav1.LabelSelectorAsSelector(w.ObjectSelector)
	require.NoError(t, err)
	assert.False(t, optOut.Matches(labels.Set{"injector.tengu.io/inject": "false"}), "opted out")
	assert.True(t, optOut.Matches(labels.Set{}))
}

// assertOptedIn: only namespaces that opted in, and never the system's or Orcon's.
func assertOptedIn(t *testing.T, w admissionv1.MutatingWebhook, namespace string) {
	t.Helper()
	assert.Equal(t, admissionv1.IfNeededReinvocationPolicy, *w.ReinvocationPolicy)
	selector, err := metav1.LabelSelectorAsSelector(w.NamespaceSelector)
	require.NoError(t, err)
	for _, name := range []string{namespace, "kube-system", "kube-public", "kube-node-lease"} {
		in := labels.Set{"kubernetes.io/metadata.name": name, "tengu-injector": "enabled"}
		assert.False(t, selector.Matches(in), "namespace %s is never injected", name)
	}
	assert.False(t, selector.Matches(labels.Set{"kubernetes.io/metadata.name": "shop"}), "not opted in")
	assert.True(t, selector.Matches(labels.Set{"kubernetes.io/metadata.name": "shop", "tengu-injector": "enabled"}))
}

// assertOutside: who has not opted in is warned and never held up (INJECTION.md
// I1, I5).
func assertOutside(t *testing.T, w admissionv1.MutatingWebhook) {
	t.Helper()
	assert.Equal(t, admissionv1.Ignore, *w.FailurePolicy)
	assert.Equal(t, "/outside", *w.ClientConfig.Service.Path)
	selector, err := metav1.LabelSelectorAsSelector(w.NamespaceSelector)
	require.NoError(t, err)
	assert.True(t, selector.Matches(labels.Set{"kubernetes.io/metadata.name": "shop"}))
	assert.False(t, selector.Matches(labels.Set{"kubernetes.io/metadata.name": "shop", "tengu-injector": "enabled"}))
	assert.False(t, selector.Matches(labels.Set{"kubernetes.io/metadata.name": "kube-system"}))
}

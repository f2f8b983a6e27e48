package jobs

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kubejob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// account is a namespace, and a client of the job controller's account.
type account struct {
	t         *testing.T
	namespace string
	admin, as client.Client
}

func newAccount(t *testing.T) *account {
	t.Helper()
	c := controlplane.Shared(t)
	define(t, c)
	root, err := controlplane.Root()
	require.NoError(t, err)
	_, _ = c.Try("create", "namespace", "orcon-system") // it may be there
	c.Kubectl(t, "apply", "-f", filepath.Join(root, "deployment", "rbac", "job-writes.yaml"))
	c.Kubectl(t, "apply", "-f", filepath.Join(root, "deployment", "job-controller", "rbac.yaml"))
	all := runtime.NewScheme()
	require.NoError(t, clientscheme.AddToScheme(all))
	require.NoError(t, v1alpha1.AddToScheme(all))
	cfg := c.Config(t)
	w := &account{t: t, namespace: c.NewNamespace(t, "jobs-")}
	w.admin, err = client.New(cfg, client.Options{Scheme: all})
	require.NoError(t, err)
	cfg = rest.CopyConfig(cfg)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:default:job-controller"}
	w.as, err = client.New(cfg, client.Options{Scheme: all})
	require.NoError(t, err)
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: "job-controller"}}
	everywhere := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace}, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "job-controller"},
	}
	outputs := &rbacv1.RoleBinding{ObjectMeta: w.named("outputs"), Subjects: subjects, RoleRef: everywhere.RoleRef}
	outputs.RoleRef.Name = v1alpha1.OutputsRole
	w.create(everywhere, outputs)
	t.Cleanup(func() { c.Kubectl(t, "delete", "clusterrolebinding", everywhere.Name) })
	return w
}

func (w *account) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

func (w *account) create(all ...client.Object) {
	w.t.Helper()
	for _, o := range all {
		require.NoError(w.t, w.admin.Create(w.t.Context(), o))
	}
}

// job has the account make the Job of an attempt as the controller does, and returns it.
func (w *account) job() *batchv1.Job {
	w.t.Helper()
	o := &v1alpha1.JobRun{ObjectMeta: w.named("one"), Spec: v1alpha1.JobRunSpec{Workspace: "db", Action: "deploy"}}
	w.create(o)
	jobs := kubejob.Jobs{
		Reader: w.admin, Writer: w.as, Runner: kubejob.Runner{Image: "runner", Address: "https://jobs"}, Trust: func() []byte { return []byte("pem") },
	}
	attempt := executor.Attempt{
		Name: executor.Name{Namespace: w.namespace, Run: "one", UID: string(o.UID), Number: 1}, Workspace: "db",
		Input: run.Input{Artifact: run.Artifact{Image: "program", Content: "sha256:a"}, Entrypoint: []string{"run"}},
	}
	attempt.Input.Secrets = []run.SecretFile{{Name: "password", Secret: "db", Key: "password"}}
	controlplane.Eventually(w.t, func() bool { return w.refuses() }, limit)
	require.NoError(w.t, jobs.Start(w.t.Context(), attempt), "what the controller makes")
	job := &batchv1.Job{}
	require.NoError(w.t, w.admin.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "one-1"}, job))
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "two-1"},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.LabelRunUID: string(o.UID)}}, Spec: job.Spec.Template.Spec,
		}},
	}
}

// refuses reports whether policies are in force, which an API server reads after a while.
func (w *account) refuses() bool {
	bare := &batchv1.Job{ObjectMeta: w.named("bare"), Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
		Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "a", Image: "a"}}},
	}}}
	return apierrors.IsForbidden(w.as.Create(w.t.Context(), bare, client.DryRunAll))
}

// TRUST.md R1: with the token of the job controller no Job gets rights in the cluster or on a node.
func TestJobsHaveNoRights(t *testing.T) {
	t.Parallel()
	w := newAccount(t)
	good := w.job()
	require.NoError(t, w.as.Create(t.Context(), good.DeepCopy(), client.DryRunAll), "the same by another name")
	volume := func(v corev1.VolumeSource) func(p *corev1.PodSpec) {
		return func(p *corev1.PodSpec) { p.Volumes = append(p.Volumes, corev1.Volume{Name: "more", VolumeSource: v}) }
	}
	token := func(audience string) corev1.VolumeSource {
		return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: audience, Path: "token"}},
		}}}
	}
	confined := func(change func(s *corev1.SecurityContext)) func(p *corev1.PodSpec) {
		return func(p *corev1.PodSpec) { change(p.InitContainers[2].SecurityContext) }
	}
	for why, change := range map[string]func(p *corev1.PodSpec){
		"another account":            func(p *corev1.PodSpec) { p.ServiceAccountName = "root" },
		"the account's token":        func(p *corev1.PodSpec) { p.AutomountServiceAccountToken = nil },
		"a token for the API server": volume(token("")),
		"a token for relations":      volume(token("relations.tengu.io")),
		"the node's files":           volume(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}),
		"a volume of another pod":    volume(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "db"}}),
		"the node's network":         func(p *corev1.PodSpec) { p.HostNetwork = true },
		"the node's processes":       func(p *corev1.PodSpec) { p.HostPID = true },
		"root":                       func(p *corev1.PodSpec) { p.SecurityContext.RunAsUser = new(int64(0)) },
		"perhaps root":               func(p *corev1.PodSpec) { p.SecurityContext.RunAsNonRoot = nil },
		"all system calls":           func(p *corev1.PodSpec) { p.SecurityContext.SeccompProfile = nil },
		"root in a container":        confined(func(s *corev1.SecurityContext) { s.RunAsUser = new(int64(0)) }),
		"a capability":               confined(func(s *corev1.SecurityContext) { s.Capabilities.Add = []corev1.Capability{"SYS_ADMIN"} }),
		"more rights by a program":   confined(func(s *corev1.SecurityContext) { s.AllowPrivilegeEscalation = nil }),
		"a container without bounds": func(p *corev1.PodSpec) { p.Containers[0].SecurityContext = nil },
		"a privileged container": func(p *corev1.PodSpec) {
			p.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
		},
		"system calls of a container": confined(func(s *corev1.SecurityContext) {
			s.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
		}),
		"a port of the node": func(p *corev1.PodSpec) {
			p.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
		},
	} {
		job := good.DeepCopy()
		change(&job.Spec.Template.Spec)
		err := w.as.Create(t.Context(), job, client.DryRunAll)
		assert.True(t, apierrors.IsForbidden(err), "%s: %v", why, err)
	}
}

// TRUST.md R1: of pods and Services the job controller changes what it needs, and it makes no Secret but those of outputs.
func TestJobControllerWritesNoOther(t *testing.T) {
	t.Parallel()
	w := newAccount(t)
	container := corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "good"}}}
	kept := &corev1.Pod{ObjectMeta: w.named("kept"), Spec: *container.DeepCopy()}
	kept.Labels, kept.Annotations = map[string]string{v1alpha1.LabelRunUID: "a"}, map[string]string{"job.orcon.tengu.io/trust": "old"}
	other := &corev1.Pod{ObjectMeta: w.named("other"), Spec: *container.DeepCopy()}
	service := &corev1.Service{ObjectMeta: w.named("db"), Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "db"}, Ports: []corev1.ServicePort{{Port: 1}}}}
	mine := &corev1.Secret{ObjectMeta: w.named("mine-outputs"), Data: map[string][]byte{"a": []byte("b")}}
	w.create(&corev1.ServiceAccount{ObjectMeta: w.named("root")}, service, mine)
	for _, pod := range []*corev1.Pod{kept, other} {
		pod.Spec.ServiceAccountName = "root"
		w.create(pod)
	}
	controlplane.Eventually(t, w.refuses, limit)
	tests := []struct {
		why      string
		of       client.Object
		patch    string
		admitted bool
	}{
		{"renewed certificates", kept, `{"metadata":{"annotations":{"job.orcon.tengu.io/trust":"new"}}}`, true},
		{"another annotation", kept, `{"metadata":{"annotations":{"a":"b"}}}`, false},
		{"other code", kept, `{"spec":{"containers":[{"name":"a","image":"evil"}]}}`, false},
		{"a Service's pods", kept, `{"metadata":{"labels":{"app":"db"}}}`, false},
		{"it would never go", kept, `{"metadata":{"finalizers":["example.org/x"]}}`, false},
		{"other code in a pod of others", other, `{"spec":{"containers":[{"name":"a","image":"evil"}]}}`, false},
		{"a pod of others", other, `{"metadata":{"annotations":{"job.orcon.tengu.io/trust":"new"}}}`, false},
		{"data of a relation", service, `{"metadata":{"annotations":{"data.tengu.io/main":"{}","secret.tengu.io/main":"x"}}}`, true},
		{"another declaration", service, `{"metadata":{"annotations":{"tengu.io/provides":"main:db"}}}`, false},
		{"traffic of others", service, `{"spec":{"selector":{"app":"evil"}}}`, false},
		{"a user's Secret", mine, `{"metadata":{"annotations":{"tengu.io/grant-to":"db:main"}}}`, false},
		{"a user's Secret, labelled", mine, `{"metadata":{"labels":{"job.orcon.tengu.io/workspace":"mine"},
			"ownerReferences":[{"apiVersion":"orcon.tengu.io/v1alpha1","kind":"JobWorkspace","name":"mine","uid":"a"}]}}`, false},
	}
	for _, tc := range tests {
		o := tc.of.DeepCopyObject().(client.Object)
		err := w.as.Patch(t.Context(), o, client.RawPatch(types.StrategicMergePatchType, []byte(tc.patch)), client.DryRunAll)
		if tc.admitted {
			require.NoError(t, err, tc.why)
			continue
		}
		assert.True(t, apierrors.IsForbidden(err), "%s: %v", tc.why, err)
	}
	outputs := func(name string) *applycorev1.SecretApplyConfiguration {
		return applycorev1.Secret(name, w.namespace).WithLabels(map[string]string{v1alpha1.LabelWorkspace: "db"}).WithOwnerReferences(
			applymetav1.OwnerReference().WithAPIVersion(v1alpha1.GroupVersion.String()).WithKind("JobWorkspace").WithName("db").WithUID("a"))
	}
	apply := func(s *applycorev1.SecretApplyConfiguration) error {
		return w.as.Apply(t.Context(), s, client.FieldOwner("job-controller"), client.DryRunAll)
	}
	require.NoError(t, apply(outputs("db-outputs")), "sensitive outputs")
	for why, s := range map[string]*applycorev1.SecretApplyConfiguration{
		"another name": outputs("db"),
		"a token": outputs("db-outputs").WithType(corev1.SecretTypeServiceAccountToken).
			WithAnnotations(map[string]string{corev1.ServiceAccountNameKey: "root"}),
		"no outputs": applycorev1.Secret("db-outputs", w.namespace),
	} {
		assert.True(t, apierrors.IsForbidden(apply(s)), why)
	}
}

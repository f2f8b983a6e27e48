package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/identity"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// endpoint is what the provider provides, the consumers consume, and their
// files are called after.
const endpoint = "db"

// consumers makes n Deployments of one pod that has an agent, as the webhook
// would give it, and returns their pods.
func (w *world) consumers(n int) []corev1.Pod {
	w.Helper()
	always := corev1.ContainerRestartPolicyAlways
	for i := range n {
		labels := map[string]string{"app": fmt.Sprintf("consumer-%d", i)}
		_, err := w.admin.AppsV1().Deployments(shop).Create(w.Context(), &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: labels["app"]},
			Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{application.KeyConsumes: endpoint, application.KeyRelations: provider}},
				Spec: corev1.PodSpec{
					ServiceAccountName: "shop",
					SchedulingGates:    []corev1.PodSchedulingGate{{Name: "orcon.tengu.io/bench"}},
					InitContainers:     []corev1.Container{{Name: injection.AgentContainer, Image: "agent", RestartPolicy: &always}},
					Containers:         []corev1.Container{{Name: "app", Image: "app"}},
				},
			}},
		}, metav1.CreateOptions{})
		require.NoError(w, err)
	}
	var list *corev1.PodList
	require.Eventually(w, func() bool {
		var err error
		list, err = w.admin.CoreV1().Pods(shop).List(w.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) == n
	}, patience, 50*time.Millisecond, "there are not %d pods", n)
	return list.Items
}

// token asks for a token as the kubelet does for a projected volume.
func (w *world) token(p *corev1.Pod) []byte {
	w.Helper()
	made, err := w.admin.CoreV1().ServiceAccounts(p.Namespace).CreateToken(w.Context(), p.Spec.ServiceAccountName, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{
			Audiences:      []string{identity.Audience},
			BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: p.Name, UID: p.UID},
		},
	}, metav1.CreateOptions{})
	require.NoError(w, err)
	return []byte(made.Status.Token)
}

// agents are the agents of all consumers, and who looks at their files.
type agents struct {
	*world
	address, trust string
	processes      []*process
	// roots are where each agent has its volumes, and folders where each consumer's files
	// about the provider are.
	roots, folders []string
	watcher        *fsnotify.Watcher
}

// memoryVolumes is where the volumes are that a pod has in memory.
const memoryVolumes = "/dev/shm"

// volumes makes an agent's volumes and returns their folder, and that of the
// bindings.
func (a *agents) volumes() (root, bindings string) {
	a.Helper()
	root = a.TempDir()
	inMemory, err := os.MkdirTemp(memoryVolumes, "orcon-bench-")
	require.NoError(a, err, "%s must be a file system in memory, as the volumes of pods", memoryVolumes)
	a.Cleanup(func() { _ = os.RemoveAll(inMemory) })
	for name, folder := range map[string]string{"bindings": inMemory, "run": inMemory, "state": root, "identity": root} {
		require.NoError(a, os.Mkdir(filepath.Join(folder, name), 0o755))
		if folder == inMemory {
			require.NoError(a, os.Symlink(filepath.Join(inMemory, name), filepath.Join(root, name)))
		}
	}
	return root, filepath.Join(inMemory, "bindings")
}

// start runs the agent of a pod, with volumes of its own.
func (a *agents) start(program string, p corev1.Pod) {
	a.Helper()
	volumes, bindings := a.volumes()
	require.NoError(a, os.WriteFile(filepath.Join(volumes, "identity", "token"), a.token(&p), 0o600))
	a.processes = append(a.processes, start(a.B, []string{
		"POD_NAME=" + p.Name, "POD_NAMESPACE=" + p.Namespace, "ORCON_CONSUMES=" + endpoint,
		"ORCON_ADDRESS=" + a.address, "ORCON_SERVER_NAME=relations-controller." + system + ".svc", "ORCON_TRUST=" + a.trust,
	}, program, "-root="+volumes))
	a.roots, a.folders = append(a.roots, volumes), append(a.folders, filepath.Join(bindings, endpoint))
}

// follow waits until every consumer has the first content, and from then on is
// told of changes.
func (a *agents) follow(first string) {
	a.Helper()
	var err error
	a.watcher, err = fsnotify.NewBufferedWatcher(1024)
	require.NoError(a, err)
	a.Cleanup(func() { _ = a.watcher.Close() })
	for i, folder := range a.folders {
		require.Eventually(a, func() bool { return host(folder) == first }, patience, 20*time.Millisecond, "consumer %d of %d did not hear of the provider", i+1, len(a.folders))
		require.NoError(a, a.watcher.Add(folder))
	}
}

// host is what a container would read of the provider.
func host(folder string) string {
	content, _ := os.ReadFile(filepath.Join(folder, "host"))
	return string(content)
}

// change has the provider move and returns how long that took to each
// consumer's file.
func (a *agents) change(to string) []time.Duration {
	a.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	took, missing := make([]time.Duration, len(a.folders)), len(a.folders)
	moved := make(chan error, 1)
	began := time.Now()
	go func() { moved <- a.move(to) }()
	for missing > 0 {
		select {
		case event := <-a.watcher.Events:
			i := slices.Index(a.folders, filepath.Dir(event.Name))
			if i >= 0 && took[i] == 0 && host(a.folders[i]) == to {
				took[i] = time.Since(began)
				missing--
			}
		case err := <-a.watcher.Errors:
			require.NoError(a, err, "cannot look at the files")
		case <-timeout.C:
			require.FailNow(a, "a change did not come through", "%d of %d consumers did not see %s within %s", missing, len(took), to, patience)
		}
	}
	require.NoError(a, <-moved)
	return took
}

// memory returns the median of a field of the agents' status, in MiB.
func (a *agents) memory(field string) float64 {
	a.Helper()
	var all []float64
	for _, p := range a.processes {
		all = append(all, p.memory(a.B, field))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

package integration

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// TRUST.md R7: a container that is added to an injected pod for debugging has what others of the pod have, but not the
// agent's token.
func TestDebugContainersHaveNoToken(t *testing.T) {
	w := newControllerWorld(t)
	pods := w.cluster.Client(t).CoreV1().Pods(w.namespace)
	manifest := []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","annotations":{"tengu.io/consumes":"db"}},
		"spec":{"containers":[{"name":"app","image":"app"}]}}`)
	injected, _, err := injection.Inject(injection.Settings{Config: injection.DefaultConfig(), Namespace: "default"}, manifest, nil)
	require.NoError(t, err)
	pod := &corev1.Pod{}
	require.NoError(t, yaml.Unmarshal(injected, pod))
	_, err = pods.Create(w.ctx, pod, metav1.CreateOptions{})
	require.NoError(t, err)
	debug := func(name, volume string) error {
		c := corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
			Name: name, Image: "busybox", ImagePullPolicy: corev1.PullIfNotPresent, TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		}}
		if volume != "" {
			c.VolumeMounts = []corev1.VolumeMount{{Name: volume, MountPath: "/stolen"}}
		}
		return retry.RetryOnConflict(retry.DefaultRetry, func() error {
			pod, err := pods.Get(w.ctx, "web", metav1.GetOptions{})
			require.NoError(t, err)
			pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, c)
			_, err = pods.UpdateEphemeralContainers(w.ctx, "web", pod, metav1.UpdateOptions{})
			return err
		})
	}
	require.NoError(t, debug("plain", ""))
	require.NoError(t, debug("files", "orcon-bindings"), "the files are the pod's")
	err = debug("thief", "orcon-identity")
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
	require.ErrorContains(t, err, "take the mount of orcon-identity out")
	require.NoError(t, debug("after", ""), "others may come after it")
}

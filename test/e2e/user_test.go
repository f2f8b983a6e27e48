package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The agent works whatever the pod's user is: where Pod Security is restricted,
// where the pod runs as root, and with a group of its own for the volumes
// (INJECTION.md I4).
func TestUsers(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	restricted := worldWith(t, w.Cluster, map[string]string{"tengu-injector": "enabled", "pod-security.kubernetes.io/enforce": "restricted"})
	const strict = `{allowPrivilegeEscalation: false, runAsNonRoot: true, runAsUser: 1234, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}`
	tests := map[string]struct {
		in             *world
		pod, container string
		id             string
	}{
		"restricted": {in: restricted, pod: `{}`, container: strict, id: "1234"},
		"grouped":    {in: restricted, pod: `{runAsUser: 2345, fsGroup: 3456, runAsNonRoot: true}`, container: strict, id: "1234"},
		"root":       {in: w, pod: `{runAsUser: 0}`, container: `{}`, id: "0"},
		"unsaid":     {in: w, pod: `{}`, container: `{}`, id: "0"},
	}
	w.apply(external("db-endpoint", "db", "db.tengu.io"))
	restricted.apply(external("db-endpoint", "db", "db.tengu.io"))
	for name, test := range tests {
		test.in.apply(userPod(name, test.pod, test.container))
	}
	for name, test := range tests {
		pod := test.in.running(name, 1)[0]
		assert.Equal(t, test.id, test.in.sh(pod.Name, "id -u"), "%s: the author's own user stays", name)
		assert.Equal(t, "db.tengu.io db.tengu.io", test.in.sh(pod.Name, "echo $DB $(cat /bindings/db/host)"), name)
		assert.Empty(t, test.in.sh(pod.Name, "ls /orcon /bindings/db/token 2>/dev/null || true"), "%s: the token is the agent's alone (SAFETY.md S4)", name)
	}
}

func userPod(name, pod, container string) string {
	return `
apiVersion: v1
kind: Pod
metadata: {name: ` + name + `, labels: {app: ` + name + `}, annotations: {` + consumesDB + `}}
spec:
  securityContext: ` + pod + `
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: "busybox:stable", imagePullPolicy: IfNotPresent, command: [sleep, infinity], securityContext: ` + container + `}
`
}

// A pod that has a native sidecar of its own, which never becomes ready to go
// on, can be deleted, before the gate opens and after (INJECTION.md I3).
func TestTwoSidecars(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	w.apply(`
apiVersion: v1
kind: Pod
metadata: {name: app, labels: {app: app}, annotations: {` + consumesDB + `}}
spec:
  terminationGracePeriodSeconds: 5
  initContainers:
  - name: own
    image: busybox:stable
    imagePullPolicy: IfNotPresent
    restartPolicy: Always
    command: [sh, -c, 'trap "exit 0" TERM; while :; do sleep 0.1; done']
    startupProbe: {exec: {command: ["false"]}, periodSeconds: 1, failureThreshold: 100000}
  containers:
  - {name: main, image: "busybox:stable", imagePullPolicy: IfNotPresent, command: [sleep, infinity]}
`)
	w.waiting("app", 1)
	w.apply(external("db-endpoint", "db", "db.tengu.io"))
	w.eventually(func() string {
		own := statusOf(w.pods("app")[0].Status.InitContainerStatuses, "own")
		if own != nil && own.State.Running != nil {
			return ""
		}
		return "the pod's own sidecar does not run although the gate is open"
	})
	pod := w.pods("app")[0]
	require.NotNil(t, mainStatus(&pod).State.Waiting, "its own sidecar holds it now")
	assert.Equal(t, "db.tengu.io", w.kubectl("exec", "app", "-c", "own", "--", "cat", "/bindings/db/host"), "init containers have the files too")
	t.Logf("a pod with two sidecars, one never started up, and 5 s of grace was gone %s after its deletion", w.deletion(pod))
}

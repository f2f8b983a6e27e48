package bundles

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
)

// reads is a workload that reads configuration in each way that there is.
const reads = `
apiVersion: batch/v1
kind: CronJob
metadata: {name: tick}
spec:
  schedule: "0 0 1 1 *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          imagePullSecrets: [{name: registry}]
          containers:
          - name: main
            image: none
            env:
            - {name: PASSWORD, valueFrom: {secretKeyRef: {name: db, key: password}}}
            - {name: SPARE, valueFrom: {secretKeyRef: {name: spare, key: x, optional: true}}}
            envFrom: [{configMapRef: {name: colour}}]
          volumes:
          - {name: settings, configMap: {name: settings, items: [{key: a.conf, path: a}, {key: b.conf, path: b}]}}
          - {name: all, projected: {sources: [{secret: {name: db, items: [{key: user, path: user}]}}, {configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca}]}}]}}
`

// All that is missing is told at once, by a plan and by an installation, before the first
// write and without what a Secret holds (BUNDLES.md 1 and 10); and the cures that are told
// cure it.
func TestConfigurationFirst(t *testing.T) {
	w := newWorld(t)
	l := newCommandLine(t, w.cluster)
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "all.yaml"), []byte(blue+"---"+reads), 0o600))
	w.cluster.Kubectl(t, "-n", w.namespace, "create", "secret", "generic", "db", "--from-literal=user=hunter2")

	for _, command := range []string{"plan ", "install --yes "} {
		code, out := l.run(command + folder + " --name shop -n " + w.namespace)
		assert.Equal(t, 2, code, command)
		for _, want := range []string{
			"Secret " + w.namespace + "/registry does not exist: kubectl create secret docker-registry registry -n " + w.namespace,
			"Secret " + w.namespace + `/db has no key password: kubectl patch secret db -n ` + w.namespace + ` --type merge -p '{"stringData":{"password":"…"}}'`,
			"ConfigMap " + w.namespace + "/settings does not exist (it needs keys a.conf, b.conf): kubectl create configmap settings -n " + w.namespace + " --from-literal=a.conf=… --from-literal=b.conf=…",
			"needed by CronJob " + w.namespace + `/tick: spec.jobTemplate.spec.template.spec.containers[name="main"].env[name="PASSWORD"]`,
		} {
			assert.Contains(t, out, want, command)
		}
		for _, not := range []string{"hunter2", "aHVudGVyMg", "spare", "kube-root-ca", "colour has", "colour is"} {
			assert.NotContains(t, out, not, command)
		}
	}
	l.must("plan " + folder + " --name shop -n " + w.namespace + " --expect Secret/registry --expect Secret/db --expect ConfigMap/settings")
	assert.Empty(t, w.configMaps(), "nothing was written")
	assert.Len(t, w.secrets(), 1)

	w.cluster.Kubectl(t, "-n", w.namespace, "create", "secret", "docker-registry", "registry", "--docker-server=x", "--docker-username=x", "--docker-password=x")
	w.cluster.Kubectl(t, "-n", w.namespace, "patch", "secret", "db", "--type", "merge", "-p", `{"stringData":{"password":"x"}}`)
	w.cluster.Kubectl(t, "-n", w.namespace, "create", "configmap", "settings", "--from-literal=a.conf=x", "--from-literal=b.conf=x")
	l.must("install --yes " + folder + " --name shop -n " + w.namespace)
}

// Who may not read a Secret is told so, and not stopped by it.
func TestConfigurationUnread(t *testing.T) {
	w := newWorld(t)
	l := newCommandLine(t, w.cluster)
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "all.yaml"), []byte(`
apiVersion: batch/v1
kind: CronJob
metadata: {name: tick}
spec:
  schedule: "0 0 1 1 *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: none, envFrom: [{secretRef: {name: db}}]}]}}}}
`), 0o600))
	w.apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: planner-` + w.namespace + `}
rules:
- {apiGroups: [batch], resources: [cronjobs], verbs: [get, create]}
- {apiGroups: [""], resources: [secrets], resourceNames: [orcon-bundle-shop], verbs: [get]}
- {apiGroups: [""], resources: [namespaces], resourceNames: [kube-system], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: planner-` + w.namespace + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: planner-` + w.namespace + `}
subjects: [{kind: User, name: planner, apiGroup: rbac.authorization.k8s.io}]
`)
	config, err := clientcmd.LoadFromFile(w.cluster.Kubeconfig)
	require.NoError(t, err)
	for _, user := range config.AuthInfos {
		user.Impersonate = "planner"
	}
	planner := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, planner))
	l.kubeconfig = planner
	out := l.must("plan " + folder + " --name shop -n " + w.namespace)
	assert.Contains(t, out, "note: you may not read Secret "+w.namespace+"/db")
}

package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fleetChart renders a workload for each shard: a StatefulSet where the integration has a cache, else a Deployment; and a
// CronJob.
const fleetChart = `
{{- define "pod" }}
metadata: {labels: {app: {{ .name }}}}
spec:
  terminationGracePeriodSeconds: 0
  restartPolicy: {{ .restart }}
  containers:
  - name: main
    image: busybox:stable
    command: [sh, -c, {{ .command | quote }}]
    {{- if .cache }}
    volumeMounts: [{name: cache, mountPath: /cache}]
    {{- end }}
{{- end }}
{{- range $one := .Values.integrations }}{{ range $shard := $one.shard_specs }}
{{- $name := print $one.name $shard.shard_name_suffix }}
---
apiVersion: apps/v1
kind: {{ ternary "StatefulSet" "Deployment" (default false $one.cache) }}
metadata: {name: {{ $name }}}
spec:
  replicas: {{ ternary 0 1 (default false ($shard.shard_spec_overrides).disabled) }}
  selector: {matchLabels: {app: {{ $name }}}}
  {{- if $one.cache }}
  serviceName: {{ $name }}
  volumeClaimTemplates:
  - metadata: {name: cache}
    spec: {accessModes: [ReadWriteOnce], storageClassName: "{{ $one.storageClassName }}", resources: {requests: {storage: {{ $one.storage }}}}}
  {{- end }}
  template:
    {{- include "pod" (dict "name" $name "command" (printf "echo %s; sleep 100000" $shard.extra_args) "cache" $one.cache "restart" "Always") | indent 4 }}
{{- end }}{{ end }}
{{- range $one := .Values.cronjobs }}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: {{ $one.name }}}
spec:
  schedule: {{ $one.cron | quote }}
  jobTemplate: {spec: {template: {{ include "pod" (dict "name" $one.name "command" "true" "restart" "OnFailure") | fromYaml | toJson }}}}
{{- end }}
`

// fleet is two sets for two environments, stage and production, each with an account of its own, and their data.
type fleet struct {
	*world
	data map[string]string
}

// The story of a fleet on real pods (FLEET.md, "Shown by"): integrations are added, changed, divided by the data, disabled,
// and taken away; they run by schedule and with a cache; wrong, empty and unreachable data end nothing; what others made
// stays; two sets keep to their environments.
func TestFleet(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.declare("watcher", "stage", "extraArgs: --fast")
	f.declare("users", "stage", "", "sharding: {strategy: per-aws-account}")
	f.declare("report", "production", `cron: "0 6 * * *"`)
	f.publish()
	f.becomes("stage", "MembersReady")
	f.becomes("production", "MembersReady")
	assert.Equal(t, []string{"deployment.apps/users-one", "deployment.apps/users-two", "deployment.apps/watcher"}, f.workloads("stage"))
	assert.Equal(t, []string{"cronjob.batch/report"}, f.workloads("production"), "each set keeps to its environment")
	assert.Equal(t, "--fast", f.log("stage", "deployment/watcher"))

	t.Log("a change reaches one workload, and an account that the data gain gets a shard")
	before := f.pods("stage")
	f.declare("watcher", "stage", "extraArgs: --slow")
	f.data["account-three.yml"] = account("three")
	f.publish()
	f.eventually(func() string {
		return differs([]string{"users-one", "users-three", "users-two", "watcher"}, f.running("stage"))
	})
	f.becomes("stage", "MembersReady")
	assert.Equal(t, "--slow", f.log("stage", "deployment/watcher"))
	for _, kept := range before {
		if strings.HasPrefix(kept, "users-") {
			assert.Contains(t, f.pods("stage"), kept, "it is not restarted")
		}
	}

	t.Log("a shard is disabled; an account that leaves the integration out takes its shard away")
	f.declare("users", "stage", "", "sharding: {strategy: per-aws-account, shardSpecOverrides: [{shard: {$ref: /account-one.yml}, disabled: true}]}")
	f.data["account-two.yml"] += "disable: {integrations: [users]}\n"
	f.publish()
	f.confirm("stage")
	f.eventually(func() string { return differs([]string{"users-three", "watcher"}, f.running("stage")) })
	f.becomes("stage", "MembersReady")

	t.Log("a cache makes a StatefulSet, once the Deployment is gone")
	f.volume()
	f.declare("watcher", "stage", "cache: true, storage: 1Mi, storageClassName: "+f.namespace)
	f.publish()
	f.eventually(func() string {
		return differs([]string{"deployment.apps/users-one", "deployment.apps/users-three", "statefulset.apps/watcher"}, f.workloads("stage"))
	})
	f.becomes("stage", "MembersReady")

	t.Log("errors end nothing")
	before = f.pods("stage")
	good := maps.Clone(f.data)
	f.data["watcher.yml"] = strings.Replace(f.data["watcher.yml"], "cache", "cach", 1)
	f.publish()
	assert.Contains(t, f.becomes("stage", "DataFaulty"), `/watcher.yml:5: unknown field "cach": did you mean "cache"?`)
	f.data = map[string]string{"account-one.yml": account("one")}
	f.publish()
	f.becomes("stage", "RemovalHeld")
	f.Kubectl(t, "-n", f.namespace, "delete", "configmap", "data")
	f.wake()
	f.becomes("stage", "FetchFailed")
	assert.Equal(t, before, f.pods("stage"))

	t.Log("what somebody else made is not touched, and the last integration of a namespace takes its workloads with it")
	f.data = good
	f.declare("report", "production")
	f.declare("foreign", "stage", "")
	f.Kubectl(t, "-n", f.namespace+"-stage", "create", "deployment", "foreign", "--image=busybox:stable", "--replicas=0")
	f.publish()
	f.confirm("production")
	f.eventually(func() string { return differs(nil, f.workloads("production")) })
	f.eventually(func() string {
		if message := f.message("stage"); !strings.Contains(message, "foreign") {
			return "a conflict about Deployment foreign: " + message
		}
		return ""
	})
	assert.Equal(t, "0", f.Kubectl(t, "-n", f.namespace+"-stage", "get", "deployment", "foreign", "-o", "jsonpath={.spec.replicas}"))
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	w := withOrcon(t).inUnlabelled()
	w.operateBundles()
	f := &fleet{world: w, data: map[string]string{"account-one.yml": account("one"), "account-two.yml": account("two")}}
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "Chart.yaml"), []byte("apiVersion: v2\nname: fleet\nversion: 1.0.0\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "all.yaml"), []byte(fleetChart), 0o600))
	f.Kubectl(t, "-n", f.namespace, "create", "configmap", "chart", "--from-file="+filepath.Join(folder, "Chart.yaml"))
	f.Kubectl(t, "-n", f.namespace, "create", "configmap", "templates", "--from-file="+filepath.Join(folder, "all.yaml"))
	f.Kubectl(t, "-n", f.namespace, "create", "rolebinding", "orcon-bundle-account", "--clusterrole=orcon-bundle-account",
		"--serviceaccount=orcon-system:bundle-controller")
	for _, environment := range []string{"stage", "production"} {
		target := f.namespace + "-" + environment
		f.Kubectl(t, "create", "namespace", target)
		t.Cleanup(func() { f.Kubectl(t, "delete", "namespace", target, "--wait=false") })
		f.Kubectl(t, "-n", f.namespace, "create", "serviceaccount", environment)
		for _, namespace := range []string{f.namespace, target} {
			f.Kubectl(t, "-n", namespace, "create", "rolebinding", "fleet-"+environment, "--clusterrole=edit", "--serviceaccount="+f.namespace+":"+environment)
		}
		f.data[environment+".yml"] = "$schema: /openshift/lean-namespace-1.yml\nname: " + target + "\ncluster: {name: main}\nenvironment: {name: " + environment + "}\n"
		f.apply("apiVersion: orcon.tengu.io/v1alpha1\nkind: IntegrationSet\nmetadata: {name: " + environment + "}\nspec:\n  environments: [" + environment +
			"]\n  serviceAccountName: " + environment + "\n  guard: {maxWorkloads: 0}\n  data: {sources: [{reference: \"configmaps:data\"}]}\n" +
			"  chart: {sources: [{reference: \"configmaps:chart\"}, {reference: \"configmaps:templates\", destination: templates}]}\n")
	}
	return f
}

// account returns the file of an account.
func account(name string) string { return "$schema: /aws/account-1.yml\nname: " + name + "\n" }

// declare writes the file of an integration that runs in an environment, with fields of its spec and further lines of its entry;
// without fields the integration runs nowhere.
func (f *fleet) declare(integration, environment string, fields ...string) {
	if delete(f.data, integration+".yml"); len(fields) == 0 {
		return
	}
	spec := strings.TrimPrefix(fields[0]+", resources: {limits: {memory: 16Mi}}", ", ")
	f.data[integration+".yml"] = "$schema: /app-sre/integration-1.yml\nname: " + integration + "\nmanaged:\n- namespace: {$ref: /" + environment + ".yml}\n" +
		"  spec: {" + spec + "}\n"
	for _, line := range fields[1:] {
		f.data[integration+".yml"] += "  " + line + "\n"
	}
}

// publish writes the data, and wakes the sets.
func (f *fleet) publish() {
	f.t.Helper()
	folder := f.t.TempDir()
	for name, text := range f.data {
		require.NoError(f.t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	f.apply(f.Kubectl(f.t, "-n", f.namespace, "create", "configmap", "data", "--from-file="+folder, "--dry-run=client", "-o", "yaml"))
	f.wake()
}

func (f *fleet) wake() {
	f.t.Helper()
	f.Kubectl(f.t, "-n", f.namespace, "annotate", "integrationsets", "--all", "--overwrite", "orcon.tengu.io/retry="+time.Now().Format("150405.000000000"))
}

// ready returns the reason and the message of a set's condition Ready.
func (f *fleet) ready(set string) (reason, message string) {
	f.t.Helper()
	reason, message, _ = strings.Cut(f.Kubectl(f.t, "-n", f.namespace, "get", "integrationset", set, "-o",
		`jsonpath={.status.conditions[?(@.type=="Ready")].reason}{" "}{.status.conditions[*].message}{.status.waits}`), " ")
	return reason, message
}

func (f *fleet) message(set string) string {
	f.t.Helper()
	_, message := f.ready(set)
	return message
}

// becomes waits until a set is ready, or not, for a reason and has read the data that were published last. It returns its message.
func (f *fleet) becomes(set, want string) (message string) {
	f.t.Helper()
	f.eventually(func() string {
		reason, text := f.ready(set)
		if message = text; reason != want {
			return want + " and not " + reason + ": " + text
		}
		return ""
	})
	return message
}

// confirm waits until a removal is held, and confirms it.
func (f *fleet) confirm(set string) {
	f.t.Helper()
	f.becomes(set, "RemovalHeld")
	digest := f.Kubectl(f.t, "-n", f.namespace, "get", "integrationset", set, "-o", "jsonpath={.status.removal.digest}")
	f.Kubectl(f.t, "-n", f.namespace, "annotate", "integrationset", set, "--overwrite", "orcon.tengu.io/confirm="+digest)
}

// workloads returns the workloads in the namespace of an environment.
func (f *fleet) workloads(environment string) []string {
	f.t.Helper()
	return strings.Fields(f.Kubectl(f.t, "-n", f.namespace+"-"+environment, "get", "deployments,statefulsets,cronjobs", "-o", "name"))
}

// pods returns the pods of an environment, each as its workload, a space and its UID.
func (f *fleet) pods(environment string) []string {
	f.t.Helper()
	return strings.Split(strings.TrimSpace(f.Kubectl(f.t, "-n", f.namespace+"-"+environment, "get", "pods", "--field-selector=status.phase=Running", "-o",
		`jsonpath={range .items[*]}{.metadata.labels.app} {.metadata.uid}{"\n"}{end}`)), "\n")
}

// running returns the workloads that have running pods.
func (f *fleet) running(environment string) []string {
	f.t.Helper()
	var all []string
	for _, pod := range f.pods(environment) {
		name, _, _ := strings.Cut(pod, " ")
		all = append(all, name)
	}
	return slices.Compact(slices.Sorted(slices.Values(all)))
}

func (f *fleet) log(environment, workload string) string {
	f.t.Helper()
	return strings.TrimSpace(f.Kubectl(f.t, "-n", f.namespace+"-"+environment, "logs", workload))
}

// volume makes a volume that a claim of 1Mi gets.
func (f *fleet) volume() {
	f.t.Helper()
	f.apply("apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: " + f.namespace + "}\nspec:\n  capacity: {storage: 1Mi}\n" +
		"  accessModes: [ReadWriteOnce]\n  storageClassName: " + f.namespace + "\n  hostPath: {path: " + f.t.TempDir() + "}\n")
	f.t.Cleanup(func() { f.Kubectl(f.t, "delete", "persistentvolume", f.namespace, "--wait=false") })
}

// differs returns what is wanted and is not so; "" if both are equal.
func differs(want, is []string) string {
	if slices.Equal(want, is) {
		return ""
	}
	return strings.Join(want, " ") + " and not " + strings.Join(is, " ")
}

package bundles

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// stored has one object of each sort that a record remembers: a workload with the digest of its ConfigMap, and a Job of each
// policy.
const stored = blue + secret + service + `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: none, envFrom: [{configMapRef: {name: colour}}, {secretRef: {name: key}}]}]
` + ran + `metadata: {name: changed}
` + runs + ran + `metadata: {name: once, annotations: {orcon.tengu.io/run-policy: Once}}
` + runs + ran + `metadata: {name: always, annotations: {orcon.tengu.io/run-policy: Always}}
` + runs

// A Job, before and after its metadata.
const (
	ran  = "---\napiVersion: batch/v1\nkind: Job\n"
	runs = "spec: {template: {spec: {restartPolicy: Never, containers: [{name: job, image: none}]}}}\n"
)

// hooked is a chart with hooks, by file.
var hooked = map[string]string{ //nolint:gochecknoglobals // a constant
	"Chart.yaml": "{apiVersion: v2, name: hooked, version: 1.0.0}\n", "values.yaml": "size: 1\n",
	"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {size: '{{ .Values.size }}'}\n",
	"templates/b.yaml": ran + "metadata: {name: both, annotations: {helm.sh/hook: 'pre-install,pre-upgrade'}}\n" + runs +
		ran + "metadata: {name: installed, annotations: {helm.sh/hook: post-install}}\n" + runs,
}

// asStored returns the objects of a namespace with what must not change: each is the same, and so is its content.
func asStored(t *testing.T, c *controlplane.Cluster, namespace string) map[string]string {
	t.Helper()
	all := map[string]string{}
	lines := c.Kubectl(t, "-n", namespace, "get", "configmaps,secrets,services,deployments.apps,replicasets.apps,jobs.batch", "-o",
		`jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.uid} {.metadata.generation} {.data}{"\n"}{end}`)
	for line := range strings.Lines(lines) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[name] = rest
	}
	return all
}

// withoutRecords leaves out the Secrets of records, which gain what a newer program knows.
func withoutRecords(all map[string]string) map[string]string {
	rest := map[string]string{}
	for name, stored := range all {
		if !strings.HasPrefix(name, "Secret/orcon-bundle") {
			rest[name] = stored
		}
	}
	return rest
}

// lasting returns the identities of the objects that outlast an upgrade: no records, and nothing that each revision may make anew.
func lasting(all map[string]string) map[string]string {
	uids := map[string]string{}
	for name, stored := range withoutRecords(all) {
		if !strings.HasPrefix(name, "ReplicaSet/") && !strings.HasPrefix(name, "Job/always") {
			uids[name], _, _ = strings.Cut(stored, " ")
		}
	}
	return uids
}

// written writes files into a folder and returns it.
func written(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		file := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o750))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return folder
}

// startBinary runs a bundle controller with the account that it has in its pod, until end.
func (w *operated) startBinary(program string, flags ...string) (end func()) {
	w.t.Helper()
	cfg, err := clientcmd.LoadFromFile(w.cluster.Kubeconfig)
	require.NoError(w.t, err)
	for name := range cfg.AuthInfos {
		cfg.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: w.account().BearerToken}
	}
	kubeconfig := filepath.Join(w.t.TempDir(), "kubeconfig")
	require.NoError(w.t, clientcmd.WriteToFile(*cfg, kubeconfig))
	command := exec.CommandContext(w.ctx, program, append([]string{
		"-kubeconfig=" + kubeconfig, "-namespace=" + system, "-cache=" + w.t.TempDir(), "-resync=1s", "-leaderElect=false",
		fmt.Sprintf("-healthPort=%d", controlplane.FreePort(w.t)),
	}, flags...)...)
	var out bytes.Buffer
	command.Stderr = &out
	require.NoError(w.t, command.Start())
	end = sync.OnceFunc(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
		assert.NotContains(w.t, out.String(), "panic")
		assert.NotContains(w.t, out.String(), "forbidden")
		if w.t.Failed() {
			w.t.Log(out.String())
		}
	})
	w.t.Cleanup(end)
	return end
}

// What orcon of the oldest supported commit installed goes on with that of today: the same again changes nothing, no Job
// runs again, no object is made anew, an upgrade changes what differs, and the content of earlier revisions comes back.
// What was adopted is given back (TRUST.md A6, T9).
func TestUpgradeOfBundles(t *testing.T) {
	t.Parallel()
	sources := controlplane.OldestSupported(t)
	c := controlplane.Start(t)
	w := &world{t: t, cluster: c, client: c.Client(t), namespace: c.NewNamespace(t, "bundle-"), timeout: time.Minute}
	pretendPods(t, c, w.namespace)
	w.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: colour, namespace: " + w.namespace + "}, data: {colour: red}}")
	there := " -n " + w.namespace + " --yes --timeout 3m"
	before, today := newCommandLine(t, c), newCommandLine(t, c)
	before.program = controlplane.Built(t, sources, "orcon")
	in := func(colour string) string {
		return written(t, map[string]string{"all.yaml": strings.ReplaceAll(stored, "blue", colour)})
	}
	second, chart := in("blue"), written(t, hooked)
	before.must("install " + in("black") + " --name shop --conflicts Take" + there)
	before.must("install " + second + " --name shop" + there)
	before.must("install " + chart + " --name chart" + there)
	goesOn := failed(before, today, c.NewNamespace(t, "bundle-"))
	history := before.must("history shop -n " + w.namespace + " -o yaml")
	assert.Contains(t, history, "revision: 2")
	c.Kubectl(t, "-n", w.namespace, "delete", "jobs", "--all") // as a Job goes that has a time to live
	all := asStored(t, c, w.namespace)
	require.Len(t, lasting(all), 6)

	for name, source := range map[string]string{"shop": second, "chart": chart} {
		assert.Empty(t, today.must("diff "+name+" -n "+w.namespace))
		assert.Contains(t, today.must("install "+source+" --name "+name+there), "nothing to change")
	}
	assert.Equal(t, all, asStored(t, c, w.namespace))
	assert.Equal(t, history, today.must("history shop -n "+w.namespace+" -o yaml"))
	goesOn()

	assert.Contains(t, today.must("install "+in("green")+" --name shop"+there), "is healthy: revision 3")
	assert.Equal(t, lasting(all), lasting(asStored(t, c, w.namespace)), "neither made anew, nor run again")
	assert.Contains(t, today.must("rollback shop 1"+there), "is healthy: revision 4")
	assert.Equal(t, map[string]string{"colour": "black", "size": "3"}, w.configMaps()["colour"])
	today.must("uninstall shop" + there)
	assert.Equal(t, map[string]string{"colour": "red"}, w.configMaps()["colour"])
	today.must("uninstall chart" + there)
	assert.Equal(t, []string{"ConfigMap/colour", "ConfigMap/kube-root-ca.crt"}, slices.Sorted(maps.Keys(asStored(t, c, w.namespace))))
}

// failed has the orcon from before install a bundle in a namespace whose pods never start, so that an upgrade fails and goes
// back. With goesOn today's takes the content that came back for healthy, and does not try again what failed.
func failed(before, today *commandLine, namespace string) (goesOn func()) {
	t, there := before.t, " --name failed -n "+namespace+" --yes --timeout 3m"
	well, bad := written(t, map[string]string{"all.yaml": blue + extra}), written(t, map[string]string{"all.yaml": green + broken})
	before.must("install " + well + there)
	code, out := before.run("install " + bad + there)
	require.Equal(t, 2, code, out)
	require.Contains(t, out, "failed: Deployment "+namespace+"/web")
	return func() {
		t.Helper()
		assert.Empty(t, today.must("diff failed -n "+namespace))
		assert.Contains(t, today.must("install "+well+there), "nothing to change")
		code, out := today.run("install " + bad + there)
		assert.Equal(t, 2, code)
		assert.Contains(t, out, "this content failed before (revision 2)")
	}
}

// BundleDeployments of the bundle controller of the oldest supported commit go on with that of today: no object is made
// anew, and an approved plan is carried out as it was approved (TRUST.md A6).
func TestUpgradeOfBundleDeployments(t *testing.T) {
	t.Parallel()
	sources := controlplane.OldestSupported(t)
	c := controlplane.Start(t)
	c.Kubectl(t, "create", "namespace", system)
	installFrom(t, c, sources)
	w := operatedIn(t, &world{t: t, cluster: c, client: c.Client(t), namespace: c.NewNamespace(t, "bundle-"), timeout: time.Minute})
	pretendPods(t, c, w.namespace)
	end := w.startBinary(controlplane.Built(t, sources, "bundle-controller"))
	d := w.bundle(stored)
	asked := d.DeepCopy()
	asked.Name, asked.Spec.Sources[0].Reference, asked.Spec.Approval.Mode = "asked", "configmaps:content-asked", "Digest"
	w.source("content-asked", configMap("a", "1")+configMap("b", "1"))
	for _, made := range []*v1alpha1.BundleDeployment{d, asked} {
		require.NoError(t, w.admin.Create(w.ctx, made))
	}
	w.ready(d, "Healthy")
	w.ready(asked, "WaitingForApproval")
	require.NoError(t, w.approve(asked, asked.Status.Plan.Digest, "admin"))
	w.ready(asked, "Healthy")
	w.source("content-asked", configMap("a", "2"))
	controlplane.Eventually(t, func() bool { w.ready(asked, "WaitingForApproval"); return asked.Status.Plan != nil }, soon)
	planned := asked.Status.Plan.Digest
	end()
	all := asStored(t, c, w.namespace)

	root, err := controlplane.Root()
	require.NoError(t, err)
	installFrom(t, c, root)
	end = w.startBinary(controlplane.Binary(t, "bundle-controller"), "-webhookPort=0")
	w.edit(d, func() { d.Spec.Prune.ConfirmKinds = []string{"Deployment"} })
	w.ready(d, "Healthy")
	w.edit(asked, func() { asked.Spec.Prune.ConfirmKinds = []string{"Deployment"} })
	w.ready(asked, "WaitingForApproval")
	assert.Equal(t, planned, asked.Status.Plan.Digest)
	assert.EqualValues(t, 1, d.Status.HealthyRevision)
	assert.Equal(t, withoutRecords(all), withoutRecords(asStored(t, c, w.namespace)))
	require.NoError(t, w.approve(asked, planned, "admin"))
	w.ready(asked, "Healthy")
	assert.EqualValues(t, 2, asked.Status.HealthyRevision)
	assert.Equal(t, "2", w.configMaps()["a"]["k"])
	assert.NotContains(t, w.configMaps(), "b")
	end()
	for _, name := range []string{"shop", "asked"} {
		assert.Empty(t, newCommandLine(t, c).must("diff "+name+" -n "+w.namespace))
	}
}

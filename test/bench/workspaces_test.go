package bench

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

const (
	// workspaces have runs each, all of which have ended; WORKSPACES gives another number.
	workspaces = 5000
	runs       = 10
	// rounds is how often each is looked at while nothing may be written.
	rounds = 10
)

// BenchmarkWorkspaces measures the job controller with 5,000 settled JobWorkspaces of 10 JobRuns each: the memory that it
// has and had at most, and what it writes while each is reconciled ten times. The targets are 200 MiB and nothing.
func BenchmarkWorkspaces(b *testing.B) {
	w := newWorld(b)
	w.cluster.Kubectl(w, "apply", "-k", filepath.Join(w.root, "deployment", "crd"))
	w.cluster.Kubectl(w, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
	w.namespace("many", nil)
	s := &settled{world: w, count: workspaces, client: dynamic.NewForConfigOrDie(w.cluster.Config(w))}
	if text := os.Getenv("WORKSPACES"); text != "" {
		var err error
		s.count, err = strconv.Atoi(text)
		require.NoError(b, err)
	}
	for b.Loop() {
		s.seed()
		s.multiply()
		controller := s.controller()
		s.looks(controller, float64(s.count))
		b.ReportMetric(controller.memory(b, "VmHWM"), "start-MiB")
		before := s.written(controller)
		for round := range rounds {
			looked := controller.metric(b, reconciles)
			s.touch(round)
			s.looks(controller, looked+float64(s.count))
		}
		b.ReportMetric(s.written(controller)-before, "writes")
		b.ReportMetric(controller.memory(b, "VmRSS"), "MiB")
		b.ReportMetric(controller.memory(b, "VmHWM"), "peak-MiB")
	}
	b.ReportMetric(0, "ns/op") // of all together, which says nothing
}

// settled are Workspaces whose Runs have ended.
type settled struct {
	*world

	count  int
	client dynamic.Interface
	// objects are one of them and its Runs, as they are stored.
	objects []unstructured.Unstructured
}

// controller starts the controller with the environment of its Deployment; it needs no certificate where no pod runs.
func (s *settled) controller() *process {
	s.Helper()
	health := freePort(s.B)
	p := start(s.B, []string{"GOGC=25"}, controlplane.Binary(s.B, "job-controller"), "-leaderElect=false", "-runnerImage=registry/job-runner:dev",
		"-directory="+s.TempDir(), "-port="+freePort(s.B), "-kubeconfig="+s.cluster.Kubeconfig, "-namespace="+system, "-healthPort="+health)
	p.health = "http://127.0.0.1:" + health
	require.Eventually(s, func() bool {
		response, err := http.Get(p.health + "/healthz")
		if err == nil {
			_ = response.Body.Close()
		}
		return err == nil && response.StatusCode == http.StatusOK
	}, patience, 20*time.Millisecond)
	return p
}

func (s *settled) resource(name string) dynamic.ResourceInterface {
	return s.client.Resource(schema.GroupVersionResource{Group: "orcon.tengu.io", Version: "v1alpha1", Resource: name}).Namespace("many")
}

// seedName is the name of the first Workspace; those of the others have its length.
const seedName = "workspace-00000"

// seed makes one Workspace and its Runs, which have ended, and has the controller show their ends.
func (s *settled) seed() {
	s.Helper()
	s.make("jobtemplates", seedTemplate, "script")
	o := s.make("jobworkspaces", fmt.Sprintf(seedWorkspace, seedName), seedName)
	state := map[string]any{"fence": int64(runs), "generation": generation(o, runs), "lastEnd": map[string]any{
		"run": map[string]any{"name": fmt.Sprint(seedName, "-", runs), "uid": "last"}, "attempt": int64(1), "fence": int64(runs), "outcome": "Committed",
	}}
	var kept []any
	for n := runs - 1; n > 0; n-- {
		kept = append(kept, generation(o, n))
	}
	state["kept"] = kept
	o.Object["state"] = state
	_, err := s.resource("jobworkspaces").Update(s.Context(), o, metav1.UpdateOptions{})
	require.NoError(s, err)
	for n := range runs {
		s.make("jobruns", fmt.Sprintf(seedRun, seedName, n+1, o.GetUID()), fmt.Sprint(seedName, "-", n+1))
	}
	controller := s.controller()
	require.Eventually(s, func() bool {
		s.objects = nil
		for _, kind := range []string{"jobworkspaces", "jobruns"} {
			list, err := s.resource(kind).List(s.Context(), metav1.ListOptions{})
			require.NoError(s, err)
			s.objects = append(s.objects, list.Items...)
		}
		for _, one := range s.objects {
			if conditions, _, _ := unstructured.NestedSlice(one.Object, "status", "conditions"); len(conditions) == 0 {
				return false
			}
		}
		return len(s.objects) == 1+runs
	}, patience, 50*time.Millisecond)
	controller.stop(s.B)
}

// make makes an object.
func (s *settled) make(resource, manifest, name string) *unstructured.Unstructured {
	s.Helper()
	o := &unstructured.Unstructured{}
	require.NoError(s, yaml.Unmarshal([]byte(manifest), &o.Object))
	o.SetName(name)
	made, err := s.resource(resource).Create(s.Context(), o, metav1.CreateOptions{})
	require.NoError(s, err)
	return made
}

// generation returns a generation of a Workspace.
func generation(o *unstructured.Unstructured, n int) map[string]any {
	digest := fmt.Sprintf("%064d", n)
	return map[string]any{
		"number": int64(n), "base": int64(n - 1), "author": fmt.Sprintf("Run %s-%d", o.GetName(), n), "archive": map[string]any{
			"digest": "sha256:" + digest, "fence": int64(n), "key": fmt.Sprintf("%s/%019d/state-%s.tar.zst", o.GetUID(), n, digest),
		},
	}
}

const seedTemplate = `
apiVersion: orcon.tengu.io/v1alpha1
kind: JobTemplate
spec:
  image: registry/script@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
  contract: v1
  actions:
    - {name: deploy, entrypoint: [sh, -ec], args: ["echo 1"]}
`

const seedWorkspace = `
apiVersion: orcon.tengu.io/v1alpha1
kind: JobWorkspace
metadata: {name: %s}
spec: {template: script}
`

// seedRun is a JobRun with parameters of some 400 bytes and outputs of some 100.
const seedRun = `
apiVersion: orcon.tengu.io/v1alpha1
kind: JobRun
metadata:
  ownerReferences:
    - {apiVersion: orcon.tengu.io/v1alpha1, kind: JobWorkspace, name: %[1]s, uid: %[3]s, controller: true, blockOwnerDeletion: false}
spec: {workspace: %[1]s, action: deploy}
state:
  input:
    digest: sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
    action: deploy
    image: registry/script@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    contract: v1
    entrypoint: [sh, -ec]
    args: ["echo 1"]
    parameters: {region: eu-west-1, size: 3, hosts: [a.example.org, b.example.org, c.example.org], labels: {team: shop, stage: production, text:
      "some text that is as long as texts of parameters are, such as a key for SSH or a certificate, which are longer"}}
    env: [{name: VAULT_ADDR, value: "https://vault.example.org"}, {name: HTTPS_PROXY, value: "http://proxy.example.org:3128"}]
  report: {fence: %[2]d, outputs: {address: 10.0.0.1, name: "database.example.org", port: 5432}}
  end: {phase: Succeeded, reason: Succeeded, message: "it succeeded; its state is committed", outcome: Committed, attempt: 1, fence: %[2]d}
`

// multiply stores copies of the Workspace and its Runs beside the API server: it would take minutes to make them.
func (s *settled) multiply() {
	s.Helper()
	etcd := newEtcd(s.world)
	for i := 1; i < s.count; i++ {
		name := fmt.Sprintf("workspace-%05d", i)
		var puts []any
		for _, one := range s.objects {
			text, err := json.Marshal(stored(one))
			require.NoError(s, err)
			copied := strings.ReplaceAll(string(text), seedName, name)
			for _, o := range s.objects { // another UID, wherever it is named
				uid := string(o.GetUID())
				copied = strings.ReplaceAll(copied, uid, fmt.Sprintf("%08x", i)+uid[8:])
			}
			key := fmt.Sprintf("/registry/orcon.tengu.io/%ss/many/%s", strings.ToLower(one.GetKind()), strings.ReplaceAll(one.GetName(), seedName, name))
			puts = append(puts, map[string]any{"requestPut": map[string]any{
				"key": base64.StdEncoding.EncodeToString([]byte(key)), "value": base64.StdEncoding.EncodeToString([]byte(copied)),
			}})
		}
		etcd.txn(puts)
	}
}

// stored returns the content of an object as it is stored.
func stored(o unstructured.Unstructured) map[string]any {
	content := o.DeepCopy()
	content.SetResourceVersion("")
	return maps.Clone(content.Object)
}

// etcd is the store of the API server.
type etcd struct {
	*world

	address string
	http    *http.Client
}

func newEtcd(w *world) *etcd {
	w.Helper()
	var status struct {
		PIDs map[string]int `json:"pids"`
	}
	require.NoError(w, json.Unmarshal([]byte(w.cluster.Run(w, "status", "--json")), &status))
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", status.PIDs["kube-apiserver"]))
	require.NoError(w, err)
	flag := func(name string) string {
		found := regexp.MustCompile("--" + name + "=([^\x00]*)").FindSubmatch(text)
		require.NotNil(w, found, name)
		return string(found[1])
	}
	certificate, err := tls.LoadX509KeyPair(flag("etcd-certfile"), flag("etcd-keyfile"))
	require.NoError(w, err)
	authority, err := os.ReadFile(flag("etcd-cafile"))
	require.NoError(w, err)
	pool := x509.NewCertPool()
	require.True(w, pool.AppendCertsFromPEM(authority))
	transport := &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: pool, MinVersion: tls.VersionTLS13}}
	return &etcd{w, flag("etcd-servers"), &http.Client{Transport: transport}}
}

// txn stores in one transaction.
func (e *etcd) txn(puts []any) {
	e.Helper()
	text, err := json.Marshal(map[string]any{"success": puts})
	require.NoError(e, err)
	answer, err := e.http.Post(e.address+"/v3/kv/txn", "application/json", bytes.NewReader(text))
	require.NoError(e, err)
	defer func() { _ = answer.Body.Close() }()
	out, err := io.ReadAll(answer.Body)
	require.NoError(e, err)
	require.Equal(e, http.StatusOK, answer.StatusCode, string(out))
}

// looks waits until so many reconciles were done.
func (s *settled) looks(controller *process, count float64) {
	s.Helper()
	require.Eventually(s, func() bool { return controller.metric(s.B, reconciles) >= count }, 10*time.Minute, 50*time.Millisecond)
}

// touch changes the template, so that each Workspace is reconciled.
func (s *settled) touch(round int) {
	s.Helper()
	s.cluster.Kubectl(s, "-n", "many", "annotate", "--overwrite", "jobtemplate", "script", fmt.Sprint("round=", round))
}

// requests is the counter of the client's requests.
var requests = regexp.MustCompile(`(?m)^rest_client_requests_total\{[^}]*method="(POST|PUT|PATCH|DELETE)"[^}]*\} (\d+)$`)

// written returns how many requests of the controller may have changed something.
func (s *settled) written(controller *process) (sum float64) {
	s.Helper()
	answer, err := http.Get(controller.health + "/metrics")
	require.NoError(s, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(s, err)
	for _, found := range requests.FindAllSubmatch(text, -1) {
		n, err := strconv.ParseFloat(string(found[2]), 64)
		require.NoError(s, err)
		sum += n
	}
	return sum
}

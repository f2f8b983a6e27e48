package e2e

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"encoding/pem"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"filippo.io/age"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// toolImages are made of Debian's packages.
func toolImages() map[string][]string {
	return map[string][]string{
		"network":  {"opentofu", "network", "--content", "deployment/examples/jobs/opentofu"},
		"greeting": {"debian", "greeting", "--packages", "ansible-core,openssh-client,libc-bin,dash,coreutils", "--content", "deployment/examples/jobs/ansible"},
		"sshd":     {"debian", "sshd", "--packages", "openssh-server,python3,dash,coreutils"},
	}
}

// makeTools begins to make the images of tools and of a machine, which takes minutes. The group waits for them.
func makeTools(t *testing.T) *sync.WaitGroup {
	dist, making := filepath.Join(repository(t), "dist"), &sync.WaitGroup{}
	t.Cleanup(making.Wait)
	for name, args := range toolImages() {
		making.Go(func() { produce(t, filepath.Join(dist, name+".tar"), sourcesOfPackages(t), "build/builder", args...) })
	}
	making.Go(func() {
		machine := filepath.Join(dist, "machine.tar")
		produce(t, machine, sourcesOfPackages(t), "test/machine/build.sh", machine)
	})
	return making
}

// tools runs OpenTofu and Ansible in the shipped templates, with states that are encrypted, and templates that the cluster
// builds. Their images are being made.
func tools(t *testing.T, w *world, making *sync.WaitGroup) {
	w = w.of(t)
	registry := w.templateRegistry()
	w.configure(registry)
	making.Wait()
	for name := range toolImages() {
		w.Run(t, "load", filepath.Join(repository(t), "dist", name+".tar"))
	}
	w.typed(map[string]string{"opentofu": "localhost/orcon/network:dev", "ansible": "localhost/orcon/greeting:dev"})
	t.Run("All", func(t *testing.T) {
		t.Run("Built", func(t *testing.T) { t.Parallel(); w.of(t).built(registry) })
		t.Run("Types", func(t *testing.T) { t.Parallel(); w.of(t).shippedTypes() })
		t.Run("OpenTofu", func(t *testing.T) { t.Parallel(); w.of(t).openTofu() })
		t.Run("Ansible", func(t *testing.T) { t.Parallel(); w.of(t).ansible() })
		t.Run("RunNode", func(t *testing.T) { t.Parallel(); w.of(t).becomesNode(registry) })
	})
	w.statesAreEncrypted()
}

// of returns the same world for another test.
func (w *world) of(t *testing.T) *world {
	t.Helper()
	same := *w
	same.t = t
	return &same
}

// configure gives the controller a key for states, a registry for images of templates, and an address for RunNodes.
func (w *world) configure(r imageRegistry) {
	w.t.Helper()
	w.kubectl("-n", "orcon-system", "expose", "deployment", "job-controller", "--name=orcon-nodes", "--port=9443")
	address := w.kubectl("-n", "orcon-system", "get", "service", "orcon-nodes", "-o", "jsonpath={.spec.clusterIP}")
	key, err := age.GenerateX25519Identity()
	require.NoError(w.t, err)
	w.kubectl("-n", "orcon-system", "create", "secret", "generic", "state-keys", "--from-literal=keys.txt="+key.String())
	w.kubectl("-n", "orcon-system", "create", "secret", "generic", "registry", "--from-literal=username="+pusher,
		"--from-literal=password="+pusherPassword, "--from-literal=ca.crt="+string(r.ca))
	w.kubectl("-n", "orcon-system", "patch", "deployment", "job-controller", "--type=json", "-p", `[
		{"op": "add", "path": "/spec/template/spec/volumes/-", "value": {"name": "keys", "secret": {"secretName": "state-keys"}}},
		{"op": "add", "path": "/spec/template/spec/volumes/-", "value": {"name": "registry", "secret": {"secretName": "registry"}}},
		{"op": "add", "path": "/spec/template/spec/containers/0/volumeMounts/-", "value": {"name": "keys", "mountPath": "/keys"}},
		{"op": "add", "path": "/spec/template/spec/containers/0/volumeMounts/-", "value": {"name": "registry", "mountPath": "/registry"}},
		{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "-env=SITE=lab"},
		{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "-keys=/keys/keys.txt"},
		{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "-templateRegistryCredentials=/registry"},
		{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "-nodeAddress=https://`+address+`:9443"},
		{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "-templateRegistry=`+r.host+`/templates"}]`)
	w.kubectl("-n", "orcon-system", "rollout", "status", "deployment/job-controller", "--timeout=300s")
}

// statesAreEncrypted looks at the files that the store has of OpenTofu's states.
func (w *world) statesAreEncrypted() {
	w.t.Helper()
	states := 0
	store := w.kubectl("get", "persistentvolume", "states", "-o", "jsonpath={.spec.hostPath.path}")
	folder := filepath.Join(store, w.field("jobworkspace/network", "{.metadata.uid}"))
	require.NoError(w.t, filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasPrefix(d.Name(), "state-") {
			return err
		}
		text, err := os.ReadFile(file)
		assert.True(w.t, bytes.HasPrefix(text, []byte("age-encryption.org/v1\n")), file)
		states++
		return err
	}))
	assert.NotZero(w.t, states)
}

// shipped applies an example of deployment/examples/jobs with an image and further actions.
func (w *world) shipped(name, image string, actions ...v1alpha1.JobAction) {
	w.t.Helper()
	file, err := os.ReadFile(deployment(w.t, "examples/jobs/"+name+".yaml"))
	require.NoError(w.t, err)
	template, workspace, found := strings.Cut(string(file), "\n---\n")
	require.True(w.t, found)
	var o v1alpha1.JobTemplate
	require.NoError(w.t, yaml.UnmarshalStrict([]byte(template), &o))
	o.Spec.Image, o.Spec.Actions = w.byDigest(image), append(o.Spec.Actions, actions...)
	text, err := yaml.Marshal(o)
	require.NoError(w.t, err)
	w.apply(string(text) + "\n---\n" + workspace)
}

// set replaces parameters of a JobWorkspace.
func (w *world) set(workspace string, parameters any) {
	w.t.Helper()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"parameters": parameters}})
	require.NoError(w.t, err)
	w.kubectl("patch", "jobworkspace", workspace, "--type=merge", "-p", string(patch))
}

// carried runs an action to a phase, and returns the log of the JobRun.
func (w *world) carried(workspace, action, phase string) string {
	w.t.Helper()
	name := w.begin(workspace, action)
	w.phase(name, phase)
	return w.logOf(name)
}

// logOf returns the log of a JobRun.
func (w *world) logOf(name string) string {
	w.t.Helper()
	code, out := w.orcon(controlplane.Binary(w.t, "orcon"), "job", "logs", name)
	require.Zero(w.t, code)
	return out
}

// slow has OpenTofu make the sites, so that there is a checkpoint, and then something that runs a command.
func slow(action, command string) v1alpha1.JobAction {
	return v1alpha1.JobAction{Name: action, Entrypoint: []string{"sh", "-ec"}, Args: []string{`
cat >slow.tf <<'EOF'
resource "terraform_data" "slow" {
  provisioner "local-exec" {
    command = <<-EOC
      ` + command + `
    EOC
  }
}
EOF
tofu init
tofu apply -auto-approve -target=terraform_data.site
tofu apply -auto-approve`}}
}

// openTofu has the tool keep its state with Orcon: a second run changes what a parameter changed alone, and each goes on
// from where the one before was stopped, killed, or could not store its state (JOBS.md J12 and J15, JOBS-DESIGN.md 7, 10
// and 14).
func (w *world) openTofu() {
	const none, one = "No changes. Your infrastructure matches the configuration.", "Plan: 0 to add, 1 to change, 0 to destroy."
	w.shipped("opentofu", "localhost/orcon/network:dev",
		slow("wait", `echo "$ORCON_RUN" >/state/started; sleep 3600`), slow("kill", `kill -9 $PPID; sleep 3600`),
		v1alpha1.JobAction{Name: "unstored", Entrypoint: []string{"sh", "-ec"}, Args: []string{
			"echo site=$SITE; tofu init; TF_HTTP_UPDATE_METHOD=PATCH tofu apply -auto-approve",
		}})
	sites := func(bruges string) {
		w.set("network", map[string]any{"sites": map[string]string{"ghent": "10.0.0.0/24", "bruges": bruges}})
	}
	sites("10.0.1.0/24")
	assert.Contains(w.t, w.carried("network", "deploy", "Succeeded"), "Plan: 2 to add, 0 to change, 0 to destroy.")
	sites("10.0.2.0/24")
	assert.Contains(w.t, w.carried("network", "deploy", "Succeeded"), one)
	last := w.field("jobworkspace/network", "{.state.lastEnd.run.name}")
	assert.Contains(w.t, w.field("jobrun/"+last, "{.state.report.outputs}"), `"value":{"bruges":"10.0.2.0/24"`)

	sites("10.0.3.0/24")
	stopped := w.begin("network", "wait")
	w.started(stopped)
	assert.NotEmpty(w.t, w.field("jobworkspace/network", "{.state.checkpoint.sequence}"))
	w.kubectl("delete", "pods", "-l", "job.orcon.tengu.io/run="+stopped, "--wait=false")
	w.phase(stopped, "Failed")
	assert.Contains(w.t, w.logOf(stopped), "Gracefully shutting down")
	assert.Equal(w.t, "Committed 3", w.field("jobworkspace/network", "{.state.lastEnd.outcome} {.state.generation.number}"))
	assert.Contains(w.t, w.carried("network", "deploy", "Succeeded"), "Plan: 0 to add, 0 to change, 1 to destroy.", "the site is there, and what ran is in the state")

	sites("10.0.4.0/24")
	killed := w.carried("network", "kill", "Failed")
	assert.Contains(w.t, killed, one)
	code, _ := w.orcon(controlplane.Binary(w.t, "orcon"), "job", "state", "accept", "network", "--because", "it made the sites alone", "--yes")
	require.Zero(w.t, code)
	assert.Contains(w.t, w.carried("network", "check", "Succeeded"), none, "the lock that was left is void, and the checkpoint is the state")

	sites("10.0.5.0/24")
	unstored := w.carried("network", "unstored", "Failed")
	assert.Contains(w.t, unstored, "errored.tfstate")
	assert.Contains(w.t, unstored, "site=lab", "a variable of the installation")
	assert.Contains(w.t, w.carried("network", "check", "Failed"), one)
	w.carried("network", "repair", "Succeeded")
	assert.Contains(w.t, w.carried("network", "check", "Succeeded"), none, "the rescued state was pushed")
	w.plans()
}

// plans has exactly the plan of OpenTofu applied that was approved, by another person than the one who runs. What changed
// since is planned again, and so is the end (JOBS.md J17).
func (w *world) plans() {
	w.t.Helper()
	w.kubectl("create", "serviceaccount", "approver")
	w.kubectl("create", "rolebinding", "approver", "--clusterrole=orcon-job-approve", "--serviceaccount="+w.namespace+":approver")
	approver := w.as("approver")
	w.kubectl("patch", "jobworkspace", "network", "--type=merge", "-p", `{"spec":{"approval":"Plan"}}`)
	w.phase(w.begin("network", "deploy"), "Failed")
	network := func(bruges string) {
		w.set("network", map[string]any{"sites": map[string]string{"ghent": "10.0.0.0/24", "bruges": bruges}})
	}
	network("10.0.6.0/24")
	stale := w.begin("network", "plan")
	w.phase(stale, "Succeeded")
	w.eventually(func() string { // it is seen in the list
		if all := w.kubectl("get", "jobworkspaces"); !strings.Contains(all, "`orcon job approve "+w.namespace+"/"+stale+"`") {
			return all
		}
		return ""
	})
	network("10.0.7.0/24")
	again := w.approved(stale, approver, "10.0.6.0/24", "Rejected")
	assert.Contains(w.t, w.field("jobrun/"+again, "{.state.end.message}"), "template, parameters or secrets have changed since it was made: JobRun ")
	w.eventually(func() string { // the one that plans again has the plan
		if now := w.field("jobworkspace/network", "{.state.plan.run.name}"); now == stale {
			return "the plan is that of " + now
		}
		return ""
	})
	plan := w.field("jobworkspace/network", "{.state.plan.run.name}")
	w.phase(plan, "Succeeded")
	applies := w.approved(plan, approver, "10.0.7.0/24", "Succeeded")
	assert.Contains(w.t, w.logOf(applies), "Apply complete! Resources: 0 added, 1 changed, 0 destroyed.")
	out, err := approver.tryWith("apiVersion: orcon.tengu.io/v1alpha1\nkind: JobRun\nmetadata: {name: own}\nspec: {workspace: network, action: plan}\n",
		"create", "-f", "-")
	require.Error(w.t, err, "who approves does not run")
	assert.Contains(w.t, out, `cannot create resource "jobruns"`)
	out, err = w.tryWith("apiVersion: orcon.tengu.io/v1alpha1\nkind: JobApproval\nmetadata: {name: other}\n"+
		"spec: {run: "+plan+", planDigest: 'sha256:"+strings.Repeat("0", 64)+"', author: ann}\n", "create", "-f", "-")
	require.Error(w.t, err)
	assert.Contains(w.t, out, "users approve only in their own name")
	w.phase(w.begin("network", "plan-destroy"), "Succeeded")
	gone := w.approved(w.field("jobworkspace/network", "{.state.plan.run.name}"), approver, "2 to destroy", "Succeeded")
	assert.Contains(w.t, w.logOf(gone), "Apply complete! Resources: 0 added, 0 changed, 2 destroyed.")
	w.kubectl("patch", "jobworkspace", "network", "--type=merge", "-p", `{"spec":{"check":{"schedule":"@every 1m"}}}`)
	w.eventually(func() string { // what was destroyed is still asked for
		if now := w.field("jobworkspace/network", "{.status.conditions[?(@.type=='Drifted')].status}"); now != "True" {
			return "Drifted is " + now + ": " + w.field("jobworkspace/network", "{.status.conditions[?(@.type=='Drifted')].message}")
		}
		return ""
	})
	w.kubectl("patch", "jobworkspace", "network", "--type=merge", "-p", `{"spec":{"check":null}}`)
}

// as returns the same world by the account of the namespace.
func (w *world) as(account string) *world {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "kubeconfig")
	require.NoError(w.t, os.WriteFile(file, []byte(w.kubectl("config", "view", "--raw", "--flatten", "--minify")), 0o600))
	other, cluster := *w, *w.Cluster
	cluster.Kubeconfig = file
	other.Cluster = &cluster
	other.kubectl("config", "set-credentials", account, "--token="+w.kubectl("create", "token", account))
	other.kubectl("config", "set-context", "--current", "--user="+account)
	return &other
}

// approved has a person approve the plan of a JobRun, whose text has a part, and returns the JobRun that applies it, which
// comes to a phase.
func (w *world) approved(name string, person *world, part, phase string) string {
	w.t.Helper()
	code, out := person.orcon(controlplane.Binary(w.t, "orcon"), "job", "approve", name, "--yes")
	require.Zero(w.t, code, out)
	assert.Contains(w.t, out, part)
	_, approval, _ := strings.Cut(out, "JobApproval ")
	approval, _, _ = strings.Cut(approval, ";")
	w.eventually(func() string {
		if w.field("jobapproval/"+approval, "{.status.run}") == "" {
			return "no JobRun applies it: " + w.field("jobapproval/"+approval, "{.status.conditions[*].message}")
		}
		return ""
	})
	applies := w.field("jobapproval/"+approval, "{.status.run}")
	w.phase(applies, phase)
	return applies
}

// ansible has the tool change a file of a host over SSH, by a key of a Secret: a second run changes nothing (JOBS.md J14
// and J15).
func (w *world) ansible() {
	client, clientPublic := keyPair(w.t)
	host, hostPublic := keyPair(w.t)
	w.shipped("ansible", "localhost/orcon/greeting:dev")
	w.set("greeting", map[string]any{"host": "sshd", "port": 2222, "user": "nobody", "file": "/tmp/greeting", "greeting": "hello {{ user }}"})
	first := w.begin("greeting", "deploy")
	w.hindered(first, "FailedMount: ", `secret "ssh" not found`)
	w.hasSecret("sshd", map[string]string{"host": host, "authorized": clientPublic, "config": strings.Join([]string{
		"Port 2222", "HostKey /keys/host", "AuthorizedKeysFile /keys/authorized", "StrictModes no", "UsePAM no", "PidFile none",
		"PasswordAuthentication no", "Subsystem sftp /usr/lib/openssh/sftp-server", "",
	}, "\n")})
	w.apply(sshServer)
	w.kubectl("wait", "--for=condition=Ready", "pod/sshd", "--timeout="+patience.String())
	w.hasSecret("ssh", map[string]string{"key": client, "known_hosts": "[sshd]:2222 " + hostPublic})
	w.phase(first, "Succeeded")
	assert.Contains(w.t, w.logOf(first), "changed=1 ")
	assert.Equal(w.t, "hello {{ user }}", w.kubectl("exec", "sshd", "--", "cat", "/tmp/greeting"), "a parameter is no template")
	assert.Contains(w.t, w.carried("greeting", "deploy", "Succeeded"), "changed=0 ")

	w.greetsSecretly()
	assert.Contains(w.t, w.carried("greeting", "deploy", "Succeeded"), "changed=1 ")
	assert.Equal(w.t, "{{ 6 * 7 }} secretly", w.kubectl("exec", "sshd", "--", "cat", "/tmp/greeting"), "a value of a Secret is no template")
}

// greetsSecretly has the parameter greeting of JobWorkspace greeting be sensitive, and in Secret ssh.
func (w *world) greetsSecretly() {
	w.t.Helper()
	const plain, sensitive = `"greeting":{"type":"string"}`, `"greeting":{"type":"string","sensitive":true}`
	template := w.field("jobtemplate/ansible", "{.spec}")
	require.Contains(w.t, template, plain)
	w.apply(`{"apiVersion": "orcon.tengu.io/v1alpha1", "kind": "JobTemplate", "metadata": {"name": "secretly"}, "spec": ` +
		strings.Replace(template, plain, sensitive, 1) + "}")
	w.kubectl("patch", "secret", "ssh", "-p", `{"stringData": {"greeting": "{{ 6 * 7 }} secretly"}}`)
	w.kubectl("patch", "jobworkspace", "greeting", "--type=json", "-p", `[
		{"op": "replace", "path": "/spec/template", "value": "secretly"}, {"op": "remove", "path": "/spec/parameters/greeting"},
		{"op": "add", "path": "/spec/secrets/-", "value": {"name": "greeting", "secret": "ssh", "key": "greeting"}}]`)
}

// keyPair returns a key of SSH and its public part.
func keyPair(t *testing.T) (private, public string) {
	t.Helper()
	key, private25519, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(private25519, "")
	require.NoError(t, err)
	encoded, err := ssh.NewPublicKey(key)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(block)), string(ssh.MarshalAuthorizedKey(encoded))
}

// hasSecret makes a Secret.
func (w *world) hasSecret(name string, values map[string]string) {
	w.t.Helper()
	o := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.namespace}, StringData: values}
	_, err := w.client.CoreV1().Secrets(w.namespace).Create(w.t.Context(), o, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

// sshServer is a host that is reached by SSH.
const sshServer = `
apiVersion: v1
kind: Pod
metadata: {name: sshd, labels: {app: sshd}}
spec:
  automountServiceAccountToken: false
  securityContext: {runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532, seccompProfile: {type: RuntimeDefault}}
  volumes:
    - {name: keys, secret: {secretName: sshd}}
  containers:
    - name: sshd
      image: localhost/orcon/sshd:dev
      imagePullPolicy: Never
      command: [/usr/sbin/sshd, -D, -e, -f, /keys/config]
      securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
      readinessProbe: {tcpSocket: {port: 2222}, periodSeconds: 1}
      volumeMounts:
        - {name: keys, mountPath: /keys}
---
apiVersion: v1
kind: Service
metadata: {name: sshd}
spec:
  selector: {app: sshd}
  ports:
    - {port: 2222}
`

package e2e

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// secrets runs OpenTofu with a sensitive parameter, which it prints, writes into its logs and its state, and returns as outputs:
// nothing but Secrets has the value afterwards, and a related pod has what it is granted (JOBS.md J14 and J19).
func secrets(t *testing.T, w *world) {
	w = w.of(t)
	value := "pw/" + rand.Text()
	w.hasSecret("account", map[string]string{"password": value})
	w.apply(fmt.Sprintf(jobSecrets, w.byDigest("localhost/orcon/network:dev")))
	w.set("account", map[string]any{"user": "orders", "password": "in plain"})
	refused := w.begin("account", "deploy")
	w.phase(refused, "Failed")
	assert.Contains(t, w.field("jobrun/"+refused, "{.state.end.message}"), `parameter "password" is sensitive`)
	assert.NotContains(t, w.kubectl("get", "jobrun", refused, "-o", "yaml"), "in plain")
	w.set("account", map[string]any{"password": nil})

	run := w.begin("account", "deploy")
	w.hindered(run, "Secret "+w.namespace+"/account-outputs", "ClusterRole orcon-job-outputs")
	for _, one := range [][2]string{{"orcon-granted-secrets", "relations-controller"}, {"orcon-job-outputs", "job-controller"}} {
		w.kubectl("create", "rolebinding", one[0], "--clusterrole="+one[0], "--serviceaccount=orcon-system:"+one[1])
	}
	w.phase(run, "Succeeded")
	w.eventually(func() string { return w.kubectl("get", "jobs,pods", "-l", "job.orcon.tengu.io/run="+run, "-o", "name") })
	log := w.logOf(run)
	for _, line := range []string{"variable [redacted]\n", "base64 [redacted]\n", "parts [redacted]\n", `copy = "[redacted]"`} {
		assert.Contains(t, log, line)
	}
	assert.JSONEq(t, `{
		"copy": {"sensitive": true}, "password": {"sensitive": true}, "user": {"sensitive": false, "type": "string", "value": "orders"},
		"sites": {"sensitive": false, "type": ["object", {}], "value": {}}
	}`, w.field("jobrun/"+run, "{.state.report.outputs}"), "sites is of the image")
	for _, output := range []string{"copy", "password"} {
		text, err := base64.StdEncoding.DecodeString(w.field("secret/account-outputs", "{.data."+output+"}"))
		require.NoError(t, err)
		assert.Equal(t, value, string(text))
	}
	w.leavesNoTrace(value)

	w.kubectl("label", "namespace", w.namespace, "tengu-injector=enabled")
	w.apply(jobConsumer)
	web := w.running("web", 1)[0]
	assert.Equal(t, "orders "+value, w.sh(web.Name, "echo $(cat /bindings/store/user) $(cat /bindings/store/password)"))
	w.set("account", map[string]any{"user": "clients"})
	w.carried("account", "deploy", "Succeeded")
	w.eventually(func() string { // a changed output reaches the pod
		if w.sh(web.Name, "echo $(cat /bindings/store/user) $(cat /bindings/store/password)") != "clients "+value {
			return "the pod has other data"
		}
		return ""
	})
	w.carried("account", "destroy", "Succeeded")
	w.eventually(func() string { return w.field("service/orders-db", `{.metadata.annotations.data\.tengu\.io/main}`) })
	w.leavesNoTrace(value)
}

// leavesNoTrace looks for a value in all objects but Secrets, in the store of states and logs, and on the disk of the node.
func (w *world) leavesNoTrace(value string) {
	w.t.Helper()
	texts := []string{value, base64.StdEncoding.EncodeToString([]byte(value))}
	for kind := range strings.FieldsSeq(w.kubectl("api-resources", "--verbs=list", "--namespaced", "-o", "name")) {
		for _, namespace := range []string{w.namespace, "orcon-system"} {
			if all := w.kubectl("-n", namespace, "get", kind, "-o", "json"); kind != "secrets" {
				for _, text := range texts {
					assert.Zero(w.t, strings.Count(all, text), "%s of %s have it", kind, namespace)
				}
			}
		}
	}
	store := w.kubectl("get", "persistentvolume", "states", "-o", "jsonpath={.spec.hostPath.path}")
	for _, folder := range []string{store, w.Dir} {
		files := 0
		require.NoError(w.t, filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil // it went meanwhile
			case err == nil && d.IsDir() && d.Name() == "etcd":
				return fs.SkipDir // which has the Secrets
			case err != nil || !d.Type().IsRegular():
				return err
			}
			content, err := os.ReadFile(file)
			for _, text := range texts {
				assert.False(w.t, bytes.Contains(content, []byte(text)), "%s has it", file)
			}
			files++
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}))
		assert.NotZero(w.t, files)
	}
}

// jobSecrets are a template with a sensitive parameter, which does with it all that it must not, and its JobWorkspace.
const jobSecrets = `
apiVersion: orcon.tengu.io/v1alpha1
kind: JobTemplate
metadata: {name: account}
spec:
  image: %s
  contract: v1
  type: OpenTofu
  parameters:
    type: object
    additionalProperties: false
    required: [user, password]
    properties:
      user: {type: string}
      password: {type: string, sensitive: true}
  actions:
    - name: deploy
      entrypoint: [sh, -ec]
      args:
        - |
          cat >account.tf <<'EOF'
          variable "user" {}
          variable "password" {
            sensitive = true
          }
          resource "terraform_data" "account" {
            input = var.password
          }
          output "user" {
            value = var.user
          }
          output "password" {
            value     = terraform_data.account.output
            sensitive = true
          }
          output "copy" {
            value = nonsensitive(var.password)
          }
          EOF
          tofu init
          tofu apply -auto-approve
          tofu output -json >"$ORCON_OUTPUTS"
          cat "$ORCON_SECRETS/password" >"$ORCON_STATE/copy"
          cat "$ORCON_SECRETS/password" >/logs/copy
          echo "variable $TF_VAR_password"
          echo "base64 $(base64 -w0 "$ORCON_SECRETS/password")"
          printf 'parts %%.5s' "$TF_VAR_password"; echo "${TF_VAR_password#?????}"
    - {name: destroy, entrypoint: [sh, -ec, tofu init; tofu destroy -auto-approve]}
---
apiVersion: orcon.tengu.io/v1alpha1
kind: JobWorkspace
metadata: {name: account}
spec:
  template: account
  secrets:
    - {name: password, secret: account, key: password}
  outputs: {service: orders-db, endpoint: main}
---
apiVersion: v1
kind: Service
metadata:
  name: orders-db
  annotations: {tengu.io/provides: "main:orders-db"}
spec: {type: ExternalName, externalName: db.example.org}
`

// jobConsumer is an application that is related to what a run has made.
const jobConsumer = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations: {tengu.io/consumes: "store:orders-db", tengu.io/relations: orders-db}
spec:
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      terminationGracePeriodSeconds: 1
      securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
      containers:
        - name: main
          image: busybox:stable
          imagePullPolicy: IfNotPresent
          command: [sleep, infinity]
          securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
`

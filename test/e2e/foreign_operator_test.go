package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// operates installs Gatekeeper as a bundle of an operator, beside cert-manager: its webhooks answer with the
// certificate of the bundle, whose authority cert-manager writes into the configurations (CONTENT.md X7).
func operates(t *testing.T, c *controlplane.Cluster) {
	t.Helper()
	program := controlplane.Binary(t, "orcon")
	w := &world{Cluster: c, t: t, client: c.Client(t), objects: objects(t, c), namespace: "operators"}
	w.makeNamespace(nil)
	f := gatekeeper(t)
	f.debian = nil
	f.load(w)
	folder := t.TempDir()
	asBundle(t, folder, f.rendered(t, program))
	install := func(values string) string {
		file := filepath.Join(t.TempDir(), "values.yaml")
		require.NoError(t, os.WriteFile(file, []byte(values), 0o600))
		code, out := w.orcon(program, "install", folder, "--name", "gatekeeper", "-f", file, "--yes", "--timeout", patience.String())
		require.Zero(t, code, out)
		return out
	}
	assert.Contains(t, install("{}"), "is healthy: revision 1")
	enforces(w)
	w.prints("True", "get", "certificates", "-o", `jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}`)
	assert.Contains(t, install("deploymentConfig: {env: [{name: COLOUR, value: blue}]}"), "is healthy: revision 2")
	w.contains("COLOUR", "get", "deployments", "-o", "yaml")
	enforces(w)
	code, out := w.orcon(program, "rollback", "gatekeeper", "--yes", "--timeout", patience.String())
	require.Zero(t, code, out)
	assert.NotContains(t, w.kubectl("get", "deployments", "-o", "yaml"), "COLOUR")
	enforces(w)
	w.kubectl("delete", "constrainttemplates", "--all")
	_, refusal := w.orcon(program, "uninstall", "gatekeeper", "--yes")
	w.removes(program, "gatekeeper", refusal)
	w.Kubectl(t, "delete", "namespace", w.namespace)
}

// rendered returns the objects of the chart without its hooks, and without a certificate of its own.
func (f chart) rendered(t *testing.T, program string) []domain.Object {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, "render", f.unpack(t, f.Module), "--name", "gatekeeper", "-n", "operators", "--set",
		"disableAudit=true,controllerManager.disableGenerateOperation=false,"+
			"replicas=1,controllerManager.disableCertRotation=true,resourceQuota=false,upgradeCRDs.enabled=false")
	text, err := command.Output()
	require.NoError(t, err)
	var all []domain.Object
	for part := range strings.SplitSeq(string(text), "\n---\n") {
		var o domain.Object
		require.NoError(t, yaml.Unmarshal([]byte(part), &o))
		all = append(all, o)
	}
	return all
}

// asBundle writes a bundle as operator-sdk generates it of manifests: definitions beside a ClusterServiceVersion of the
// Deployment and of the rules of its account. Its webhooks are about the kinds that a bundle may have webhooks for.
func asBundle(t *testing.T, folder string, objects []domain.Object) {
	t.Helper()
	write := func(name string, content any) {
		text, err := yaml.Marshal(content)
		require.NoError(t, err)
		file := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, text, 0o600))
	}
	var csv map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(gatekeeperVersioned), &csv))
	spec := csv["spec"].(map[string]any) //nolint:forcetypeassert // it stands below
	rules := map[string]any{}
	var deployment, owned []any
	for _, o := range objects {
		switch id := o.ID(); id.Kind {
		case "CustomResourceDefinition":
			write("manifests/"+id.Name+".yaml", o)
			names, _ := o.At("spec", "names", "kind").(string)
			versions, _ := o.At("spec", "versions").([]any)
			version := versions[0].(map[string]any) //nolint:forcetypeassert // a definition has one
			owned = append(owned, map[string]any{"name": id.Name, "kind": names, "version": version["name"]})
		case "ClusterRole", "Role":
			if id.Name != "gatekeeper-manager-role" { // those of hooks
				continue
			}
			rules[id.Kind] = []any{map[string]any{"serviceAccountName": "gatekeeper-admin", "rules": o["rules"]}}
		case "Deployment":
			deployment = append(deployment, map[string]any{"name": id.Name, "spec": withFolder(o["spec"])})
		}
	}
	spec["customresourcedefinitions"] = map[string]any{"owned": owned}
	spec["install"] = map[string]any{"strategy": "deployment", "spec": map[string]any{
		"deployments": deployment, "clusterPermissions": rules["ClusterRole"], "permissions": rules["Role"],
	}}
	write("manifests/gatekeeper.clusterserviceversion.yaml", csv)
	write("metadata/annotations.yaml", map[string]any{"annotations": map[string]string{
		"operators.operatorframework.io.bundle.mediatype.v1": "registry+v1",
		"operators.operatorframework.io.bundle.manifests.v1": "manifests/",
		"operators.operatorframework.io.bundle.metadata.v1":  "metadata/",
		"operators.operatorframework.io.bundle.package.v1":   "gatekeeper",
	}})
}

// withFolder returns the specification of the Deployment with the folder of certificates of kubebuilder.
func withFolder(spec any) any {
	const folder = "/tmp/k8s-webhook-server/serving-certs"
	o := domain.Object{"spec": spec}
	containers, _ := o.At("spec", "template", "spec", "containers").([]any)
	manager := containers[0].(map[string]any) //nolint:forcetypeassert // the chart has one
	args, _ := manager["args"].([]any)
	manager["args"] = append(args, "--cert-dir="+folder)
	manager["volumeMounts"] = []any{map[string]any{"name": "cert", "mountPath": folder, "readOnly": true}}
	return spec
}

// gatekeeperVersioned is the ClusterServiceVersion without what the chart has.
const gatekeeperVersioned = `
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: gatekeeper.v3.23.1}
spec:
  installModes:
  - {type: AllNamespaces, supported: true}
  - {type: OwnNamespace, supported: false}
  - {type: SingleNamespace, supported: false}
  - {type: MultiNamespace, supported: false}
  webhookdefinitions:
  - type: ValidatingAdmissionWebhook
    generateName: validation.gatekeeper.sh
    deploymentName: gatekeeper-controller-manager
    containerPort: 443
    targetPort: 8443
    webhookPath: /v1/admit
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Ignore
    rules: [{apiGroups: [""], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [configmaps, pods, services]}]
  - type: ValidatingAdmissionWebhook
    generateName: check-ignore-label.gatekeeper.sh
    deploymentName: gatekeeper-controller-manager
    containerPort: 443
    targetPort: 8443
    webhookPath: /v1/admitlabel
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Fail
    rules: [{apiGroups: [""], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [namespaces]}]
  - type: MutatingAdmissionWebhook
    generateName: mutation.gatekeeper.sh
    deploymentName: gatekeeper-controller-manager
    containerPort: 443
    targetPort: 8443
    webhookPath: /v1/mutate
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Ignore
    rules: [{apiGroups: [""], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [configmaps]}]
`

package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/foreign"
)

const gatekeeperVersion = "v3.23.1"

// gatekeeper is Gatekeeper's chart, with all of its hooks: Jobs that update definitions before an installation and an
// upgrade, ask the webhook and label the namespace after them, and delete the webhooks before an uninstallation. It
// writes its certificate into a Secret of the chart, and its authority into the webhooks.
func gatekeeper(t *testing.T) chart {
	t.Helper()
	m := foreign.Module{
		Path: "github.com/open-policy-agent/gatekeeper/v3", Version: gatekeeperVersion, Sum: "h1:njHTm0SJ6ZEhhEgmQTpJKTGQbc99fSs4hGiEp1OIKck=",
	}
	bin := filepath.Join(repository(t), "bin")
	definitions := m.Unpack(t, "charts/gatekeeper/crds")
	const prober = "postInstall.probeWebhook.image"
	return chart{
		Module: m, folder: "charts/gatekeeper", namespace: "gatekeeper-system",
		images: map[string]foreign.Program{
			"openpolicyagent/gatekeeper:" + m.Version:      {File: filepath.Join(bin, "gatekeeper"), As: "/manager"},
			"openpolicyagent/gatekeeper-crds:" + m.Version: {File: filepath.Join(bin, "kubectl"), Files: map[string]string{"crds": definitions}},
		},
		debian: map[string]string{"curl": "curl,ca-certificates"},
		values: []string{
			"--set", "replicas=1,validatingWebhookFailurePolicy=Fail,postUpgrade.labelNamespace.enabled=true",
			"--set", prober + ".repository=localhost/orcon/curl," + prober + ".tag=dev",
			// The chart does not render its binding for this hook without a name.
			"--set", "preUninstall.deleteWebhookConfigurations.enabled=true",
			"--set", "preUninstall.deleteWebhookConfigurations.name=gatekeeper-delete-webhook-configs",
		},
		changed: []string{"--set", "replicas=2"},
		works:   guarded,
		ends: func(w *world) {
			w.kubectl("delete", "constrainttemplates", "--all")
			w.kubectl("label", "namespace", w.namespace, "admission.gatekeeper.sh/ignore-", "pod-security.kubernetes.io/enforce-")
		},
	}
}

// guarded proves that the Jobs of an installation and of an upgrade have run, that Gatekeeper refuses a label of a
// namespace, and that it enforces a policy that is written now.
func guarded(w *world, upgraded bool) {
	w.t.Helper()
	w.prints("no-self-managing", "get", "namespace", w.namespace, "-o", `jsonpath={.metadata.labels.admission\.gatekeeper\.sh/ignore}`)
	jobs := strings.Join(w.jobs(), " ")
	assert.Contains(w.t, jobs, "gatekeeper-update-namespace-label-")
	assert.Equal(w.t, upgraded, strings.Contains(jobs, "gatekeeper-update-namespace-label-post-upgrade-"), jobs)
	enforces(w)
}

// enforces proves that both webhooks of Gatekeeper refuse what they are for.
func enforces(w *world) {
	w.t.Helper()
	out, err := w.try("label", "namespace", "default", "admission.gatekeeper.sh/ignore=me", "--dry-run=server")
	require.Error(w.t, err)
	assert.Contains(w.t, out, "Only exempt namespace can have the admission.gatekeeper.sh/ignore label")
	w.apply(ownerTemplate)
	w.eventually(func() string {
		out, err := w.tryWith(ownerConstraint, "apply", "-f", "-")
		if err != nil {
			return out
		}
		return ""
	})
	w.eventually(func() string {
		out, _ := w.try("-n", "default", "create", "configmap", "mine", "--dry-run=server")
		if strings.Contains(out, "denied the request: [owner] it has no owner") {
			return ""
		}
		return "no policy refused it: " + out
	})
	w.kubectl("delete", "owner.constraints.gatekeeper.sh", "owner")
}

// ownerTemplate and ownerConstraint are a policy: ConfigMaps of namespace default have an owner.
const (
	ownerTemplate = `
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: owner}
spec:
  crd: {spec: {names: {kind: Owner}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package owner
      violation[{"msg": "it has no owner"}] { not input.review.object.metadata.labels.owner }
`
	ownerConstraint = `
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: Owner
metadata: {name: owner}
spec: {match: {namespaces: [default], kinds: [{apiGroups: [""], kinds: [ConfigMap]}]}}
`
)

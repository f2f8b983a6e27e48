package deployment

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Each variant is accepted by a real API server, twice, and its pods by Pod
// Security "restricted".
func TestVariantsApply(t *testing.T) {
	tests := map[string]struct {
		why   string
		first string
		apply string
	}{
		"SelfSigned":  {why: "it needs nothing but Kubernetes", apply: "kubectl apply -k deployment/selfsigned"},
		"CertManager": {why: "it needs cert-manager's kinds", first: certManagerKinds, apply: "kubectl apply -k deployment/certmanager"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			s := newShell(t)
			s.unhook()
			if tc.first != "" {
				s.run(tc.first)
			}
			s.run(tc.apply)
			for _, name := range []string{"relations-controller", "relations-mutating-webhook"} {
				// Pods are created: Pod Security did not refuse them.
				s.eventually("test $(kubectl -n orcon-system get deployment " + name + " -o jsonpath='{.status.updatedReplicas}') -ge 1")
			}
			generation := "kubectl -n orcon-system get deployments -o jsonpath='{.items[*].metadata.generation}'"
			before := s.run(generation)
			s.run(tc.apply)
			assert.Equal(t, before, s.run(generation), "applied again, nothing rolls out")
		})
	}
}

// established waits until every definition can be used: "kubectl wait" alone fails where
// nobody has written the status yet.
const established = `timeout 60 sh -c 'until kubectl wait --for=condition=Established crd --all; do sleep 0.1; done'`

// certManagerKinds are cert-manager's CRDs, from its module.
const certManagerKinds = `kubectl apply --server-side -f "$(go list -m -f '{{.Dir}}' github.com/cert-manager/cert-manager)/deploy/crds" &&
	` + established

// Every example is one that the API server takes.
func TestExamples(t *testing.T) {
	s := newShell(t)
	s.run("kubectl apply -k deployment/crd && " + established)
	s.run("for f in deployment/examples/*.yaml; do kubectl apply --dry-run=server --validate=strict -f $f; done")
	s.run("kubectl apply -k deployment/demo --dry-run=client")
	s.run("kubectl kustomize deployment/network-policies | sed 's/namespace: .*/namespace: default/' | kubectl apply --dry-run=server --validate=strict -f -")
}

// Who may see a namespace sees its relations, who may edit it makes and ends them,
// and nobody but the controller writes what it alone writes.
func TestPeople(t *testing.T) {
	s := newShell(t)
	s.run("kubectl apply -k deployment/crd && kubectl apply -k deployment/rbac")
	s.namespace("people")
	s.run("kubectl -n people create rolebinding v --clusterrole=view --user=viewer && kubectl -n people create rolebinding e --clusterrole=edit --user=editor")
	s.eventually("kubectl -n people auth can-i list relations.orcon.tengu.io --as viewer")
	s.eventually("kubectl -n people auth can-i delete relations.orcon.tengu.io --as editor")
	s.refused("kubectl -n people auth can-i delete relations.orcon.tengu.io --as viewer")
	for _, verb := range []string{"get", "list", "watch"} { // Kubernetes' role view reads no Secrets (TRUST-DESIGN.md 38)
		s.refused("kubectl -n people auth can-i " + verb + " databags.orcon.tengu.io --as viewer")
		s.eventually("kubectl -n people auth can-i " + verb + " databags.orcon.tengu.io --as editor")
	}
	s.refused("kubectl -n people auth can-i update databags.orcon.tengu.io --as editor")
	s.refused("kubectl -n people auth can-i update relations.orcon.tengu.io --subresource=status --as editor")
}

// The controller's few rights beyond reading, tried as the controller: the trust
// bundle anywhere, and nothing else of its kind (SAFETY.md S2).
func TestControllerRights(t *testing.T) {
	s := newShell(t)
	s.run("kubectl apply -k deployment/crd && kubectl apply -k deployment/rbac")
	s.namespace("rights")
	const as = " --as system:serviceaccount:default:relations-controller "
	apply := func(name string) string {
		return `printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ` + name + `, namespace: rights}\n' | kubectl apply --server-side -f -` + as
	}
	s.eventually(apply("orcon-trust"))
	s.run(apply("orcon-trust"))
	s.refused(apply("other"))
	s.run("kubectl get configmaps -A --field-selector metadata.name=orcon-trust" + as)
	s.refused("kubectl get configmaps -n rights" + as)
	s.run("kubectl get secrets -n default --field-selector metadata.name=orcon-ca" + as)
	s.refused("kubectl create secret generic orcon-ca -n default" + as)
	s.run(`printf 'apiVersion: v1\nkind: Secret\nmetadata: {name: orcon-ca, namespace: default}\n' | kubectl apply --server-side -f -` + as)
	s.run("kubectl get secret orcon-ca -n default" + as)
	s.refused("kubectl get secrets -n default" + as)
	s.refused("kubectl get secret orcon-ca -n rights" + as)
	s.refused("kubectl delete secret orcon-ca -n default" + as)
	s.refused("kubectl delete pod any -n rights" + as)
	s.run("kubectl delete secret orcon-ca -n default")
}

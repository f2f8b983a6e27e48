package e2e

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/test/foreign"
)

// certManager is cert-manager's chart. Its start-up check is a Job, which both webhooks have to answer.
func certManager(t *testing.T) chart {
	t.Helper()
	bin := filepath.Join(repository(t), "bin")
	const path, images = "github.com/cert-manager/cert-manager", "quay.io/jetstack/cert-manager-"
	f := chart{
		Module: foreign.Module{Path: path, Version: "v1.21.0", Sum: "h1:BCoB2BxA1lbqPusZCqPLPn8Q9MhraL7RbZGHbBcm3W8="},
		next:   foreign.Module{Path: path, Version: "v1.21.2", Sum: "h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68="},
		folder: "deploy/charts/cert-manager", version: "v0.0.0", namespace: "cert-manager",
		values: []string{"--set", "crds.enabled=true"}, changed: []string{"--set", "replicaCount=2"},
		works: certified, ends: func(w *world) { w.kubectl("delete", "issuer/own", "certificate/site", "secret/site") },
		stays:  []string{"Secret cert-manager/cert-manager-webhook-ca"},
		images: map[string]foreign.Program{},
	}
	for _, program := range []string{"controller", "cainjector", "webhook", "startupapicheck"} {
		for _, version := range []string{f.Version, f.next.Version} {
			f.images[images+program+":"+version] = foreign.Program{File: filepath.Join(bin, "certmanager"), Args: []string{program}}
		}
	}
	return f
}

// certified proves that a new certificate is issued, that the webhook refuses a wrong one, and that the start-up check
// ran at the installation alone.
func certified(w *world, upgraded bool) {
	w.t.Helper()
	w.kubectl("delete", "secret,certificate", "site", "--ignore-not-found")
	w.apply(site)
	w.kubectl("wait", "--for=condition=Ready", "certificate/site", "--timeout="+patience.String())
	w.prints("kubernetes.io/tls", "get", "secret", "site", "-o", "jsonpath={.type}")
	out, err := w.tryWith(site+"\n  duration: 1s\n", "apply", "--dry-run=server", "-f", "-")
	assert.Error(w.t, err)
	assert.Contains(w.t, out, `admission webhook "webhook.cert-manager.io" denied the request: spec.duration: Invalid value`)
	want := "cert-manager-v1.21.0"
	if upgraded {
		want = "cert-manager-v1.21.2"
	}
	w.prints(want, "get", "deployment", "cert-manager-webhook", "-o", `jsonpath={.metadata.labels.helm\.sh/chart}`)
}

// site is a certificate of an issuer that signs itself.
const site = `
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: own}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: site}
spec:
  secretName: site
  dnsNames: [site.example.org]
  issuerRef: {name: own}`

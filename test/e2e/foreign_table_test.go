package e2e

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/foreign"
)

// metricsServer is metrics-server's chart: an aggregated API.
func metricsServer(t *testing.T) chart {
	t.Helper()
	return chart{
		Module: foreign.Module{Path: "sigs.k8s.io/metrics-server", Version: "v0.9.0", Sum: "h1:nlqqZ2H0Xfko8eJC/1qaNVVT17hu4rxndkOi22KTZ4w="},
		folder: "charts/metrics-server", namespace: "metrics",
		images: map[string]foreign.Program{
			"registry.k8s.io/metrics-server/metrics-server:v0.9.0": {File: filepath.Join(repository(t), "bin", "metrics-server")},
		},
		values:  []string{"--set", "image.tag=v0.9.0,args={--kubelet-insecure-tls}"},
		changed: []string{"--set", "replicas=2"},
		works: func(w *world, _ bool) {
			w.contains("orcon-node", "top", "nodes")
		},
	}
}

// sealedSecrets is the chart of Sealed Secrets, whose controller makes a key of its own.
func sealedSecrets(t *testing.T) chart {
	t.Helper()
	return chart{
		Module: foreign.Module{Path: "github.com/bitnami-labs/sealed-secrets", Version: "v0.27.1", Sum: "h1:oSq/rCGYz0pk7RP4RacIorG/VCWA6c4D8wIEpRkZAUg="},
		folder: "helm/sealed-secrets", namespace: "sealed",
		images: map[string]foreign.Program{
			"docker.io/bitnami/sealed-secrets-controller:0.27.0": {File: filepath.Join(repository(t), "bin", "sealed-secrets"), As: "/bin/controller"},
		},
		changed: []string{"--set", "logLevel=DEBUG"},
		works: func(w *world, _ bool) {
			w.contains("-----BEGIN CERTIFICATE-----", "get", "--raw", "/api/v1/namespaces/sealed/services/http:sealed-secrets:http/proxy/v1/cert.pem")
		},
		ends: func(w *world) { w.kubectl("delete", "secrets", "-l", "sealedsecrets.bitnami.com/sealed-secrets-key") },
	}
}

// trustManager is trust-manager's chart, whose webhook has a Certificate of the chart. It needs cert-manager, and reads a
// Secret that certified made.
func trustManager(t *testing.T) chart {
	t.Helper()
	const version = "v0.25.0"
	return chart{
		Module: foreign.Module{Path: "github.com/cert-manager/trust-manager", Version: version, Sum: "h1:nGtkHH9wEacI5uACdsq8wqCKWsCw1PMrwHPJcrUFUXA="},
		folder: "deploy/charts/trust-manager", version: "v0.0.0", namespace: "trust",
		images: map[string]foreign.Program{
			"quay.io/jetstack/trust-manager:" + version: {File: filepath.Join(repository(t), "bin", "trust-manager")},
		},
		values:  []string{"--set", "defaultPackage.enabled=false,crds.keep=false"},
		changed: []string{"--set", "app.logLevel=2"},
		works: func(w *world, _ bool) {
			w.kubectl("delete", "bundles.trust.cert-manager.io", "--all")
			w.apply(trusted)
			w.contains("-----BEGIN CERTIFICATE-----", "get", "configmap", "authorities", "-o", "yaml")
			out, err := w.tryWith(trusted+"  - useDefaultCAs: true\n  - useDefaultCAs: true\n", "apply", "--dry-run=server", "-f", "-")
			require.Error(w.t, err)
			assert.Contains(w.t, out, `admission webhook "trust.cert-manager.io" denied the request`)
		},
		ends: func(w *world) {
			w.kubectl("delete", "bundles.trust.cert-manager.io", "--all")
			w.kubectl("wait", "--for=delete", "configmap/authorities", "--timeout="+patience.String())
		},
		stays: []string{"Lease trust/trust-manager-leader-election", "Secret trust/trust-manager-tls"},
	}
}

// trusted gives the certificate of a Secret to every namespace.
const trusted = `
apiVersion: trust.cert-manager.io/v1alpha1
kind: Bundle
metadata: {name: authorities}
spec:
  target: {configMap: {key: ca.crt}}
  sources:
  - secret: {name: site, key: tls.crt}
`

package clustertest_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/clustertest"
)

func TestControlPlane(t *testing.T) {
	started := time.Now()
	c := clustertest.Up(t, clustertest.ControlPlane)
	t.Logf("ready after %s", time.Since(started).Round(poll))
	tr := traceOf(t, c)
	tr.assertPresent(t, "process", "folder")
	t.Run("EachComponentIsAProcess", func(t *testing.T) { eachIsAProcess(t, c, 4) })
	t.Run("PodsAreAdmittedAndAudited", func(t *testing.T) { podsAreAdmitted(t, c) })
	t.Run("CertificatesAreSigned", func(t *testing.T) { certificatesAreSigned(t, c) })
	t.Run("WebhookOfTheTest", func(t *testing.T) { webhookOfTheTest(t, c) })
	t.Run("KilledAndStartedAgain", func(t *testing.T) { killedAndStarted(t, c) })
	t.Run("SecondBeside", func(t *testing.T) { secondBeside(t, c) })
	t.Run("Exec", func(t *testing.T) { execPasses(t, c) })
	t.Run("LoadNeedsANode", func(t *testing.T) {
		out, err := c.Try("load", "image.tar")
		if err == nil {
			t.Error("an image was loaded without a node")
		}
		wants(t, "the cure", out, "--form node")
	})
	tr.ends(t)
	c.Down(t)
	tr.assertGone(t)
}

func eachIsAProcess(t *testing.T, c *clustertest.Cluster, want int) {
	t.Helper()
	if len(c.PIDs) != want {
		t.Errorf("want %d components, got %v", want, c.PIDs)
	}
	for name, pid := range c.PIDs {
		command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		wants(t, "process of "+name, string(command), name)
	}
}

func podsAreAdmitted(t *testing.T, c *clustertest.Cluster) {
	t.Helper()
	c.Kubectl(t, "run", "seen", "--image=localhost/none:1")
	c.Kubectl(t, "create", "namespace", "tight")
	c.Kubectl(t, "label", "namespace", "tight", "pod-security.kubernetes.io/enforce=restricted")
	out, err := c.TryKubectl("", "run", "refused", "-n", "tight", "--image=localhost/none:1")
	if err == nil {
		t.Error("PodSecurity admitted a pod that its namespace forbids")
	}
	wants(t, "why", out, "violates PodSecurity")
	eventually(t, "the pod is in the audit log", func() error {
		log, err := os.ReadFile(c.AuditLog)
		if err != nil {
			return err
		}
		if !strings.Contains(string(log), `"name":"seen"`) {
			return errors.New("it is not there")
		}
		return nil
	})
}

// certificatesAreSigned asks for a certificate as scripts of webhooks do.
func certificatesAreSigned(t *testing.T, c *clustertest.Cluster) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject:  pkix.Name{CommonName: "system:node:hook.default.svc", Organization: []string{"system:nodes"}},
		DNSNames: []string{"hook.default.svc"},
	}, key)
	if err != nil {
		t.Fatal(err)
	}
	request := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	c.Apply(t, fmt.Sprintf(`apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: hook}
spec:
  request: %s
  signerName: kubernetes.io/kubelet-serving
  usages: [digital signature, server auth]
`, base64.StdEncoding.EncodeToString(request)))
	c.Kubectl(t, "certificate", "approve", "hook")
	eventually(t, "the certificate is signed", func() error {
		if out := c.Kubectl(t, "get", "csr", "hook", "-o", "jsonpath={.status.certificate}"); out == "" {
			return errors.New("it is not")
		}
		return nil
	})
}

func killedAndStarted(t *testing.T, c *clustertest.Cluster) {
	t.Helper()
	c.Kubectl(t, "create", "configmap", "kept")
	for _, end := range [][2]string{
		{"kill", "kube-apiserver"}, {"kill", "etcd"}, {"kill", "kube-controller-manager"}, {"stop", "kube-apiserver"}, {"stop", "kube-scheduler"},
	} {
		c.Run(t, end[0], end[1])
		wants(t, "status after "+end[0], c.Run(t, "status"), "ended: ")
		c.Run(t, "start", end[1])
	}
	eventually(t, "all components run", func() error {
		if status := c.Run(t, "status"); strings.Contains(status, "ended: ") {
			return errors.New(status)
		}
		return nil
	})
	tryKubectl(t, c, "get", "configmap", "kept")
	out, err := c.Try("start", "etcd")
	if err == nil {
		t.Error("a running component was started")
	}
	wants(t, "why", out, "already runs")
	out, err = c.Try("kill", "nothing")
	if err == nil {
		t.Error("an unknown component was killed")
	}
	wants(t, "the names", out, "kube-apiserver")
}

func secondBeside(t *testing.T, first *clustertest.Cluster) {
	t.Helper()
	second := clustertest.Up(t, clustertest.ControlPlane)
	tr := traceOf(t, second)
	second.Kubectl(t, "create", "configmap", "only-second")
	if out, err := first.TryKubectl("", "get", "configmap", "only-second"); err == nil {
		t.Errorf("the first cluster has the second's object: %s", out)
	}
	tr.ends(t)
	second.Down(t)
	tr.assertGone(t)
	first.Kubectl(t, "get", "namespaces")
}

// execPasses shows environment and exit code.
func execPasses(t *testing.T, c *clustertest.Cluster) {
	t.Helper()
	out := c.Run(t, "exec", "--", "sh", "-c", "echo $KUBECONFIG; kubectl get --raw /readyz")
	wants(t, "KUBECONFIG", out, filepath.Join(c.Dir, "kubeconfig"))
	wants(t, "kubectl", out, "ok")
	_, err := c.Try("exec", "--", "sh", "-c", "exit 42")
	if code := exitCode(err); code != 42 {
		t.Errorf("want the command's exit code 42, got %d (%v)", code, err)
	}
}

package clustertest_test

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/clustertest"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/pki"
)

// webhookConfiguration sends the creation of ConfigMaps to a server of the test.
const webhookConfiguration = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: test}
webhooks:
- name: test.example.org
  clientConfig: {url: "https://%s/", caBundle: %s}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  objectSelector: {matchLabels: {seen: "yes"}}
  admissionReviewVersions: [v1]
  sideEffects: None
`

// webhookOfTheTest shows that the API server asks a webhook which a test serves
// on the host.
func webhookOfTheTest(t *testing.T, c *clustertest.Cluster) {
	t.Helper()
	authority, err := pki.NewAuthority("webhook")
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := authority.Issue(pki.Subject{User: "webhook", Addresses: []net.IP{net.ParseIP(c.HostAddress)}})
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := tls.X509KeyPair(leaf.Certificate, leaf.Key)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", net.JoinHostPort(c.HostAddress, "0"), &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() { _ = http.Serve(listener, http.HandlerFunc(refuse)) }()
	bundle := base64.StdEncoding.EncodeToString(authority.PEM())
	c.Apply(t, fmt.Sprintf(webhookConfiguration, listener.Addr(), bundle))
	defer c.Kubectl(t, "delete", "validatingwebhookconfiguration", "test")
	eventually(t, "the webhook refuses", func() error {
		manifest := "{apiVersion: v1, kind: ConfigMap, metadata: {generateName: seen-, labels: {seen: 'yes'}}}"
		out, err := c.TryKubectl(manifest, "create", "-f", "-")
		if err == nil || !strings.Contains(out, "seen by the host") {
			return errors.New("it did not: " + out)
		}
		return nil
	})
}

// refuse answers an AdmissionReview.
func refuse(w http.ResponseWriter, r *http.Request) {
	review := struct {
		Request struct {
			UID string `json:"uid"`
		} `json:"request"`
	}{}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Fprintf(w, `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"response": {"uid": %q, "allowed": false, "status": {"message": "seen by the host"}}}`, review.Request.UID)
}

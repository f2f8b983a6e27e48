package pki

import (
	"encoding/base64"
	"fmt"
	"os"
)

// kubeconfig has one cluster, one user and one context, with all data inline.
const kubeconfig = `apiVersion: v1
kind: Config
clusters:
- name: %[1]s
  cluster:
    server: %[2]s
    certificate-authority-data: %[3]s
users:
- name: %[4]s
  user:
    client-certificate-data: %[5]s
    client-key-data: %[6]s
contexts:
- name: %[1]s
  context:
    cluster: %[1]s
    user: %[4]s
current-context: %[1]s
`

// WriteKubeconfig issues a certificate for s and writes the kubeconfig with
// which s talks to the API server at the URL.
func (a *Authority) WriteKubeconfig(file, cluster, server string, s Subject) error {
	leaf, err := a.Issue(s)
	if err != nil {
		return err
	}
	b64 := base64.StdEncoding.EncodeToString
	text := fmt.Sprintf(kubeconfig, cluster, server, b64(a.pem), s.User, b64(leaf.Certificate), b64(leaf.Key))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return fmt.Errorf("cannot write kubeconfig: %w", err)
	}
	return nil
}

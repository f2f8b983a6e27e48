package pki_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/pki"
)

func TestIssuedCertificateServesItsAddresses(t *testing.T) {
	authority, err := pki.NewAuthority("a")
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := authority.Issue(pki.Subject{
		User: "u", Group: "g", Names: []string{"a.example"}, Addresses: []net.IP{net.ParseIP("198.19.0.2")},
	})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(leaf.Certificate, leaf.Key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.PEM())
	for name, ok := range map[string]bool{"a.example": true, "198.19.0.2": true, "b.example": false} {
		_, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots})
		if (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s := pair.Leaf.Subject; s.CommonName != "u" || len(s.Organization) != 1 || s.Organization[0] != "g" {
		t.Errorf("want user u of group g, got %s", s)
	}
}

func TestKubeconfigIsForItsOwnerAlone(t *testing.T) {
	authority, err := pki.NewAuthority("a")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := authority.WriteKubeconfig(file, "c", "https://127.0.0.1:1", pki.Subject{User: "admin"}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("want mode 0600, got %v, %v", info, err)
	}
	data, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(data), "server: https://127.0.0.1:1\n") {
		t.Errorf("want the server, got %s, %v", data, err)
	}
}

package certificate

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// mount writes files as a kubelet does: into a new folder, to which the link
// ..data is moved; the names that a program opens are links through it.
func mount(t *testing.T, dir, version string, files map[string][]byte) {
	t.Helper()
	folder := filepath.Join(dir, "..v"+version)
	require.NoError(t, os.Mkdir(folder, 0o700))
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
		_ = os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name))
	}
	old, _ := os.Readlink(filepath.Join(dir, "..data"))
	require.NoError(t, os.Symlink("..v"+version, filepath.Join(dir, "..data_tmp")))
	require.NoError(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	if old != "" {
		require.NoError(t, os.RemoveAll(filepath.Join(dir, old)))
	}
}

// pairFiles returns a leaf for a DNS name and its key, PEM.
func pairFiles(t *testing.T, by *Root, name string) map[string][]byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	leaf, err := by.Sign(&x509.Certificate{
		PublicKey: key.Public(), DNSNames: []string{name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, start(), DefaultPeriods())
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return map[string][]byte{
		"cert.pem": Bundle(leaf),
		"key.pem":  pem.EncodeToMemory(&pem.Block{Type: blockKey, Bytes: der}),
	}
}

// runs starts something and ends it with the test.
func runs(t *testing.T, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	t.Cleanup(func() { cancel(); assert.NoError(t, <-done) })
}

func eventually(t *testing.T, condition func() bool, why string) {
	t.Helper()
	require.Eventually(t, condition, 10*time.Second, 5*time.Millisecond, why)
}

func TestFiles(t *testing.T) {
	dir, by := t.TempDir(), root(t, start())
	mount(t, dir, "1", pairFiles(t, by, "first"))
	f, err := NewFiles(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	require.NoError(t, err)
	shown := func() string {
		pair, err := f.GetCertificate(nil)
		require.NoError(t, err)
		return pair.Leaf.DNSNames[0]
	}
	assert.Equal(t, "first", shown())
	reloads := make(chan struct{}, 100)
	runs(t, func(ctx context.Context) error {
		return follow(ctx, []string{f.certificate, f.key}, func() { f.reload(); reloads <- struct{}{} })
	})
	<-reloads

	mount(t, dir, "2", pairFiles(t, by, "second"))
	eventually(t, func() bool { return shown() == "second" }, "a kubelet's swap")

	bad := pairFiles(t, by, "bad")
	bad["key.pem"] = pairFiles(t, by, "other")["key.pem"]
	for len(reloads) > 0 {
		<-reloads
	}
	mount(t, dir, "3", bad)
	<-reloads
	assert.Equal(t, "second", shown(), "a bad pair leaves the last good one")

	mount(t, dir, "4", pairFiles(t, by, "third"))
	eventually(t, func() bool { return shown() == "third" }, "it is still followed")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "..v4", "cert.pem"), []byte("half"), 0o600))
	for name, text := range pairFiles(t, by, "fourth") {
		require.NoError(t, os.Remove(filepath.Join(dir, name)))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	eventually(t, func() bool { return shown() == "fourth" }, "plain files, written one after the other")
}

func TestFilesThatAreNotGood(t *testing.T) {
	dir, by := t.TempDir(), root(t, start())
	certificate, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	_, err := NewFiles(certificate, key)
	require.ErrorIs(t, err, os.ErrNotExist)
	mount(t, dir, "1", map[string][]byte{"cert.pem": pairFiles(t, by, "a")["cert.pem"], "key.pem": pairFiles(t, by, "b")["key.pem"]})
	_, err = NewFiles(certificate, key)
	require.Error(t, err, "a server must not begin with nothing to show")
	_, err = (&Files{}).GetCertificate(nil)
	require.ErrorIs(t, err, ErrNoCertificate)
}

func TestTrustFile(t *testing.T) {
	dir, first, second := t.TempDir(), root(t, start()), root(t, start())
	mount(t, dir, "1", map[string][]byte{"ca.crt": append([]byte("a comment\n"), Bundle(first.Certificate)...)})
	client, namespaces := fake.NewClientset(), &names{list: []string{"shop"}}
	file, err := NewTrustFile(TrustFileOptions{Client: client, Namespace: orcon, Namespaces: namespaces, File: filepath.Join(dir, "ca.crt")})
	require.NoError(t, err)
	runs(t, file.Start)
	has := func(namespace string, r *Root) func() bool {
		return func() bool {
			c, err := client.CoreV1().ConfigMaps(namespace).Get(t.Context(), TrustName, metav1.GetOptions{})
			return err == nil && c.Data[TrustKey] == string(Bundle(r.Certificate))
		}
	}
	eventually(t, has("shop", first), "published, certificates only")
	eventually(t, has(orcon, first), "and where the controller verifies itself")

	mount(t, dir, "2", map[string][]byte{"ca.crt": Bundle(second.Certificate)})
	eventually(t, has("shop", second), "followed")

	mount(t, dir, "3", map[string][]byte{"ca.crt": []byte("nothing")})
	_, err = client.CoreV1().ConfigMaps("shop").Update(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: TrustName, Namespace: "shop", Labels: map[string]string{labelManagedBy: managedBy}},
	}, metav1.UpdateOptions{})
	require.NoError(t, err)
	_, err = file.pass(t.Context())
	require.ErrorIs(t, err, ErrNoTrust, "a bad file publishes nothing")
	_, err = NewTrustFile(TrustFileOptions{Client: client, Namespace: orcon, Namespaces: namespaces, File: file.file})
	require.ErrorIs(t, err, ErrNoTrust)
}

package aggregation_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/aggregation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/people"
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "front-proxy-ca"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return authority{parsed, key}
}

// PEM returns the certificate of the authority.
func (a authority) PEM() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw}))
}

// sign returns a certificate of a name for a use, and for a time from now on.
func (a authority) sign(t *testing.T, name string, use x509.ExtKeyUsage, lasts time.Duration) *x509.Certificate {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(lasts),
		ExtKeyUsage: []x509.ExtKeyUsage{use},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &a.key.PublicKey, a.key)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return parsed
}

// now is the time of the tests.
//
//nolint:gochecknoglobals // a constant of a type that cannot be one
var now = time.Date(2026, 11, 27, 3, 0, 0, 0, time.UTC)

// configOf returns the ConfigMap of an authority, with changes.
func configOf(a authority, changes map[string]string) *corev1.ConfigMap {
	data := map[string]string{
		"requestheader-client-ca-file": a.PEM(), "requestheader-allowed-names": `["front-proxy-client"]`,
		"requestheader-username-headers": `["X-Remote-User"]`, "requestheader-group-headers": `["X-Remote-Group"]`,
		"requestheader-uid-headers": `["X-Remote-Uid"]`, "requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
	}
	maps.Copy(data, changes)
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "extension-apiserver-authentication"}, Data: data}
}

// from returns a request of ann that comes with a certificate; nil for none.
func from(t *testing.T, c *x509.Certificate) *http.Request {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	r.TLS = &tls.ConnectionState{}
	if c != nil {
		r.TLS.PeerCertificates = []*x509.Certificate{c}
	}
	r.Header = http.Header{
		"X-Remote-User": {"ann"}, "X-Remote-Uid": {"7"}, "X-Remote-Group": {"admins", "", "system:authenticated"},
		"X-Remote-Extra-Example.org%2fscopes": {"a", "b"}, "X-Other": {"z"},
	}
	return r
}

func TestIdentify(t *testing.T) {
	a := newAuthority(t)
	proxy := a.sign(t, "front-proxy-client", x509.ExtKeyUsageClientAuth, time.Hour)
	tests := map[string]struct {
		why     string
		config  *corev1.ConfigMap
		request *http.Request
		says    string
		known   bool
	}{
		"Proxy":     {"the API server", configOf(a, nil), from(t, proxy), "", true},
		"AnyName":   {"no name is demanded", configOf(a, map[string]string{"requestheader-allowed-names": "[]"}), from(t, a.sign(t, "x", x509.ExtKeyUsageClientAuth, time.Hour)), "", true},
		"None":      {"no certificate", configOf(a, nil), from(t, nil), "did not come through the API server", false},
		"OtherName": {"another certificate of the authority", configOf(a, nil), from(t, a.sign(t, "x", x509.ExtKeyUsageClientAuth, time.Hour)), `certificate "x" is not that of the API server`, false},
		"Stranger":  {"another authority", configOf(a, nil), from(t, newAuthority(t).sign(t, "front-proxy-client", x509.ExtKeyUsageClientAuth, time.Hour)), "unknown authority", false},
		"Server":    {"a certificate of a server", configOf(a, nil), from(t, a.sign(t, "front-proxy-client", x509.ExtKeyUsageServerAuth, time.Hour)), "incompatible key usage", false},
		"Expired":   {"an old certificate", configOf(a, nil), from(t, a.sign(t, "front-proxy-client", x509.ExtKeyUsageClientAuth, -time.Minute)), "expired", false},
		"NoUser":    {"no header that counts", configOf(a, map[string]string{"requestheader-username-headers": `["X-Name"]`}), from(t, proxy), "names no user", false},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			f := &aggregation.FrontProxy{Reader: fake.NewClientBuilder().WithObjects(tc.config).Build(), Clock: func() time.Time { return now }}
			p, err := f.Identify(tc.request)
			if tc.known {
				require.NoError(t, err, tc.why)
				assert.Equal(t, people.Person{
					Name: "ann", UID: "7", Groups: []string{"admins", "system:authenticated"}, Extra: map[string][]string{"example.org/scopes": {"a", "b"}},
				}, p)
				return
			}
			require.ErrorIs(t, err, people.ErrUnknown, tc.why)
			assert.ErrorContains(t, err, tc.says)
			assert.Empty(t, p)
		})
	}
	plain := from(t, proxy)
	plain.TLS = nil
	_, err := (&aggregation.FrontProxy{}).Identify(plain)
	require.ErrorIs(t, err, people.ErrUnknown, "a request without TLS")
}

// A cluster whose API server passes nothing on is an error of its own, with the cure.
func TestUnusableConfig(t *testing.T) {
	a := newAuthority(t)
	r := from(t, a.sign(t, "front-proxy-client", x509.ExtKeyUsageClientAuth, time.Hour))
	tests := map[string]struct{ key, value, says string }{
		"Authority": {"requestheader-client-ca-file", "", "start the API server with --requestheader-client-ca-file"},
		"Headers":   {"requestheader-username-headers", "", "start the API server with --requestheader-username-headers"},
		"List":      {"requestheader-allowed-names", "x", "requestheader-allowed-names: invalid character"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			config := configOf(a, map[string]string{tc.key: tc.value})
			f := &aggregation.FrontProxy{Reader: fake.NewClientBuilder().WithObjects(config).Build(), Clock: func() time.Time { return now }}
			_, err := f.Identify(r)
			require.ErrorContains(t, err, tc.says)
			assert.NotErrorIs(t, err, people.ErrUnknown)
		})
	}
	f := &aggregation.FrontProxy{Reader: fake.NewClientBuilder().Build(), Clock: func() time.Time { return now }}
	_, err := f.Identify(r)
	require.ErrorContains(t, err, "bind Role extension-apiserver-authentication-reader of namespace kube-system")
}

// What the cluster says is read once a minute; sooner if an authority was replaced, but no stranger makes it read each time.
func TestAuthorityIsReplaced(t *testing.T) {
	before, after := newAuthority(t), newAuthority(t)
	reads, down := 0, false
	config := configOf(before, nil)
	base := fake.NewClientBuilder().WithObjects(config).Build()
	counted := interceptor.NewClient(base, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			reads++
			if down {
				return errors.New("no answer")
			}
			return c.Get(ctx, key, o, options...)
		},
	})
	clock := now
	f := &aggregation.FrontProxy{Reader: counted, Clock: func() time.Time { return clock }}
	identify := func(a authority) error {
		_, err := f.Identify(from(t, a.sign(t, "front-proxy-client", x509.ExtKeyUsageClientAuth, time.Hour)))
		return err
	}
	require.NoError(t, identify(before))
	require.NoError(t, identify(before))
	assert.Equal(t, 1, reads)
	require.ErrorIs(t, identify(after), people.ErrUnknown)
	assert.Equal(t, 1, reads, "a stranger within seconds")
	config.Data["requestheader-client-ca-file"] = after.PEM()
	require.NoError(t, base.Update(t.Context(), config))
	clock = now.Add(6 * time.Second)
	require.NoError(t, identify(after))
	require.ErrorIs(t, identify(before), people.ErrUnknown)
	assert.Equal(t, 2, reads)
	down, clock = true, now.Add(2*time.Minute)
	err := identify(after)
	require.ErrorContains(t, err, "no answer")
	assert.NotErrorIs(t, err, people.ErrUnknown)
}

// The handshake of a real server lets callers without a certificate in, and FrontProxy refuses them.
func TestHandshake(t *testing.T) {
	a := newAuthority(t)
	f := &aggregation.FrontProxy{
		Reader: fake.NewClientBuilder().WithObjects(configOf(a, nil)).Build(), Clock: func() time.Time { return now },
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := f.Identify(r)
		if err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(p.Name))
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)
	certificate := a.sign(t, "front-proxy-client", x509.ExtKeyUsageClientAuth, time.Hour)
	for name, chain := range map[string][][]byte{"proxy": {certificate.Raw}, "none": nil} {
		t.Run(name, func(t *testing.T) {
			client := server.Client()
			transport, ok := client.Transport.(*http.Transport)
			require.True(t, ok)
			transport.CloseIdleConnections()
			transport.TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				return &tls.Certificate{Certificate: chain, PrivateKey: a.key}, nil
			}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
			require.NoError(t, err)
			r.Header.Set("X-Remote-User", "ann")
			answer, err := client.Do(r)
			require.NoError(t, err)
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			if chain == nil {
				assert.Equal(t, http.StatusUnauthorized, answer.StatusCode)
				return
			}
			assert.Equal(t, "ann", string(text))
		})
	}
}

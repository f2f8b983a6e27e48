package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	ctrlfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/jobs"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/job"
)

// apiServer answers what the controller reads before it starts: the version, Orcon's kinds if they are defined, and its own
// Deployment.
func apiServer(t *testing.T, release string, replicas int32, defined bool) *rest.Config {
	t.Helper()
	list := func(group string, kinds map[string]string) metav1.APIResourceList {
		l := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: group}
		for kind, plural := range kinds {
			l.APIResources = append(l.APIResources, metav1.APIResource{Name: plural, Kind: kind, Namespaced: true})
		}
		return l
	}
	group := func(name, version string) metav1.APIGroup {
		v := metav1.GroupVersionForDiscovery{GroupVersion: name + "/" + version, Version: version}
		return metav1.APIGroup{Name: name, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v}
	}
	own := v1alpha1.GroupVersion
	answers := map[string]any{
		"/version": version.Info{GitVersion: release},
		"/api":     metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions", APIVersion: "v1"}},
		"/apis": metav1.APIGroupList{
			TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"},
			Groups:   []metav1.APIGroup{group("apps", "v1"), group("coordination.k8s.io", "v1"), group(own.Group, own.Version)},
		},
		"/apis/coordination.k8s.io/v1": list("coordination.k8s.io/v1", map[string]string{"Lease": "leases"}),
		"/apis/apps/v1":                list("apps/v1", map[string]string{"Deployment": "deployments"}),
		"/apis/" + own.String(): list(own.String(), map[string]string{
			"JobTemplate": "jobtemplates", "JobWorkspace": "jobworkspaces", "JobRun": "jobruns", "JobApproval": "jobapprovals",
		}),
		"/apis/apps/v1/namespaces/orcon-system/deployments/" + name: appsv1.Deployment{
			TypeMeta: metav1.TypeMeta{Kind: "Deployment", APIVersion: "apps/v1"}, Spec: appsv1.DeploymentSpec{Replicas: &replicas},
		},
	}
	if !defined {
		delete(answers, "/apis/"+own.String())
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, known := answers[r.URL.Path]
		w.Header().Set("Content-Type", "application/json")
		if !known {
			w.WriteHeader(http.StatusNotFound)
			answer = metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound}
		}
		assert.NoError(t, json.NewEncoder(w).Encode(answer))
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, QPS: -1}
}

// A controller starts where it can keep states, and says what is wrong elsewhere.
func TestNewController(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "states")
	good := settings{namespace: "orcon-system", runnerImage: "i", address: "https://a", store: store{directory: folder}}
	files, bucket := good, good
	files.certFile, files.keyFile = "/none", "/none"
	bucket.store = store{endpoint: "https://s3.example.org", bucket: "b", accessKeyFile: "/none", secretKeyFile: "/none"}
	for label, c := range map[string]struct {
		release   string
		replicas  int32
		undefined bool
		settings  settings
		says      string
	}{
		"Old":         {release: "v1.34.1", replicas: 1, settings: good, says: "Kubernetes 1.35 or newer"},
		"Replicas":    {release: "v1.36.0", replicas: 2, settings: good, says: "cannot use -directory with 2 replicas"},
		"Definitions": {release: "v1.36.0", undefined: true, settings: good, says: "whose definitions must be in the cluster"},
		"Certificate": {release: "v1.36.0", replicas: 1, settings: files, says: "cannot read certificate"},
		"Credentials": {release: "v1.36.0", replicas: 1, settings: bucket, says: "cannot read the credentials of the bucket"},
	} {
		t.Run(label, func(t *testing.T) {
			_, err := newController(t.Context(), apiServer(t, c.release, c.replicas, !c.undefined), c.settings)
			require.ErrorContains(t, err, c.says)
			assert.NoDirExists(t, folder)
		})
	}
	c, err := newController(t.Context(), apiServer(t, "v1.36.0", 1, true), good)
	require.NoError(t, err)
	_, err = c.blobs.Get(t.Context(), blob.Key{Workspace: "w", Fence: 1, Name: "claimant"})
	require.ErrorIs(t, err, blob.ErrNotFound)
	assert.Equal(t, "https://a", c.executor.Runner.Address)
	answer := httptest.NewRecorder()
	c.handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/jobs/v1/runs/r/claim", nil))
	assert.Equal(t, http.StatusForbidden, answer.Code, "a request without a token")
	served, is := c.server().(*api)
	require.True(t, is)
	assert.Positive(t, served.ReadHeaderTimeout, "a caller that sends nothing holds no connection")
	assert.Positive(t, served.IdleTimeout)
	assert.Greater(t, served.MaxHeaderBytes, 8<<10, "tokens have up to 8 KiB")
	assert.Zero(t, served.WriteTimeout, "a large state takes its time")
	require.NoError(t, c.close())
}

// An API server that does not answer is an error that says so.
func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	_, err := newController(t.Context(), &rest.Config{Host: server.URL}, settings{namespace: "orcon-system"})
	require.ErrorContains(t, err, "cannot reach the API server")
}

// certified returns the files of a certificate for the Service, and the certificate as PEM.
func certified(t *testing.T) (certFile, keyFile string, text []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	now := time.Now()
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		DNSNames: append(certificate.ServiceNames(name, "orcon-system"), "localhost"), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	folder := t.TempDir()
	certFile, keyFile = filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")
	text = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	require.NoError(t, os.WriteFile(certFile, text, 0o600))
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	return certFile, keyFile, text
}

// A replica that keepers would not trust lives, and is not ready.
func TestHealth(t *testing.T) {
	s := settings{namespace: "orcon-system"}
	s.certFile, s.keyFile, _ = certified(t)
	source, err := s.certificate(nil)
	require.NoError(t, err)
	c := &controller{settings: s, source: source, trust: certificate.NewLiveTrust(fake.NewClientset(), s.namespace)}
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusInternalServerError} {
		answer := httptest.NewRecorder()
		c.health()[path].ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		assert.Equal(t, want, answer.Code, path)
	}
}

// Without files the certificate is one of Orcon's own authority, which there is none of before the authority is.
func TestOwnCertificate(t *testing.T) {
	s := settings{namespace: "orcon-system"}
	source, err := s.certificate(fake.NewClientset())
	require.NoError(t, err)
	_, err = source.GetCertificate(nil)
	require.Error(t, err)
	assert.False(t, source.NeedLeaderElection(), "each replica has one")
	assert.IsType(t, &certificate.SelfManaged{}, source)

	s.certFile, s.keyFile, _ = certified(t)
	source, err = s.certificate(nil)
	require.NoError(t, err)
	assert.IsType(t, &certificate.Files{}, source)
}

// The reconciler reads the renewals that the jobs API has received.
func TestSigns(t *testing.T) {
	cluster := ctrlfake.NewFakeClient()
	s := signs{jobs.Renewals{Live: cluster, Writer: cluster, Namespace: "orcon-system"}}
	got, err := s.Last(t.Context(), "r")
	require.NoError(t, err)
	assert.Equal(t, job.Sign{}, got)
	require.NoError(t, s.Renewed(t.Context(), serve.Renewal{Run: "r", Fence: 3, Number: 9, At: time.Unix(1, 0), Delay: domain.Delay{Why: "the disk is full"}}))
	got, err = s.Last(t.Context(), "r")
	require.NoError(t, err)
	assert.Equal(t, job.Sign{Fence: 3, Number: 9, Delay: domain.Delay{Why: "the disk is full"}}, got)
}

// What is done again and again goes on after an error, on the leader alone, until the end.
func TestEvery(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var done atomic.Int64
	runnable := every(time.Millisecond, func(context.Context) error {
		if done.Add(1) == 3 {
			end()
		}
		return errors.New("down")
	})
	require.NoError(t, runnable.Start(ctx))
	assert.EqualValues(t, 3, done.Load())
	_, everywhere := runnable.(manager.LeaderElectionRunnable)
	assert.False(t, everywhere, "only the leader runs it")
}

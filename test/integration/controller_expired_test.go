package integration

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// apiLink is a connection to the API server that a test cuts. It counts the watches that the API server ended since their
// revision had expired.
type apiLink struct {
	*chaos.Link

	expired atomic.Int64
}

func newAPILink(t *testing.T, cluster *controlplane.Cluster) *apiLink {
	t.Helper()
	at, err := url.Parse(cluster.APIServer)
	require.NoError(t, err)
	link, err := chaos.NewLink(func() []string { return []string{at.Host} })
	require.NoError(t, err)
	t.Cleanup(link.Close)
	return &apiLink{Link: link}
}

// carry has a client use the link.
func (l *apiLink) carry(cfg *rest.Config) {
	cfg.Host = "https://" + l.Address()
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return controlplane.RoundTrip(func(req *http.Request) (*http.Response, error) {
			res, err := next.RoundTrip(req)
			if err == nil && req.URL.Query().Get("watch") == "true" {
				res.Body = &heard{ReadCloser: res.Body, link: l}
			}
			return res, err
		})
	})
}

// heard is the body of a watch.
type heard struct {
	io.ReadCloser

	link *apiLink
}

func (h *heard) Read(p []byte) (int, error) {
	n, err := h.ReadCloser.Read(p)
	if bytes.Contains(p[:n], []byte("too old resource version")) {
		h.link.expired.Add(1)
	}
	return n, err
}

// Caches that were cut off until the API server had forgotten their revision are made anew: nothing that has gone
// meanwhile stays in them, and nothing that came is missing (TRUST.md U7).
func TestControllerCachesAfterTheirRevisionExpired(t *testing.T) {
	t.Parallel()
	cluster := controlplane.Start(t)
	install(t, cluster)
	w := newWorldIn(t, cluster)
	w.between = newAPILink(t, cluster)
	w.strange(3)
	joins, leaves := w.another(), w.another()
	joins.optOut()
	joins.strange(1)
	leaves.strange(1)
	c := w.controller(-1)
	w.marked(c, w.namespace)
	before := w.cached(c)
	leaves.eventually("it is kept", func() bool { return leaves.cached(c)["*v1.Pod"] == 1 })

	require.Positive(t, w.between.Cut())
	pod, service := w.podOf("plain"), &corev1.Service{ObjectMeta: w.meta("strange-0")}
	require.NoError(t, w.admin.Delete(w.ctx, pod, client.GracePeriodSeconds(0)))
	w.podsOf("plain", before["*v1.Pod"])
	require.NoError(t, w.admin.Delete(w.ctx, service))
	later := &corev1.Service{ObjectMeta: w.meta("later"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	w.create(later)
	joins.optIn()
	leaves.optOut()
	cluster.Kill(t, "kube-apiserver")
	cluster.StartComponent(t, "kube-apiserver")
	w.between.Mend()

	w.marked(c, w.namespace)
	joins.eventually("it is kept", func() bool { return joins.cached(c)["*v1.Pod"] == 1 && joins.cached(c)["*v1.Service"] == 1 })
	leaves.eventually("it is kept no longer", func() bool { return len(leaves.cached(c)) == 0 })
	w.eventually("the pod has gone", func() bool {
		return apierrors.IsNotFound(c.informers.Get(w.ctx, client.ObjectKeyFromObject(pod), pod))
	})
	assert.True(t, apierrors.IsNotFound(c.informers.Get(w.ctx, client.ObjectKeyFromObject(service), service)))
	require.NoError(t, c.informers.Get(w.ctx, client.ObjectKeyFromObject(later), later))
	before["*v1.Service"]++ // of the second mark
	w.eventually("as many as before", func() bool { return assert.ObjectsAreEqual(before, w.cached(c)) })
	assert.Positive(t, w.between.expired.Load(), "or the API server had forgotten nothing")
	t.Logf("%d watches had a revision that had expired", w.between.expired.Load())
}

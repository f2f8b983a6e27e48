package integration

import (
	"context"
	"crypto/tls"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/identity"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// binaryWorld is a world with replicas of the real binary, a provider and its consumer.
type binaryWorld struct {
	*controllerWorld
	program, kubeconfig string
	db                  *corev1.Service
	// bearer is the token of the consumer's pod.
	bearer string
}

// newBinaryWorld returns a world and its first replica, once the relation is complete.
func newBinaryWorld(t *testing.T) (*binaryWorld, *controllerProcess) {
	t.Helper()
	w := &binaryWorld{controllerWorld: newControllerWorld(t), program: controlplane.Binary(t, "relations-controller")}
	w.kubeconfig, w.db = w.kubeconfigOf(controllerUser), w.provider("db-endpoint", "db.tengu.io")
	w.create(w.db, w.consumer("sleep", consumes("db", "db-endpoint")))
	first := w.replica()
	w.becomes("db-endpoint", "Complete")
	w.bearer = w.token(w.podOf("sleep"), identity.Audience)
	return w, first
}

// replica starts one more replica.
func (w *binaryWorld) replica() *controllerProcess { return w.startProcess(w.program, w.kubeconfig) }

// address returns the host and port of the API.
func (p *controllerProcess) address() string { return strings.TrimPrefix(p.api, "https://") }

// trust returns the authorities that the controller has published to the namespace.
func (w *controllerWorld) trust() string {
	w.t.Helper()
	published := object.Named(&corev1.ConfigMap{}, w.namespace, certificate.TrustName)
	w.eventually("the authorities are published", func() bool {
		return w.admin.Get(w.ctx, client.ObjectKeyFromObject(published), published) == nil
	})
	return published.Data[certificate.TrustKey]
}

// client returns a client that does not check the replica's certificate.
func (p *controllerProcess) client() *http.Client {
	return &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
}

// converse opens a stream to a replica as an agent that has used those revisions.
func (w *binaryWorld) converse(p *controllerProcess, used map[string]uint64) *agentStream {
	w.t.Helper()
	return w.openStream(p.client(), p.api, &wire.Hello{Token: w.bearer, Revisions: used}, 3*soon)
}

// follow opens the consumer's stream to a replica, and waits for its data.
func (w *binaryWorld) follow(p *controllerProcess) *agentStream {
	w.t.Helper()
	consumer := w.converse(p, nil)
	hears(w.t, consumer, "the data", func(s *wire.Snapshot) bool { return len(s.GetRelations()) == 1 })
	return consumer
}

// move changes the provider's host, and returns how long its consumer waits for that.
func (w *binaryWorld) move(consumer *agentStream, host string) (took time.Duration) {
	w.t.Helper()
	began := time.Now()
	w.change(w.db, func() { w.db.Spec.ExternalName = host })
	hears(w.t, consumer, "the change to "+host, hostIs(host))
	return time.Since(began)
}

// openStream opens a stream as an agent does. It fails when the limit is over.
func (w *controllerWorld) openStream(c *http.Client, url string, hello *wire.Hello, limit time.Duration) *agentStream {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, limit)
	stream := relationsv1alpha1connect.NewRelationsServiceClient(c, url).Converse(ctx)
	w.t.Cleanup(func() {
		cancel()
		_ = stream.CloseRequest()
		_ = stream.CloseResponse()
		c.CloseIdleConnections()
	})
	require.NoError(w.t, stream.Send(&wire.ConverseRequest{Message: &wire.ConverseRequest_Hello{Hello: hello}}))
	return stream
}

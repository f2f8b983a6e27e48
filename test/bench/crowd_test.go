package bench

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rpc "connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// BenchmarkCrowd joins two applications of 100 units each: all 200 say ten things at
// once, each by a transaction of its own, through the controller as it ships, over TLS,
// until every unit has heard all of the other side. Then what they heard is told, unit
// by unit as Juju does and as one event each (RELATIONS.md E12): how many events, how
// long the resolver takes for all 200, and how much an agent writes to remember them.
func BenchmarkCrowd(b *testing.B) {
	const units, rounds = 100, 3
	w := newWorld(b)
	c := w.crowd(units)
	var took []time.Duration
	n := 0
	before := c.received.Load()
	for b.Loop() {
		for range rounds {
			n++
			took = append(took, c.speak(fmt.Sprint("round-", n))...)
		}
	}
	report(b, "heard-all-", took, "p50", "p99")
	b.ReportMetric(float64(c.received.Load()-before)/float64(n)/(1<<20), "MiB/round")
	for name, together := range map[string]bool{"plain": false, "batch": true} {
		began, events := time.Now(), 0
		for _, m := range c.members {
			told, _ := hearAll(b, m.seen(together), false)
			events += told
		}
		b.ReportMetric(milliseconds(time.Since(began)), name+"-ms")
		b.ReportMetric(float64(events), name+"-events")
		_, written := hearAll(b, c.members[0].seen(together), true)
		b.ReportMetric(float64(written)/1024, name+"-memory-KiB")
	}
}

// hearAll tells a unit all that a snapshot holds, and returns how many events that are
// and, if asked, how many bytes are written to remember each.
func hearAll(t require.TestingT, s conversation.Snapshot, count bool) (events, written int) {
	m := conversation.Memory{}.Observe(s)
	for e, owed := conversation.Next(m, s); owed; e, owed = conversation.Next(m, s) {
		m = m.After(e, s)
		events++
		if count {
			text, err := json.Marshal(m)
			require.NoError(t, err)
			written += len(text)
		}
	}
	return events, written
}

// crowd are all units of two applications.
type crowd struct {
	*world
	members  []*member
	received atomic.Int64
}

// member is a unit with its own connection.
type member struct {
	token string
	api   relationsv1alpha1connect.RelationsServiceClient

	mu    sync.Mutex
	heard *wire.Snapshot
	// news is signalled with each snapshot.
	news chan struct{}
}

// crowd runs the controller and two Deployments of that many pods, and returns when
// each pod's agent sees all units of the other side.
func (w *world) crowd(units int) *crowd {
	w.Helper()
	w.cluster.Kubectl(w, "apply", "-k", filepath.Join(w.root, "deployment", "crd"))
	w.cluster.Kubectl(w, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
	port := freePort(w.B)
	w.run("relations-controller", "-port="+port)
	w.namespace(shop, map[string]string{application.LabelOptIn: application.OptedIn})
	w.account(shop, "shop")
	w.deployment("db", units, map[string]string{application.KeyProvides: "main:bench"})
	w.deployment("web", units, map[string]string{application.KeyConsumes: "store:bench", application.KeyRelations: "db"})
	c := &crowd{world: w}
	client := c.dial(w.trust())
	for _, p := range w.addressed(2 * units) {
		m := &member{token: string(w.token(&p)), news: make(chan struct{}, 1)}
		m.api = relationsv1alpha1connect.NewRelationsServiceClient(client(), "https://127.0.0.1:"+port)
		c.members = append(c.members, m)
		go m.listen(w.B)
	}
	c.wait(func(r *wire.Relation) bool { return len(r.GetUnits()) == units })
	return c
}

// deployment makes a Deployment whose pods have an agent.
func (w *world) deployment(name string, units int, annotations map[string]string) {
	w.Helper()
	always, replicas, labels := corev1.ContainerRestartPolicyAlways, int32(units), map[string]string{"app": name}
	_, err := w.admin.AppsV1().Deployments(shop).Create(w.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations},
			Spec: corev1.PodSpec{
				ServiceAccountName: "shop", SchedulingGates: []corev1.PodSchedulingGate{{Name: "orcon.tengu.io/bench"}},
				InitContainers: []corev1.Container{{Name: injection.AgentContainer, Image: "agent", RestartPolicy: &always}},
				Containers:     []corev1.Container{{Name: "app", Image: "app"}},
			},
		}},
	}, metav1.CreateOptions{})
	require.NoError(w, err)
}

// addressed waits for n pods and gives each an address, as a node would.
func (w *world) addressed(n int) []corev1.Pod {
	w.Helper()
	var list *corev1.PodList
	require.Eventually(w, func() bool {
		var err error
		list, err = w.admin.CoreV1().Pods(shop).List(w.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) == n
	}, patience, 50*time.Millisecond, "there are not %d pods", n)
	for i, p := range list.Items {
		address := fmt.Sprintf("10.9.%d.%d", i/200, i%200+1)
		patch := fmt.Appendf(nil, `{"status":{"podIP":%q,"podIPs":[{"ip":%q}]}}`, address, address)
		_, err := w.admin.CoreV1().Pods(shop).Patch(w.Context(), p.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		require.NoError(w, err)
	}
	return list.Items
}

// dial returns what makes clients that each have a connection of their own, whose
// bytes are counted.
func (c *crowd) dial(trust string) func() *http.Client {
	roots := x509.NewCertPool()
	require.True(c, roots.AppendCertsFromPEM([]byte(trust)))
	return func() *http.Client {
		transport := &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: roots, ServerName: "relations-controller." + system + ".svc", MinVersion: tls.VersionTLS13},
			ForceAttemptHTTP2: true,
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, address)
				return counted{conn, &c.received}, err
			},
		}
		c.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport}
	}
}

// counted is a connection whose reads are counted.
type counted struct {
	net.Conn
	received *atomic.Int64
}

// Read counts what is read.
func (c counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.received.Add(int64(n))
	return n, err
}

// listen hears the unit's snapshots until the benchmark ends, again where the
// controller sends it away.
func (m *member) listen(b *testing.B) {
	for b.Context().Err() == nil {
		stream := m.api.Converse(b.Context())
		err := stream.Send(&wire.ConverseRequest{Message: &wire.ConverseRequest_Hello{Hello: &wire.Hello{Token: m.token}}})
		for err == nil {
			var said *wire.ConverseResponse
			if said, err = stream.Receive(); err == nil {
				m.hear(said.GetSnapshot())
			}
		}
	}
}

func (m *member) hear(s *wire.Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heard = s
	select {
	case m.news <- struct{}{}:
	default:
	}
}

// say commits ten values, again where the controller is too busy, as an agent does.
func (m *member) say(b *testing.B, what string) {
	said := map[string]string{}
	for k := range 10 {
		said[fmt.Sprint("key-", k)] = what + strings.Repeat("x", 20)
	}
	request := rpc.NewRequest(&wire.CommitRequest{Changes: []*wire.Change{{Relation: m.relation().GetUid(), Set: said}}, Cause: "bench"})
	request.Header().Set("Authorization", "Bearer "+m.token)
	_, err := m.api.Commit(b.Context(), request)
	for rpc.CodeOf(err) == rpc.CodeUnavailable {
		_, err = m.api.Commit(b.Context(), request)
	}
	if err != nil {
		b.Error(err)
	}
}

// relation is the only one that the unit has; nil before there is one.
func (m *member) relation() *wire.Relation {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.heard.GetRelations()) == 0 {
		return nil
	}
	return m.heard.GetRelations()[0]
}

// seen is what the unit's resolver is shown.
func (m *member) seen(together bool) conversation.Snapshot {
	r := m.relation()
	seen := conversation.Relation{UID: r.GetUid(), ID: int(r.GetId()), Endpoint: r.GetEndpoint(), Role: application.Role(r.GetRole()), Remote: r.GetRemoteApplication(), Life: conversation.Alive}
	contents := conversation.BagMap{}
	for _, u := range r.GetUnits() {
		unit := conversation.Unit{Application: seen.Remote, Number: int(u.GetNumber())}
		seen.Units = append(seen.Units, conversation.Member{Unit: unit, Bag: contents.Put(u.GetBag().GetData())})
	}
	own := m.heard.GetUnit()
	return conversation.Snapshot{
		Unit:      conversation.Unit{Application: own.GetApplication(), Number: int(own.GetNumber())},
		Relations: []conversation.Relation{seen}, Bags: contents, Batch: together,
	}
}

// wait waits until each unit has heard what it shall, and returns how long that took
// for each.
func (c *crowd) wait(enough func(*wire.Relation) bool) []time.Duration {
	c.Helper()
	took := make([]time.Duration, len(c.members))
	began := time.Now()
	ctx, cancel := context.WithTimeout(c.Context(), 2*patience)
	defer cancel()
	var all sync.WaitGroup
	for i, m := range c.members {
		all.Go(func() {
			for r := m.relation(); r == nil || !enough(r); r = m.relation() {
				select {
				case <-m.news:
				case <-ctx.Done():
					return
				}
			}
			took[i] = time.Since(began)
		})
	}
	all.Wait()
	require.NoError(c, ctx.Err(), "a unit has not heard of all others")
	return took
}

// speak has all units say ten things, and returns how long it took until each had
// heard all of the other side.
func (c *crowd) speak(what string) []time.Duration {
	c.Helper()
	for _, m := range c.members {
		go m.say(c.B, what)
	}
	return c.wait(func(r *wire.Relation) bool {
		for _, u := range r.GetUnits() {
			if !strings.HasPrefix(u.GetBag().GetData()["key-9"], what) {
				return false
			}
		}
		return true
	})
}

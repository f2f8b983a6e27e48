package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// world is a model of a cluster during rotations: a stored Secret, replicas
// with leaves, places with bundles, and readers of those places, who are as late as
// the propagation delay allows.
type world struct {
	t       *rapid.T
	p       Periods
	now     time.Time
	secret  *corev1.Secret
	leaves  []*x509.Certificate // those of two replicas, and the webhook's
	places  [][]byte
	held    []held
	refuses int  // the place that refuses to be written, or -1
	blamed  bool // what refuses is not checked
	steps   map[Step]int
	key     *ecdsa.PrivateKey
	known   map[verified]bool
}

// verified is a leaf and a bundle that it once verified against. No leaf
// outlives its authority, so it does until it expires.
type verified struct{ leaf, bundle string }

// held is a bundle that a place had until a moment.
type held struct {
	place  int
	bundle []byte
	until  time.Time
}

func newWorld(t *rapid.T) *world {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	w := &world{
		t: t, now: start(), key: key, refuses: -1, steps: map[Step]int{}, known: map[verified]bool{},
		p:      Periods{Authority: 600 * time.Minute, Leaf: 60 * time.Minute, Propagation: 30 * time.Minute, Skew: 5 * time.Minute},
		secret: &corev1.Secret{},
		leaves: make([]*x509.Certificate, 3),
		places: make([][]byte, 3),
	}
	return w
}

// pass does what the rotator does, and dies after some of its writes.
func (w *world) pass(diesAfter int) {
	s := FromSecret(w.secret)
	writes := 0
	if usable(s.Current, w.now) {
		s.Everywhere = w.publish(s.Bundle(), len(w.places), &writes, diesAfter)
		w.renew(s.Current, &writes, diesAfter)
	}
	step, _ := Next(s, w.now, w.p)
	if step == StepWait || writes >= diesAfter {
		return
	}
	fresh, err := NewRoot(w.now, w.p)
	require.NoError(w.t, err)
	after := s.After(step, w.now, fresh)
	if step == StepCreate {
		w.publish(after.Bundle(), 1, &writes, diesAfter)
	}
	if writes >= diesAfter {
		return
	}
	w.secret, err = ToSecret(after, w.secret)
	require.NoError(w.t, err)
	w.steps[step]++
}

// webhooks is the leaf that the rotator signs.
const webhooks = 2

// renew signs the webhook's leaf where that is due and place 0 trusts its authority.
func (w *world) renew(signer *Root, writes *int, diesAfter int) {
	leaf := w.leaves[webhooks]
	due := leaf == nil || signer.due(&tls.Certificate{Leaf: leaf}, []string{"webhook"}, w.now, w.p) == 0
	if due && trusts(string(w.places[0]), signer.Certificate) && *writes < diesAfter {
		w.sign(webhooks)
		*writes++
	}
}

// publish writes the first places. Place 0 is the webhook configuration.
func (w *world) publish(bundle []byte, first int, writes *int, diesAfter int) bool {
	everywhere := true
	for i := range w.places[:first] {
		switch {
		case string(w.places[i]) == string(bundle):
		case i == w.refuses || *writes >= diesAfter:
			everywhere = false
		default:
			w.held = append(w.held, held{place: i, bundle: w.places[i], until: w.now})
			w.places[i] = bundle
			*writes++
		}
	}
	return everywhere
}

// sign gives replica i a leaf, as its Sign does: from the Secret as it is.
func (w *world) sign(i int) {
	s := FromSecret(w.secret)
	if s.Current == nil {
		return
	}
	leaf, err := s.Current.Sign(&x509.Certificate{
		PublicKey: w.key.Public(), DNSNames: []string{"webhook"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, w.now, w.p)
	require.NoError(w.t, err)
	w.leaves[i] = leaf
}

// tick lets time pass. Leaves are renewed before they expire.
func (w *world) tick(d time.Duration) {
	w.now = w.now.Add(d)
	for i, leaf := range w.leaves[:webhooks] {
		if leaf == nil || w.now.Add(w.p.Leaf/4).After(leaf.NotAfter) {
			w.sign(i)
		}
	}
	w.held = slices.DeleteFunc(w.held, func(h held) bool { return w.now.Sub(h.until) >= w.p.Propagation })
}

// check is the invariant: each leaf in use verifies against each bundle that
// anybody holds. A place that refuses to be written is its own fault.
func (w *world) check() {
	for _, leaf := range w.leaves {
		if leaf == nil || leaf.NotAfter.Before(w.now) {
			continue
		}
		for i, bundle := range w.places {
			w.verify(leaf, i, bundle)
		}
		for _, h := range w.held {
			w.verify(leaf, h.place, h.bundle)
		}
	}
}

func (w *world) verify(leaf *x509.Certificate, place int, bundle []byte) {
	if w.blamed && place == w.refuses || len(bundle) == 0 {
		return
	}
	pair := verified{leaf: string(leaf.Raw), bundle: string(bundle)}
	if w.known[pair] {
		return
	}
	roots := x509.NewCertPool()
	for _, c := range ParseBundle(bundle) {
		roots.AddCert(c)
	}
	_, err := leaf.Verify(x509.VerifyOptions{DNSName: "webhook", Roots: roots, CurrentTime: w.now})
	require.NoError(w.t, err, "at %s, place %d, after %v", w.now, place, w.steps)
	w.known[pair] = true
}

// Whatever dies, lags or comes in whichever order, a leaf in use is trusted by
// everybody. INJECTION.md I10.
func TestLeafInUseIsAlwaysTrusted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.pass(100)
		w.pass(100)
		for w.now.Before(start().Add(390 * time.Minute)) {
			w.tick(10 * time.Minute)
		}
		for range rapid.IntRange(20, 200).Draw(t, "events") {
			switch rapid.IntRange(0, 5).Draw(t, "event") {
			case 0, 1:
				w.tick(time.Duration(rapid.IntRange(1, 14).Draw(t, "minutes")) * time.Minute)
			case 2:
				w.sign(rapid.IntRange(0, webhooks-1).Draw(t, "replica"))
			case 3:
				if w.blamed {
					continue // what was given up stays as it is
				}
				w.refuses = rapid.IntRange(-1, len(w.places)-1).Draw(t, "refuses")
			default:
				w.pass(rapid.IntRange(0, 4).Draw(t, "dies after"))
			}
			if !usable(FromSecret(w.secret).Current, w.now.Add(15*time.Minute)) {
				return // the rotator was dead for a third of a life
			}
			w.blamed = w.pastDeadline()
			w.check()
		}
	})
}

// pastDeadline says whether the rotator has stopped waiting for a place.
func (w *world) pastDeadline() bool {
	s := FromSecret(w.secret)
	return w.blamed || !w.now.Before(w.p.deadline(s.Current))
}

// A rotator that survives one pass in half an hour gets round and round, also while
// one place refuses every write, and no authority expires: whatever is drawn, a pass stamps and
// another promotes between the deadline and the end, 100 minutes later.
func TestRotationGoesOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.refuses = rapid.IntRange(-1, 2).Draw(t, "refuses")
		w.blamed = true
		w.pass(100)
		w.pass(100)
		for pass := 1; w.now.Before(start().Add(3 * w.p.Authority)); pass++ {
			w.tick(10 * time.Minute)
			diesAfter := rapid.IntRange(0, 5).Draw(t, "dies after")
			if pass%3 == 0 {
				diesAfter = 100
			}
			w.pass(diesAfter)
			w.check()
		}
		require.Equal(t, 1, w.steps[StepCreate], "an authority expired")
		require.GreaterOrEqual(t, w.steps[StepPromote], 2)
		require.InDelta(t, w.steps[StepPromote], w.steps[StepRetire], 1)
	})
}

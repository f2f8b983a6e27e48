package settle

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/golang/glog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// lookEvery is about how often granted Secrets are read: they are never listed or watched (SAFETY.md S2).
const lookEvery = 30 * time.Second

// sights are the granted Secrets of each namespace, as they were read last.
type sights struct {
	mu sync.Mutex
	of map[string]map[string]sight
}

// sight is a Secret as it was read at a time.
type sight struct {
	secret.Source

	at time.Time
}

// in returns the sights of a namespace.
func (s *sights) in(namespace string) map[string]sight {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of[namespace]
}

// set replaces the sights of a namespace.
func (s *sights) set(namespace string, seen map[string]sight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[string]map[string]sight{}
	}
	if s.of[namespace] = seen; len(seen) == 0 {
		delete(s.of, namespace)
	}
}

// granted reads granted Secrets from the API server, each about every so often.
type granted struct {
	live   client.Reader
	sights *sights
	every  time.Duration
	now    func() time.Time
}

// observe reads the Secrets that applications of the namespace grant or granted, each by its name. A
// Secret that was read a moment ago is not read again, however much else happens.
func (g granted) observe(ctx context.Context, s *relation.Snapshot) error {
	before, seen := g.sights.in(s.Namespace), map[string]sight{}
	pause := g.every
	for _, name := range grantedIn(s) {
		is, known := before[name]
		if !known || g.now().Sub(is.at) > g.every/10 {
			now, err := g.look(ctx, s.Namespace, name)
			switch {
			case err != nil && !known:
				return err
			case err == nil && known && now.Sight == secret.Unreadable:
				is.at = now.at
			case err == nil:
				is = now
			}
		}
		if is.Sight != secret.Open || is.GrantTo == "" {
			pause = g.every / 6 // it may be created, opened or consented to any moment
		}
		seen[name] = is
		s.Secrets = append(s.Secrets, is.Source)
	}
	g.sights.set(s.Namespace, seen)
	s.LookAgain = s.Now.Add(pause - rand.N(pause/3)) //nolint:gosec // spreads load, hides nothing
	return nil
}

// look reads one Secret. An internal error of the API server is about this Secret: it makes that one
// unreadable, and others can be read.
func (g granted) look(ctx context.Context, namespace, name string) (sight, error) {
	source, _, err := object.SecretSource(ctx, g.live, namespace, name)
	if apierrors.IsInternalError(err) {
		glog.Warningf("%v", err)
		source.Sight, err = secret.Unreadable, nil
	}
	return sight{source, g.now()}, err
}

// grantedIn lists the names of the Secrets that are granted or were, in order.
func grantedIn(s *relation.Snapshot) []string {
	names := map[string]bool{}
	for _, a := range s.Applications {
		for _, name := range a.Secrets {
			names[name] = true
		}
	}
	for _, r := range s.Records {
		for _, g := range r.State.Grants {
			names[g.Secret] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

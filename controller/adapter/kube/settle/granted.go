package settle

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/golang/glog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// lookEvery is about how often Secrets that are granted are looked at: they are never
// listed or watched, so that nobody tells of a change (SAFETY.md S2).
const lookEvery = 30 * time.Second

// sights are the Secrets that a namespace grants, as they were seen last.
type sights struct {
	mu sync.Mutex
	of map[string]map[string]sight
}

// sight is a Secret as it was seen at a time.
type sight struct {
	secret.Source

	at time.Time
}

// in returns what was seen in a namespace.
func (s *sights) in(namespace string) map[string]sight {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of[namespace]
}

// are replaces what was seen in a namespace.
func (s *sights) are(namespace string, seen map[string]sight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[string]map[string]sight{}
	}
	if s.of[namespace] = seen; len(seen) == 0 {
		delete(s.of, namespace)
	}
}

// observeSecrets looks at the Secrets that applications of the namespace grant or
// granted, each by its name. One that was seen a moment ago is not looked at again,
// however much else happens.
func (w *Settler) observeSecrets(ctx context.Context, s *relation.Snapshot) error {
	before, seen := w.sights.in(s.Namespace), map[string]sight{}
	every := cmp.Or(w.LookEvery, lookEvery)
	pause := every
	for _, name := range grantedIn(s) {
		is, known := before[name]
		if !known || w.Now().Sub(is.at) > every/10 {
			now, err := w.look(ctx, s.Namespace, name)
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
			pause = every / 6 // somebody is about to create it, to open the namespace, or to consent
		}
		seen[name] = is
		s.Secrets = append(s.Secrets, is.Source)
	}
	w.sights.are(s.Namespace, seen)
	s.LookAgain = s.Now.Add(pause - rand.N(pause/3)) //nolint:gosec // spreads load, hides nothing
	return nil
}

// look looks at one Secret. An error of the API server's that is about this Secret makes that
// unreadable; others can be read.
func (w *Settler) look(ctx context.Context, namespace, name string) (sight, error) {
	source, _, err := object.SecretSource(ctx, w.Live, namespace, name)
	if apierrors.IsInternalError(err) {
		glog.Warningf("%v", err)
		source.Sight, err = secret.Unreadable, nil
	}
	return sight{source, w.Now()}, err
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

package kube

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/golang/glog"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
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
func (w *World) observeSecrets(ctx context.Context, s *relation.Snapshot) error {
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
func (w *World) look(ctx context.Context, namespace, name string) (sight, error) {
	source, _, err := readSource(ctx, w.Live, namespace, name)
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

// readSource reads a Secret of somebody's by its name: what is to be judged, and beside
// it what it holds.
func readSource(ctx context.Context, live client.Reader, namespace, name string) (secret.Source, map[string][]byte, error) {
	source := secret.Source{Namespace: namespace, Name: name, Sight: secret.Open}
	var s corev1.Secret
	err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &s)
	switch {
	case apierrors.IsForbidden(err):
		source.Sight = secret.Closed
	case apierrors.IsNotFound(err):
		source.Sight = secret.Missing
	case err != nil:
		return source, nil, fmt.Errorf("cannot read Secret %s in namespace %s: %w", name, namespace, err)
	default:
		source.Type, source.GrantTo, source.Version = string(s.Type), s.Annotations[secret.KeyGrantTo], s.ResourceVersion
	}
	return source, s.Data, nil
}

// readGranted returns what a relation grants: of the Secret as it is now, and only with
// all consents as they are now (SAFETY.md S1). It is copied nowhere.
func (c *Commits) readGranted(ctx context.Context, namespace string, ties []secret.Tie, id string, query secret.Query) (secret.Reading, error) {
	if query.Label != "" {
		return secret.Reading{}, secret.NoLabel(id)
	}
	for _, tie := range ties {
		g, granted, err := c.grantedBy(ctx, namespace, tie)
		if err != nil {
			return secret.Reading{}, err
		}
		if !granted {
			continue
		}
		source, content, err := readSource(ctx, c.Reader, namespace, g.Secret)
		if err != nil {
			glog.Warningf("%v", err) // its name is not for who asks (SAFETY.md M7)
			return secret.Reading{}, fmt.Errorf("cannot read secret %s: the API server did not answer", id)
		}
		if reason, _ := source.Refusal(tie.Application, tie.Endpoint, ""); reason == "" {
			return secret.Reading{ID: id, Revision: g.Revision, Content: content}, nil
		}
	}
	return secret.Reading{}, secret.NotGranted(id, ties[0].Application)
}

// grantedBy returns what the other end of a relation grants in it, as relation, Offers
// and record are now.
func (c *Commits) grantedBy(ctx context.Context, namespace string, tie secret.Tie) (relation.Grant, bool, error) {
	r, err := c.granted(ctx, namespace, secret.Access{Relation: tie.Relation, Name: tie.Name, Namespace: tie.Home})
	if err != nil || r.UID == "" || !r.Alive() {
		return relation.Grant{}, false, err
	}
	var app v1alpha1.RelatedApplication
	if err := c.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: tie.Application}, &app); client.IgnoreNotFound(err) != nil {
		return relation.Grant{}, false, fmt.Errorf("cannot read application %s: %w", tie.Application, err)
	}
	grants, err := convert.ToGrants(&app)
	if err != nil {
		return relation.Grant{}, false, err
	}
	g, granted := r.Granted(relation.End{Namespace: namespace, Application: tie.Application, Endpoint: tie.Endpoint}, grants)
	return g, granted, nil
}

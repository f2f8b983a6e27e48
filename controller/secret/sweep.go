package secret

import (
	"context"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// Every is the pause between two sweeps.
const Every = time.Hour

// World is the part of the cluster that this loop needs.
type World interface {
	// Namespaces returns the namespaces that may hold secrets.
	Namespaces(ctx context.Context) ([]string, error)
	// Observe returns what is known of a namespace's secrets.
	Observe(ctx context.Context, namespace string) (secret.Snapshot, error)
	// Apply carries out one decision. Applying it twice does no harm.
	Apply(ctx context.Context, namespace string, d secret.Decision) error
}

// Sweeper sweeps when it starts, and then whenever Tick does.
type Sweeper struct {
	World World
	Tick  <-chan time.Time
}

// Start sweeps until ctx is done.
func (s *Sweeper) Start(ctx context.Context) error {
	for {
		s.sweep(ctx)
		select {
		case <-s.Tick:
		case <-ctx.Done():
			return nil
		}
	}
}

// sweep sweeps all namespaces. A failure in one does not stop the others; the next sweep tries it again.
func (s *Sweeper) sweep(ctx context.Context) {
	namespaces, err := s.World.Namespaces(ctx)
	if err != nil {
		glog.Warningf("cannot sweep secrets: %v", err)
	}
	for _, namespace := range namespaces {
		snapshot, err := s.World.Observe(ctx, namespace)
		if err != nil {
			glog.Warningf("cannot sweep secrets of namespace %s: %v", namespace, err)
			continue
		}
		for _, d := range secret.Sweep(snapshot) {
			if err := s.World.Apply(ctx, namespace, d); err != nil {
				glog.Warningf("cannot apply %T in namespace %s: %v", d, namespace, err)
				continue
			}
			glog.V(1).Infof("namespace %s: %s", namespace, describe(d))
		}
	}
}

// describe names a decision for the log, without content.
func describe(decision secret.Decision) string {
	switch d := decision.(type) {
	case secret.End:
		return "removed secret " + d.ID + ", whose unit was forgotten"
	case secret.Drop:
		return "dropped the tombstone of removed secret " + d.ID
	case secret.LetGo:
		return "release the ended part of secret " + d.ID
	case secret.Unmark:
		return "kept marked content, which a secret names"
	case secret.Discard:
		return "removed marked content that no secret names"
	default:
		return ""
	}
}

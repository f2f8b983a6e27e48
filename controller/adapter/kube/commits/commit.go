package commits

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// Commits stores transactions and leases.
type Commits struct {
	// Reader reads from the API server itself.
	Reader client.Reader
	Writer client.Client
	Now    func() time.Time
	// Interfaces check what is written; nil for none.
	Interfaces Interfaces
	// Contents keeps the contents of secrets.
	Contents ContentStore
	// Turns are shared by all that write here; may be nil.
	Turns *object.Turns
}

// Interfaces knows the interfaces of the cluster and the schema modes of its namespaces.
type Interfaces interface {
	// Catalog returns the interfaces that are in force now.
	Catalog(ctx context.Context) schema.Catalog
	// Mode returns the schema mode of a namespace.
	Mode(ctx context.Context, namespace string) schema.Mode
}

// ContentStore keeps the contents of secrets, each in a place that only its RelatedSecret names.
type ContentStore interface {
	// Store stores the content of a secret in a new place, marked.
	Store(ctx context.Context, namespace, id string, content map[string][]byte) (secret.Place, error)
	// Mark marks contents before their RelatedSecret lets go of them.
	Mark(ctx context.Context, namespace string, places []secret.Place) error
	// Settle takes the marks off contents that a RelatedSecret names, and removes those that it names no more.
	Settle(ctx context.Context, namespace string, named, unreachable []secret.Place)
}

// Commit stores a transaction and returns the revision of the last bag; 0 if it changes no bag
// (RELATIONS.md P3). Package transaction decides the requests. A reference to a secret and its grant become
// visible together (RELATIONS.md P5).
func (c *Commits) Commit(ctx context.Context, commit transaction.Commit, drafts []secret.Draft) (revision uint64, err error) {
	leads := false
	if commit.Leads() || len(drafts) > 0 {
		by := status.Reporter{Namespace: commit.Namespace, Application: commit.Application, PodUID: commit.PodUID, Term: commit.Term}
		if leads, err = leadsNow(ctx, c.Reader, by, c.Now()); err != nil {
			return 0, err
		}
	}
	e := executor{
		Commits: c, namespace: commit.Namespace,
		outbox: commit.Outbox(), owner: commit.Application, unit: strconv.Itoa(commit.Unit),
	}
	for _, change := range commit.Changes {
		if err := e.readBag(ctx, commit.Bag(change)); err != nil {
			return 0, err
		}
	}
	known, mode := schema.Catalog{}, schema.Off
	if c.Interfaces != nil {
		known, mode = c.Interfaces.Catalog(ctx), c.Interfaces.Mode(ctx, commit.Namespace)
	}
	if commit, err = commit.Prepare(e.stored, leads, known, mode); err != nil {
		return 0, err
	}
	if commit.Secrets, err = e.prepare(ctx, commit, drafts, leads); err != nil {
		return 0, err
	}
	commit.ID = rand.Text()
	revision, err = e.finish(ctx, func() (transaction.Request, error) { return transaction.Next(commit, e.stored, c.Now()) })
	if err != nil && !e.tried {
		c.discard(ctx, commit.Namespace, commit.Secrets)
	}
	return revision, err
}

// leadsNow reports whether a pod leads its application in its term, for long enough (SAFETY.md P1).
func leadsNow(ctx context.Context, reader client.Reader, by status.Reporter, now time.Time) (bool, error) {
	var app v1alpha1.RelatedApplication
	if err := reader.Get(ctx, client.ObjectKey{Namespace: by.Namespace, Name: by.Application}, &app); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("cannot read application %s: %w", by.Application, err)
	}
	return convert.ToLeader(&app).MayWrite(by.PodUID, by.Term, now), nil
}

// Lead claims or renews the leadership of a pod, or resigns it, and returns the leader. After a resignation
// another pod can lead at once.
func (c *Commits) Lead(ctx context.Context, namespace, application string, unit int, podUID string, resign bool) (leadership.Leader, error) {
	var leader leadership.Leader
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var app v1alpha1.RelatedApplication
		if err := c.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: application}, &app); err != nil {
			return err
		}
		before := convert.ToLeader(&app)
		last := int(app.State.LastTerm)
		before.Term = max(before.Term, last)
		if leader = before.Claim(unit, podUID, c.Now()); resign {
			leader = before.Resign(podUID, c.Now())
		}
		if leader == before {
			return nil
		}
		if leader.Term > last { // a term is taken before it is led in
			app.State.LastTerm = int64(leader.Term)
			if err := c.Writer.Update(ctx, &app); err != nil {
				return err
			}
			app.Status.ObservedGeneration = app.Generation
		}
		convert.SetLeader(&app, leader)
		return c.Writer.Status().Update(ctx, &app)
	})
	if err != nil {
		return leader, fmt.Errorf("cannot lead application %s: %w", application, err)
	}
	return leader, nil
}

// Leave records what a unit has handled of a relation (SAFETY.md E15, RELATIONS.md L3 and L4). A relation
// that is gone needs no record.
func (c *Commits) Leave(ctx context.Context, namespace, name, uid string, said conversation.Leave) error {
	err := c.Turns.Write(ctx, namespace+"/"+name, func() error {
		var r v1alpha1.Relation
		err := c.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &r)
		if err != nil || convert.Identity(&r) != uid {
			return client.IgnoreNotFound(err)
		}
		if differs, err := left(&r, said); err != nil || !differs {
			return err
		}
		return c.Writer.Status().Update(ctx, &r)
	})
	if err != nil {
		return fmt.Errorf("cannot note in relation %s what was handled: %w", name, err)
	}
	return nil
}

// left records in the object what a unit has handled, and reports whether that is new.
func left(r *v1alpha1.Relation, said conversation.Leave) (differs bool, err error) {
	if len(said.Departures) > 0 {
		before, err := convert.ToDepartures(r)
		after, differs := relation.Answered(before, said.Unit, said.Departures)
		convert.SetDepartures(r, after)
		return differs, err
	}
	all := &r.Status.EndedUnits
	if said.Suspension {
		all = &r.Status.SuspendedUnits
	}
	differs = !slices.Contains(*all, said.Unit.String()) && (!said.Suspension || r.Status.SuspensionTime != nil)
	if differs {
		*all = append(*all, said.Unit.String())
	}
	return differs, nil
}

// Deliver finishes a transaction that another process committed. Delivering it twice does no harm.
func (c *Commits) Deliver(ctx context.Context, namespace, outbox string) error {
	e := executor{Commits: c, namespace: namespace, outbox: outbox}
	_, err := e.finish(ctx, func() (transaction.Request, error) { return transaction.Deliver(e.stored, c.Now()) })
	return err
}

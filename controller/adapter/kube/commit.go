package kube

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/interfaces"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// Commits stores what units say. It reads from the API server, not from caches:
// what is decided here must be so when it is written.
type Commits struct {
	Reader client.Reader
	Writer client.Client
	Now    func() time.Time
	// Interfaces judge what is written; nil for none.
	Interfaces *interfaces.Catalogue
	// Turns are shared by all that write here; may be nil.
	Turns *Turns
	// Events tells people what handlers fail at; only who reports needs it.
	Events events.EventRecorder
}

// Commit stores a transaction and returns the revision from which on it is to be
// seen; zero where it changes no bag (RELATIONS.md P3). How is the matter of package
// transaction. What refers to a secret and its grant are seen together (RELATIONS.md P5).
func (c *Commits) Commit(ctx context.Context, commit transaction.Commit, drafts []secret.Draft) (revision uint64, err error) {
	leads := false
	if commit.Leads() || len(drafts) > 0 {
		if leads, err = c.leads(ctx, commit.Namespace, commit.Application, commit.PodUID, commit.Term); err != nil {
			return 0, err
		}
	}
	e := executor{Commits: c, namespace: commit.Namespace, outbox: commit.Outbox(), owner: commit.Application, unit: strconv.Itoa(commit.Unit)}
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
	return e.finish(ctx, func() (transaction.Request, error) { return transaction.Next(commit, e.stored, c.Now()) })
}

// leads reports whether a unit leads, for long enough (SAFETY.md P1).
func (c *Commits) leads(ctx context.Context, namespace, application, podUID string, term int) (bool, error) {
	var app v1alpha1.RelatedApplication
	if err := c.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: application}, &app); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("cannot read application %s: %w", application, err)
	}
	return convert.ToLeader(&app).MayWrite(podUID, term, c.Now()), nil
}

// Lead has a pod lead its application, or go on leading, and returns who leads.
// A pod that resigns is followed at once.
func (c *Commits) Lead(ctx context.Context, namespace, application string, unit int, podUID string, resign bool) (leadership.Leader, error) {
	var leader leadership.Leader
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var app v1alpha1.RelatedApplication
		if err := c.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: application}, &app); err != nil {
			return err
		}
		before := convert.ToLeader(&app)
		if leader = before.Claim(unit, podUID, c.Now()); resign {
			leader = before.Resign(podUID, c.Now())
		}
		if leader == before {
			return nil
		}
		convert.SetLeader(&app, leader)
		return c.Writer.Status().Update(ctx, &app)
	})
	if err != nil {
		return leader, fmt.Errorf("cannot lead application %s: %w", application, err)
	}
	return leader, nil
}

// Leave notes what a unit has handled of a relation (SAFETY.md E15, RELATIONS.md L3 and
// L4). One that has gone meanwhile waits for nobody.
func (c *Commits) Leave(ctx context.Context, namespace, name, uid string, said conversation.Leave) error {
	err := c.inTurn(ctx, namespace+"/"+name, func() error {
		var r v1alpha1.Relation
		err := c.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &r)
		if err != nil || string(r.UID) != uid {
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

// left is Leave on the object, and whether anything is new.
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

// deliver finishes a transaction that another process committed.
func (w *World) deliver(ctx context.Context, namespace string, d relation.Deliver) error {
	e := executor{Commits: &Commits{Reader: w.Live, Writer: w.Writer, Now: w.Now}, namespace: namespace, outbox: d.Outbox}
	_, err := e.finish(ctx, func() (transaction.Request, error) { return transaction.Deliver(e.stored, w.Now()) })
	return err
}

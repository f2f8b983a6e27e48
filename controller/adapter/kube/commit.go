package kube

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// The reasons why a transaction is not stored.
var (
	// ErrDeposed says that the unit does not lead, or no longer for long enough.
	ErrDeposed = errors.New("the unit is not its application's leader")
	// ErrBusy says that the unit's transaction before is still on its way.
	ErrBusy = errors.New("the unit's last transaction is still being delivered")
)

// Commits stores what units say. It reads from the API server, not from caches:
// what is decided here must be so when it is written.
type Commits struct {
	Reader client.Reader
	Writer client.Client
	Now    func() time.Time
	// Interfaces judge what is written; nil for none.
	Interfaces *Interfaces
	// Turns are shared by all that write here; may be nil.
	Turns *Turns
	// Events tells people what handlers fail at; only who reports needs it.
	Events events.EventRecorder
}

// Commit stores a transaction and returns the revision from which on it is to be
// seen; zero where it changes no bag (RELATIONS.md P3). A transaction of one bag, or
// of one secret, is that object's write. One of several is first written whole to
// the unit's outbox, which is its commit point, and then moved to where it belongs,
// secrets first; whoever finds it there later moves it again (SAFETY.md E11). What
// refers to a secret and its grant are so seen together (RELATIONS.md P5).
func (c *Commits) Commit(ctx context.Context, commit relation.Commit, drafts []secret.Draft) (revision uint64, err error) {
	leads := false
	if commit.Leads() || len(drafts) > 0 {
		if leads, err = c.leads(ctx, commit); err != nil {
			return 0, err
		}
	}
	if commit.Leads() && !leads {
		return 0, ErrDeposed
	}
	changes, err := c.changes(ctx, commit)
	if err != nil {
		return 0, err
	}
	writes, err := c.prepare(ctx, commit, drafts, leads)
	if err != nil {
		return 0, err
	}
	return c.store(ctx, commit, changes, writes)
}

// store commits what was prepared.
func (c *Commits) store(ctx context.Context, commit relation.Commit, changes []v1alpha1.Change, writes []secret.Write) (uint64, error) {
	var pending []v1alpha1.SecretWrite
	for _, w := range writes {
		pending = append(pending, v1alpha1.ForWrite(w))
	}
	by := author{
		Unit:      secret.Unit{Application: commit.Application, Number: strconv.Itoa(commit.Unit), Leads: true}, // where it has to, or it was refused
		namespace: commit.Namespace, term: int64(commit.Term), cause: commit.Cause,
	}
	switch secrets := bySecret(pending); {
	case len(changes)+len(secrets) == 0:
		return 0, nil
	case len(secrets) == 0 && len(changes) == 1:
		return c.write(ctx, by, changes[0])
	case len(secrets) == 1 && len(changes) == 0:
		by.transaction = rand.Text()
		return 0, c.writeSecret(ctx, by, writes)
	}
	outbox, err := c.post(ctx, commit, v1alpha1.DatabagStatus{
		Pending: changes, PendingSecrets: pending, Transaction: rand.Text(), PendingTerm: int64(commit.Term), PendingCause: commit.Cause,
	})
	if err != nil {
		return 0, err
	}
	return c.empty(ctx, outbox)
}

// leads reports whether the unit leads, for long enough (SAFETY.md P1).
func (c *Commits) leads(ctx context.Context, commit relation.Commit) (bool, error) {
	var app v1alpha1.RelatedApplication
	if err := c.Reader.Get(ctx, client.ObjectKey{Namespace: commit.Namespace, Name: commit.Application}, &app); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("cannot read application %s: %w", commit.Application, err)
	}
	return app.LeaderToDomain().MayWrite(commit.PodUID, commit.Term, c.Now()), nil
}

// changes returns those changes of a transaction that change anything, and
// refuses what no bag may hold.
func (c *Commits) changes(ctx context.Context, commit relation.Commit) ([]v1alpha1.Change, error) {
	var changes []v1alpha1.Change
	for _, change := range commit.Changes {
		bag := commit.Bag(change)
		var stored v1alpha1.Databag
		err := c.Reader.Get(ctx, client.ObjectKey{Namespace: commit.Namespace, Name: bag.Name()}, &stored)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("cannot read the databag of %s:%s: %w", commit.Application, change.Endpoint, err)
		}
		_, differs, err := relation.Write(stored.Status.Data, change.Set)
		if err != nil {
			return nil, err
		}
		if err := c.fits(ctx, commit.Namespace, change); err != nil {
			return nil, err
		}
		if differs {
			term := int64(0)
			if !change.Own {
				term = int64(commit.Term)
			}
			changes = append(changes, v1alpha1.Change{
				Relation: change.Relation, RelationNamespace: bag.Home.Namespace, RelationUID: change.UID,
				Endpoint: change.Endpoint, Unit: bag.Unit, Set: change.Set, Secret: c.secret(ctx, change), Term: term,
			})
		}
	}
	return changes, nil
}

// fits refuses what the interface does not allow.
func (c *Commits) fits(ctx context.Context, namespace string, change relation.Change) error {
	if c.Interfaces == nil {
		return nil
	}
	return change.Fits(c.Interfaces.Catalog(ctx), c.Interfaces.Mode(ctx, namespace))
}

// secret names the fields whose values no record keeps.
func (c *Commits) secret(ctx context.Context, change relation.Change) []string {
	if c.Interfaces == nil {
		return nil
	}
	return change.Secrets(c.Interfaces.Catalog(ctx))
}

// post commits a transaction by writing it to the unit's outbox.
func (c *Commits) post(ctx context.Context, commit relation.Commit, pending v1alpha1.DatabagStatus) (*v1alpha1.Databag, error) {
	outbox := named(&v1alpha1.Databag{}, commit.Namespace, commit.Outbox())
	outbox.Spec = v1alpha1.DatabagSpec{Application: commit.Application, Unit: fmt.Sprint(commit.Unit)}
	if err := c.open(ctx, outbox); err != nil {
		return nil, err
	}
	if outbox.Holds() {
		if _, err := c.empty(ctx, outbox); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBusy, err)
		}
	}
	outbox.Status = pending
	if err := c.Writer.Status().Update(ctx, outbox); err != nil {
		return nil, fmt.Errorf("cannot commit: %w", err)
	}
	return outbox, nil
}

// open reads an object into o, and makes it if it is not there.
func (c *Commits) open(ctx context.Context, o *v1alpha1.Databag) error {
	wanted := o.DeepCopy()
	err := c.Reader.Get(ctx, client.ObjectKeyFromObject(o), o)
	if apierrors.IsNotFound(err) {
		wanted.DeepCopyInto(o)
		err = c.Writer.Create(ctx, o)
	}
	if apierrors.IsAlreadyExists(err) {
		err = c.Reader.Get(ctx, client.ObjectKeyFromObject(o), o)
	}
	if err != nil {
		return fmt.Errorf("cannot open databag %s: %w", o.Name, err)
	}
	return nil
}

// empty moves what is in an outbox to where it belongs, secrets first. What a
// leader of a later term has overtaken, what its bag has no room for any more, or
// whose relation or secret has gone, is dropped: it would be in the way for ever.
// With a secret all that the transaction says is, since that may refer to it.
func (c *Commits) empty(ctx context.Context, outbox *v1alpha1.Databag) (uint64, error) {
	whole, err := c.emptySecrets(ctx, outbox)
	if err != nil {
		return 0, err
	}
	for _, change := range outbox.Status.Pending {
		if !whole {
			break
		}
		_, err := c.write(ctx, authorOf(outbox), change)
		if err != nil && !errors.Is(err, ErrDeposed) && !errors.Is(err, relation.ErrInvalid) {
			return 0, err
		}
	}
	return c.close(ctx, outbox)
}

// close says that all of a transaction is where it belongs. Another process that
// delivered it too may have been faster.
func (c *Commits) close(ctx context.Context, outbox *v1alpha1.Databag) (uint64, error) {
	transaction := outbox.Status.Transaction
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		outbox.Status = v1alpha1.DatabagStatus{}
		conflict := c.Writer.Status().Update(ctx, outbox)
		if !apierrors.IsConflict(conflict) {
			return conflict
		}
		if err := c.Reader.Get(ctx, client.ObjectKeyFromObject(outbox), outbox); err != nil || outbox.Status.Transaction != transaction {
			return err
		}
		return conflict
	})
	if err != nil {
		return 0, fmt.Errorf("cannot empty databag %s: %w", outbox.Name, err)
	}
	return revision(outbox), nil
}

// write brings one change to its bag, and notes it in the bag's record by the same
// write. Somebody else's write in between is read again. The bag of a relation goes
// with the relation: it is owned by it, or where that lives in another namespace, whose
// objects can own none here, it says where that is (SAFETY.md M7).
func (c *Commits) write(ctx context.Context, by author, change v1alpha1.Change) (at uint64, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		stored := named(&v1alpha1.Databag{}, by.namespace, by.bag(change).Name())
		stored.Spec = v1alpha1.DatabagSpec{Application: by.Application, Endpoint: change.Endpoint, Relation: change.RelationUID, Unit: change.Unit}
		if change.RelationNamespace != "" {
			stored.Spec.Home = &v1alpha1.RelationHome{Namespace: change.RelationNamespace, Name: change.Relation}
		} else {
			stored.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "Relation", Name: change.Relation, UID: types.UID(change.RelationUID),
			}}
		}
		if err := c.open(ctx, stored); err != nil {
			return err
		}
		if _, err := stored.ToDomain(); err != nil {
			return err
		}
		if stored.Status.Term > change.Term {
			return ErrDeposed
		}
		after, differs, err := relation.Write(stored.Status.Data, change.Set)
		if at = revision(stored); err != nil || !differs {
			return err
		}
		stored.Commit(by.said(change), after, change.Secret, c.Now())
		stored.Status.Term = change.Term
		if change.Unit == "" {
			stored.Status.Writer = by.Number
		}
		err = c.Writer.Status().Update(ctx, stored)
		at = revision(stored)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("cannot write the databag of %s:%s: %w", by.Application, change.Endpoint, err)
	}
	return at, nil
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
		before := app.LeaderToDomain()
		if leader = before.Claim(unit, podUID, c.Now()); resign {
			leader = before.Resign(podUID, c.Now())
		}
		if leader == before {
			return nil
		}
		app.SetLeader(leader)
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
		before, err := r.Departures()
		after, differs := relation.Answered(before, said.Unit, said.Departures)
		r.SetDepartures(after)
		return differs, err
	}
	all := &r.Status.Left
	if said.Suspension {
		all = &r.Status.Closed
	}
	differs = !slices.Contains(*all, said.Unit.String()) && (!said.Suspension || r.Status.SuspendedSince != nil)
	if differs {
		*all = append(*all, said.Unit.String())
	}
	return differs, nil
}

// deliver finishes a transaction that another process committed.
func (w *World) deliver(ctx context.Context, namespace string, d relation.Deliver) error {
	outbox := named(&v1alpha1.Databag{}, namespace, d.Outbox)
	if err := w.Live.Get(ctx, client.ObjectKeyFromObject(outbox), outbox); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !outbox.Holds() {
		return nil // its own process was faster
	}
	commits := Commits{Reader: w.Live, Writer: w.Writer, Now: w.Now}
	_, err := commits.empty(ctx, outbox)
	return err
}

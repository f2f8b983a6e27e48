package commits

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/budget"
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
	// Succeeded has the term, by application, whose leader has built on what earlier ones committed; nil for none.
	Succeeded *lru.Cache
	// Leases are shared by all that ask here who leads; may be nil.
	Leases *object.Leases
	// Afford takes what a transaction is about to write from the budgets of its author, or refuses it; nil for no
	// budget (TRUST.md U1).
	Afford func(ctx context.Context, bytes int, adds budget.Holding) error
}

// mostSucceeded bounds for how many applications a replica remembers the term. One that it has forgotten is looked at
// again.
const mostSucceeded = 4096

// NewSucceeded returns what a replica remembers of leaders that have succeeded to earlier ones.
func NewSucceeded() *lru.Cache { return lru.New(mostSucceeded) }

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
	leads, err := c.leads(ctx, commit, drafts)
	if err != nil {
		return 0, err
	}
	e := executor{
		Commits: c, namespace: commit.Namespace,
		outbox: commit.Outbox(), owner: commit.Application, unit: strconv.Itoa(commit.Unit),
	}
	if slices.ContainsFunc(drafts, func(d secret.Draft) bool { return d.Label != "" }) {
		if err := c.deliverOwn(ctx, commit.Namespace, commit.Application, e.unit); err != nil {
			return 0, err
		}
	}
	if conflict, err := e.carryOutAll(ctx, commit.Reads()); cmp.Or(err, conflict) != nil {
		return 0, cmp.Or(err, conflict)
	}
	if len(commit.Changes) > 0 || commit.Posts(len(drafts)) {
		if err := e.readOutbox(ctx); err != nil {
			return 0, err
		}
	}
	known, mode := rules(ctx, c.Interfaces, commit.Namespace)
	if commit, err = commit.Prepare(e.stored, leads, known, mode); err != nil {
		return 0, err
	}
	if err := c.afford(ctx, commit, e.stored, drafts); err != nil {
		return 0, err
	}
	if commit.Secrets, err = e.prepare(ctx, commit, drafts, leads); err != nil {
		return 0, err
	}
	commit.ID = rand.Text()
	revision, err = e.finish(ctx, func() (transaction.Request, error) { return transaction.Next(commit, e.stored, c.Now()) })
	if err == nil {
		return revision, nil
	}
	if !e.tried {
		c.discard(ctx, commit.Namespace, commit.Secrets)
	}
	if leads {
		err = c.elections().outranked(ctx, reporter(commit), e.stored.LatestTerm(), err)
	}
	return 0, err
}

// rules returns the interfaces that are in force and the schema mode of a namespace.
func rules(ctx context.Context, interfaces Interfaces, namespace string) (schema.Catalog, schema.Mode) {
	if interfaces == nil {
		return schema.Catalog{}, schema.Off
	}
	return interfaces.Catalog(ctx), interfaces.Mode(ctx, namespace)
}

// leads reports whether the author leads, if the commit asks for that. What earlier leaders have committed is
// delivered then.
func (c *Commits) leads(ctx context.Context, commit transaction.Commit, drafts []secret.Draft) (bool, error) {
	if !commit.Leads() && len(drafts) == 0 {
		return false, nil
	}
	leads, app, err := c.elections().leadsNow(ctx, reporter(commit))
	if leads {
		err = c.succeed(ctx, commit, app)
	}
	return leads, err
}

// reporter returns the author of a commit.
func reporter(c transaction.Commit) status.Reporter {
	return status.Reporter{Namespace: c.Namespace, Application: c.Application, PodUID: c.PodUID, Term: c.Term}
}

// afford takes what a prepared commit is about to write from the budgets of its author (TRUST.md U1).
func (c *Commits) afford(ctx context.Context, commit transaction.Commit, stored transaction.Stored, drafts []secret.Draft) error {
	bytes, adds := commit.Cost(stored, drafts)
	if bytes == 0 || c.Afford == nil {
		return nil
	}
	return c.Afford(ctx, bytes, adds)
}

// succeed delivers what earlier leaders of the application have committed, once for a term and process (TRUST.md T10).
// What the API server refuses of a unit's own bags alone blocks that unit's commits only.
func (c *Commits) succeed(ctx context.Context, commit transaction.Commit, app *v1alpha1.RelatedApplication) error {
	key := commit.Namespace + "/" + commit.Application
	if c.Succeeded != nil {
		if term, known := c.Succeeded.Get(key); known && term == commit.Term {
			return nil
		}
	}
	record, err := convert.ToRecord(app)
	if err != nil {
		return err
	}
	for _, unit := range commit.Earlier(record.State.Units) {
		outbox := relation.OutboxName(commit.Application, strconv.Itoa(unit))
		if led, err := c.deliver(ctx, commit.Namespace, outbox); err != nil && (led || conversation.RefusalOf(err) == "") {
			return fmt.Errorf("cannot commit before the transaction of %s/%d is delivered: %w", commit.Application, unit, err)
		}
	}
	if c.Succeeded != nil {
		c.Succeeded.Add(key, commit.Term)
	}
	return nil
}

// Lead claims or renews the leadership of a pod, or resigns it, and returns the leader, whose lease ends by the clock here.
// After a resignation another pod can lead at once.
func (c *Commits) Lead(ctx context.Context, namespace, application string, unit int, podUID string, resign bool) (
	leadership.Leader, error) {
	return c.elections().lead(ctx, client.ObjectKey{Namespace: namespace, Name: application}, unit, podUID, resign)
}

func (c *Commits) elections() elections { return elections{c.Reader, c.Writer, c.Now, c.Leases} }

// Leave records the departures, or the suspension, that a unit has handled in a relation (SAFETY.md E15,
// RELATIONS.md L3). A relation that is gone needs no record; one that another Relation has taken over has it there.
func (c *Commits) Leave(ctx context.Context, namespace, name, uid string, said conversation.Leave) error {
	err := c.Turns.Write(ctx, namespace+"/"+name, func() error {
		r, err := object.RelationOf(ctx, c.Reader, client.ObjectKey{Namespace: namespace, Name: name}, uid)
		if err != nil || r == nil {
			return err
		}
		if differs, err := left(r, said); err != nil || !differs {
			return err
		}
		return c.Writer.Status().Update(ctx, r)
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
	all := &r.Status.SuspendedUnits
	differs = !slices.Contains(*all, said.Unit.String()) && r.Status.SuspensionTime != nil
	if differs {
		*all = append(*all, said.Unit.String())
	}
	return differs, nil
}

// AnswerEnd records what a unit answers for the end of the relation with that identity, in the side of its
// namespace (TRUST.md T2). A side that is gone needs no answer.
func (c *Commits) AnswerEnd(ctx context.Context, namespace, side, identity string, said conversation.Leave) error {
	err := c.Turns.Write(ctx, namespace+"/"+side, func() error {
		var s v1alpha1.RelationSide
		err := c.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: side}, &s)
		if err != nil || s.Spec.Relation != identity || !convert.AnswerEnd(&s, said.Unit, said.Handled) {
			return client.IgnoreNotFound(err)
		}
		return c.Writer.Update(ctx, &s)
	})
	if err != nil {
		return fmt.Errorf("cannot note in relation side %s what was handled: %w", side, err)
	}
	return nil
}

// Deliver finishes a transaction that another process committed. Delivering it twice does no harm.
func (c *Commits) Deliver(ctx context.Context, namespace, outbox string) error {
	_, err := c.deliver(ctx, namespace, outbox)
	return err
}

// deliverOwn delivers what a unit has committed, before it is judged what that changes. What the API server refuses stays.
func (c *Commits) deliverOwn(ctx context.Context, namespace, application, unit string) error {
	err := c.Deliver(ctx, namespace, relation.OutboxName(application, unit))
	if conversation.RefusalOf(err) != "" {
		return nil
	}
	return err
}

// deliver delivers an outbox; led reports whether what is left in it is of a leader.
func (c *Commits) deliver(ctx context.Context, namespace, outbox string) (led bool, err error) {
	e := executor{Commits: c, namespace: namespace, outbox: outbox}
	_, err = e.finish(ctx, func() (transaction.Request, error) { return transaction.Deliver(e.stored, c.Now()) })
	if err == nil {
		err = c.report(ctx, e.bags[outbox], e.stored.Dropped())
	}
	return e.stored.Held().Leads(), err
}

package commits

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// executor carries out the requests of one transaction. Each write is conditional on the revision of the
// object that the executor read or wrote last.
type executor struct {
	*Commits

	namespace string
	// outbox is the name of the unit's outbox, owner its application and unit its number.
	outbox, owner, unit string
	stored              transaction.Stored
	bags                map[string]*v1alpha1.Databag
	secrets             map[string]*v1alpha1.RelatedSecret
	// at is the highest revision of a databag or outbox that was read or written; 0 for a transaction of one secret.
	at uint64
	// noting is held while results are noted: requests may be carried out at the same time.
	noting sync.Mutex
	// tried is set before the first write that may commit contents: after an error of that, only what is stored
	// tells whether it did.
	tried bool
	// ends end the turns that the executor has taken.
	ends []func()
}

// finish carries out requests until there is none, and returns the revision of the last databag.
func (e *executor) finish(ctx context.Context, next func() (transaction.Request, error)) (uint64, error) {
	defer func() {
		for _, end := range e.ends {
			end()
		}
	}()
	e.at = 0
	backoff := object.ConflictBackoff()
	for {
		request, err := next()
		if err != nil {
			return 0, err
		}
		if request == nil {
			return e.at, nil
		}
		conflict, err := e.carryOutAll(ctx, transaction.AllOf(request))
		if err == nil && conflict != nil {
			err = e.waitAfter(ctx, request, &backoff, conflict)
		}
		if err != nil {
			return 0, e.reported(ctx, e.stored.Held(), e.bags[e.outbox], err)
		}
	}
}

// mostAtOnce bounds how many requests of a transaction are carried out at the same time.
const mostAtOnce = 4

// carryOutAll carries out requests that do not depend on each other. An object that is not as it was noted is made
// unknown; that is the conflict.
func (e *executor) carryOutAll(ctx context.Context, all []transaction.Request) (conflict, err error) {
	errs := make([]error, len(all))
	var running errgroup.Group
	running.SetLimit(mostAtOnce)
	for i, request := range all {
		running.Go(func() error {
			errs[i] = refused(request, e.carryOut(ctx, request))
			return nil
		})
	}
	_ = running.Wait()
	for i, one := range errs {
		if apierrors.IsConflict(one) || apierrors.IsAlreadyExists(one) || apierrors.IsNotFound(one) {
			e.stored.Forget(all[i])
			conflict = one
		} else {
			err = cmp.Or(err, one)
		}
	}
	return conflict, err
}

// note notes a result.
func (e *executor) note(result func()) {
	e.noting.Lock()
	defer e.noting.Unlock()
	result()
}

// waitAfter waits before a request that met a conflict is tried again. Writers of one secret in this
// process wait for each other then: many units read a new secret at the same time.
func (e *executor) waitAfter(ctx context.Context, request transaction.Request, backoff *wait.Backoff, conflict error) error {
	if backoff.Steps == 0 {
		return conflict
	}
	if w, is := request.(transaction.WriteSecret); is && e.Turns != nil && len(e.ends) == 0 {
		end, err := e.Turns.Take(ctx, e.namespace+"/"+w.ID)
		if err != nil {
			return err
		}
		e.ends = append(e.ends, end)
	}
	select {
	case <-time.After(backoff.Step()):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// carryOut carries out one request and keeps its result.
func (e *executor) carryOut(ctx context.Context, request transaction.Request) error {
	var err error
	switch r := request.(type) {
	case transaction.ReadOutbox:
		err = e.readOutbox(ctx)
	case transaction.Try:
		err = e.trial(r.Write).carryOut(ctx, r.Write)
		e.note(func() { e.stored.Tried(r, err) })
	case transaction.Post:
		e.tried = true
		err = e.post(ctx, r.Commit)
	case transaction.Empty:
		err = e.empty(ctx, r)
	case transaction.ReadBag:
		err = e.readBag(ctx, r.Bag)
	case transaction.WriteBag:
		err = e.writeBag(ctx, r)
	case transaction.ReadSecret:
		err = e.readSecret(ctx, r.ID)
	case transaction.WriteSecret:
		e.tried = true
		err = e.writeSecret(ctx, r)
	default:
		err = fmt.Errorf("cannot carry out %T: it is not known here", request)
	}
	return err
}

// bag names a new object and keeps it.
func (e *executor) bag(b *v1alpha1.Databag, name string) *v1alpha1.Databag {
	if e.bags == nil {
		e.bags = map[string]*v1alpha1.Databag{}
	}
	e.bags[name] = object.Named(b, e.namespace, name)
	return e.bags[name]
}

// read reads a databag's object, and reports whether it exists.
func (e *executor) read(ctx context.Context, name string) (*v1alpha1.Databag, bool, error) {
	var b *v1alpha1.Databag
	e.note(func() { b = e.bag(&v1alpha1.Databag{}, name) })
	err := e.Reader.Get(ctx, client.ObjectKeyFromObject(b), b)
	if client.IgnoreNotFound(err) != nil {
		return b, false, fmt.Errorf("cannot read databag %s: %w", name, err)
	}
	return b, err == nil, nil
}

func (e *executor) readOutbox(ctx context.Context) error {
	b, there, err := e.read(ctx, e.outbox)
	if err == nil && there {
		_, err = convert.ToDatabag(b)
	}
	if err != nil {
		return err
	}
	o := transaction.StoredOutbox{There: there}
	if convert.Holds(b) {
		o.Commit = convert.ToCommit(b)
	} else {
		o.Dropped = convert.ToOutbox(b).Refusal
	}
	e.stored.SetOutbox(o)
	if e.at > 0 {
		e.at = max(e.at, object.Revision(b))
	}
	return nil
}

func (e *executor) post(ctx context.Context, commit transaction.Commit) error {
	b := e.bags[e.outbox]
	b.Spec = convert.ForOutbox(e.owner, e.unit)
	convert.SetCommit(b, commit)
	if err := object.WriteBag(ctx, e.Writer, b); err != nil {
		return fmt.Errorf("cannot commit: %w", err)
	}
	e.at = object.Revision(b)
	e.stored.Posted(commit)
	return nil
}

func (e *executor) empty(ctx context.Context, r transaction.Empty) error {
	b := e.bags[e.outbox]
	b.State = v1alpha1.DatabagState{PodUID: b.State.PodUID}
	if err := object.WriteBag(ctx, e.Writer, b); err != nil {
		return fmt.Errorf("cannot empty databag %s: %w", e.outbox, err)
	}
	e.at = object.Revision(b)
	e.stored.Emptied(r)
	return nil
}

func (e *executor) readBag(ctx context.Context, bag relation.Databag) error {
	b, there, err := e.read(ctx, bag.Name())
	if err == nil && there {
		_, err = convert.ToDatabag(b)
	}
	if err != nil {
		return err
	}
	e.note(func() {
		e.at = max(e.at, object.Revision(b))
		e.stored.SetBag(b.Name, transaction.StoredBag{Data: b.State.Data, There: there, Term: int(b.State.Term), Commits: int(b.State.Commits)})
	})
	return nil
}

// lasts reports whether a bag may still be made: its relation exists, or a side of it. After that it would be left
// over.
func (e *executor) lasts(ctx context.Context, w transaction.WriteBag) (bool, error) {
	key := client.ObjectKey{Namespace: cmp.Or(w.Bag.Home.Namespace, e.namespace), Name: w.Relation}
	if r, err := object.RelationOf(ctx, e.Reader, key, w.Bag.Relation); err != nil || r != nil {
		return r != nil, err
	}
	sides, err := object.SidesOf(ctx, e.Reader, e.namespace, w.Bag.Relation)
	return len(sides) > 0, err
}

func (e *executor) writeBag(ctx context.Context, w transaction.WriteBag) error {
	var b *v1alpha1.Databag
	e.note(func() { b = e.bags[w.Bag.Name()] })
	if b.ResourceVersion == "" {
		if lasts, err := e.lasts(ctx, w); err != nil || !lasts {
			e.note(func() { e.stored.Wrote(b.Name, transaction.StoredBag{Data: w.Data, Term: w.Term}) })
			return err
		}
		e.note(func() { b = e.bag(&v1alpha1.Databag{Spec: convert.ForBag(w.Bag)}, w.Bag.Name()) })
	}
	convert.SetData(b, w.Entry, w.Data, w.Secret, e.Now())
	b.State.Term, b.State.PodUID = int64(w.Term), cmp.Or(w.Bag.PodUID, b.State.PodUID)
	if w.Writer != "" {
		b.State.Writer = w.Writer
	}
	if err := object.WriteBag(ctx, e.Writer, b); err != nil {
		return fmt.Errorf("cannot write the databag of %s:%s: %w", w.Bag.Application, w.Bag.Endpoint, err)
	}
	e.note(func() {
		e.at = max(e.at, object.Revision(b))
		e.stored.Wrote(b.Name, transaction.StoredBag{Data: b.State.Data, There: true, Term: w.Term, Commits: int(b.State.Commits)})
	})
	return nil
}

package commits

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/settle"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// shop returns a server and commits to it.
func shop() (*kubetest.Strict, *Commits) {
	server := kubetest.Shop()
	server.Kept.Put(kubetest.Changed("one", "two")...)
	return server, &Commits{Reader: server, Writer: server, Now: kubetest.Epoch}
}

func TestCommit(t *testing.T) {
	server, commits := shop()
	at, err := commits.Commit(t.Context(), kubetest.Commit(kubetest.Change("one", false, "user", "a")), nil)
	require.NoError(t, err)
	assert.NotZero(t, at, "from when on it is to be seen")
	assert.Equal(t, 1, server.Writes, "SAFETY.md E11: one bag is that bag's write, the first one too")
	at, err = commits.Commit(t.Context(), kubetest.Commit(kubetest.Change("one", false, "user", "b", "port", ""), kubetest.Change("one", true, "ready", "yes"), kubetest.Change("two", false, "user", "c")), nil)
	require.NoError(t, err)
	assert.NotZero(t, at)
	assert.Equal(t, map[string]map[string]string{"one/": {"user": "b"}, "one/1": {"ready": "yes"}, "two/": {"user": "c"}}, kubetest.BagsOf(t, server))

	before := server.Writes
	at, err = commits.Commit(t.Context(), kubetest.Commit(kubetest.Change("one", false, "user", "b"), kubetest.Change("two", false, "port", "")), nil)
	require.NoError(t, err)
	assert.Zero(t, at, "RELATIONS.md P3: nothing is said anew")
	assert.Equal(t, before, server.Writes)

	stored := object.Named(&v1alpha1.Databag{}, "shop", relation.Databag{Application: "db", Endpoint: "main", Relation: "one"}.Name())
	require.NoError(t, server.Get(t.Context(), client.ObjectKeyFromObject(stored), stored))
	assert.Empty(t, stored.OwnerReferences, "TRUST.md T5: a restore gives owners other UIDs")
	assert.EqualValues(t, 3, stored.State.Term)
	assert.Equal(t, "1", stored.State.Writer, "RELATIONS.md E8: its peers are told who wrote it")
	assert.Equal(t, databag.Version(map[string]string{"user": "b"}), stored.State.Version)
}

// crowd is a server whose first requests wait for each other: with fewer at the same time none goes on.
type crowd struct {
	client.Client

	arrived sync.WaitGroup
	dry     atomic.Int64
}

// wait has as many trials wait for each other as the group has.
func (c *crowd) wait(dryRun []string) {
	if len(dryRun) > 0 {
		c.dry.Add(1)
		c.arrived.Done()
		c.arrived.Wait()
	}
}

func (c *crowd) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	var options client.CreateOptions
	c.wait(options.ApplyOptions(opts).DryRun)
	return c.Client.Create(ctx, o, opts...)
}

// The writes of a transaction are tried at the same time.
func TestCommitTriesTogether(t *testing.T) {
	server, commits := shop()
	together := &crowd{Client: server}
	together.arrived.Add(3)
	commits.Writer = together
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	done := make(chan error)
	go func() {
		_, err := commits.Commit(ctx, kubetest.Commit(kubetest.Change("one", false, "user", "b"), kubetest.Change("one", true, "ready", "yes"), kubetest.Change("two", false, "user", "c")), nil)
		done <- err
	}()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-ctx.Done():
		require.Fail(t, "a trial waits for the one before it")
	}
	assert.EqualValues(t, 3, together.dry.Load())
}

// A refused write stores nothing (SAFETY.md P1, RELATIONS.md P1, P6).
func TestCommitRefuses(t *testing.T) {
	tests := map[string]struct {
		why    string
		commit transaction.Commit
		now    time.Duration
		err    error
	}{
		"NotTheLeader": {why: "another pod leads", commit: transaction.Commit{Namespace: "shop", Application: "db", Unit: 2, PodUID: "pod-2", Term: 3, Changes: []transaction.Change{kubetest.Change("one", false, "a", "b")}}, err: transaction.ErrDeposed},
		"OldTerm":      {why: "its term is over", commit: transaction.Commit{Namespace: "shop", Application: "db", Unit: 1, PodUID: "pod-1", Term: 2, Changes: []transaction.Change{kubetest.Change("one", false, "a", "b")}}, err: transaction.ErrDeposed},
		"TooLate":      {why: "9 s are not enough", commit: kubetest.Commit(kubetest.Change("one", false, "a", "b")), now: 51 * time.Second, err: transaction.ErrDeposed},
		"TooLarge":     {why: "one bag of two is refused: nothing is stored", commit: kubetest.Commit(kubetest.Change("one", true, "a", "b"), kubetest.Change("two", true, "a", string(make([]byte, 64<<10+1)))), err: transaction.ErrInvalid},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server, commits := shop()
			commits.Now = func() time.Time { return kubetest.Epoch().Add(test.now) }
			_, err := commits.Commit(t.Context(), test.commit, nil)
			require.ErrorIs(t, err, test.err, test.why)
			assert.Zero(t, server.Writes, test.why)
		})
	}
	_, commits := shop()
	commits.Now = func() time.Time { return kubetest.Epoch().Add(time.Hour) }
	_, err := commits.Commit(t.Context(), transaction.Commit{Namespace: "shop", Application: "db", Unit: 7, PodUID: "pod-7", Changes: []transaction.Change{kubetest.Change("one", true, "a", "b")}}, nil)
	require.NoError(t, err, "its own bag every unit may write")
}

// A process that dies at any write leaves a transaction stored whole or not at all, once the next process has
// delivered it (SAFETY.md E11).
func TestCommitIsWhole(t *testing.T) {
	transaction := kubetest.Commit(kubetest.Change("one", false, "user", "a"), kubetest.Change("two", true, "user", "b"), kubetest.Change("two", false, "user", "c"))
	whole, commits := shop()
	_, err := commits.Commit(t.Context(), transaction, nil)
	require.NoError(t, err)
	for most := 1; most < whole.Writes; most++ {
		server, commits := shop()
		server.Most = most
		_, err := commits.Commit(t.Context(), transaction, nil)
		require.ErrorIs(t, err, kubetest.ErrGone)
		server.Most = 0
		next := settle.Settler{Reader: server.Kept, Live: server, Writer: server, Events: events.NewFakeRecorder(10), Now: kubetest.Epoch, Outboxes: commits}
		snapshot, err := next.Observe(t.Context(), "shop")
		require.NoError(t, err)
		for _, outbox := range snapshot.Outboxes {
			require.NoError(t, next.Apply(t.Context(), "shop", relation.Deliver{Outbox: outbox}))
			require.NoError(t, next.Apply(t.Context(), "shop", relation.Deliver{Outbox: outbox}), "twice is once")
		}
		assert.Equal(t, kubetest.BagsOf(t, whole), kubetest.BagsOf(t, server), "after %d writes, of which the first is the commit point", most)
	}
}

// A leader's first commit is made on top of the earlier leader's whole transaction (SAFETY.md P1, TRUST.md T10).
func TestLeaderBuildsOnEarlierOnes(t *testing.T) {
	tests := map[string]struct {
		why   string
		first []secret.Draft
	}{
		"Bag":          {why: "the first commit of the term changes the bag"},
		"SecretBefore": {why: "the first commit of the term writes a secret alone", first: []secret.Draft{write(secret.Add, secretID, "one")}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			server, commits, _ := keeping()
			commits.Succeeded = NewSucceeded()
			server.Most = 1 // the outbox is written
			_, err := commits.Commit(t.Context(), kubetest.Commit(kubetest.Change("one", false, "user", "old", "port", "5432"), kubetest.Change("one", true, "seen", "yes")), nil)
			require.ErrorIs(t, err, kubetest.ErrGone)
			server.Most = 0
			succeedBy2(t, server)
			next := kubetest.Commit()
			next.Unit, next.PodUID, next.Term = 2, "pod-2", 4
			if tc.first != nil {
				_, err = commits.Commit(t.Context(), next, tc.first)
				require.NoError(t, err)
			}
			next.Changes = []transaction.Change{kubetest.Change("one", false, "user", "new")}
			_, err = commits.Commit(t.Context(), next, nil)
			require.NoError(t, err)
			want := map[string]map[string]string{"one/": {"user": "new", "port": "5432"}, "one/1": {"seen": "yes"}}
			assert.Equal(t, want, kubetest.BagsOf(t, server), tc.why)
			w := settle.Settler{Reader: server.Kept, Live: server, Writer: server, Events: events.NewFakeRecorder(10), Now: kubetest.Epoch, Outboxes: commits}
			require.NoError(t, w.Apply(t.Context(), "shop", relation.Deliver{Outbox: relation.Outbox{Application: "db", Unit: "1"}}))
			assert.Equal(t, want, kubetest.BagsOf(t, server), "it is delivered once")
		})
	}
}

// succeedBy2 has unit 2 lead db in term 4, after unit 1 has departed.
func succeedBy2(t *testing.T, server *kubetest.Strict) {
	t.Helper()
	var app v1alpha1.RelatedApplication
	require.NoError(t, server.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "db"}, &app))
	app.State.Units = []v1alpha1.Unit{{Number: 1, PodUID: "pod-1", DepartureReason: "replaced"}, {Number: 2, PodUID: "pod-2"}}
	require.NoError(t, server.Update(t.Context(), &app))
	convert.SetLeader(&app, leadership.Leader{Unit: 2, PodUID: "pod-2", Term: 4, Expires: kubetest.Epoch().Add(time.Minute)})
	require.NoError(t, server.Status().Update(t.Context(), &app))
}

// A transaction that a bag has no room for at delivery is dropped whole, so that the unit can write something else
// (RELATIONS.md P6, TRUST.md T10).
func TestDeliveryIsNotStuck(t *testing.T) {
	server, commits := shop()
	outbox := object.Named(&v1alpha1.Databag{}, "shop", relation.OutboxName("db", "1"))
	outbox.Spec, outbox.ResourceVersion = convert.ForOutbox("db", "1"), "6"
	large := strings.Repeat("x", databag.MaxValue+1)
	outbox.State.Transaction = &v1alpha1.Transaction{Changes: []v1alpha1.Change{
		{Relation: "r-one", RelationUID: "one", Endpoint: "main", Term: 3, Values: map[string]string{"all": large}},
		{Relation: "r-two", RelationUID: "two", Endpoint: "main", Term: 3, Values: map[string]string{"fits": "yes"}},
	}}
	server.Kept.Put(outbox)
	next := kubetest.Commit(kubetest.Change("one", true, "a", "b"), kubetest.Change("two", true, "a", "b"))
	_, err := commits.Commit(t.Context(), next, nil)
	require.ErrorContains(t, err, "dropped whole: cannot write the databag of db:main: invalid: key \"all\"", "the unit gets the reason once")
	_, err = commits.Commit(t.Context(), next, nil)
	require.NoError(t, err)
	assert.Equal(t, map[string]map[string]string{"one/1": {"a": "b"}, "two/1": {"a": "b"}}, kubetest.BagsOf(t, server))
}

func TestLead(t *testing.T) {
	server, commits := shop()
	leader, err := commits.Lead(t.Context(), "shop", "db", 2, "pod-2", false)
	require.NoError(t, err)
	assert.Equal(t, "pod-1", leader.PodUID, "one leads")
	assert.Zero(t, server.Writes)
	_, err = commits.Lead(t.Context(), "shop", "db", 1, "pod-1", true)
	require.NoError(t, err)
	leader, err = commits.Lead(t.Context(), "shop", "db", 2, "pod-2", false)
	require.NoError(t, err)
	assert.Equal(t, leadership.Leader{Unit: 2, PodUID: "pod-2", Term: 4, Expires: kubetest.Epoch().Add(time.Minute)}, leader, "who resigned is followed at once")
}

// A suspension that a unit has handled is recorded once, and not if it is over (RELATIONS.md L3).
func TestLeave(t *testing.T) {
	server, commits := shop()
	r := kubetest.Related("shop", "blog", "shop", "db")
	r.UID, r.ResourceVersion = "one", "5"
	server.Kept.Put(r)
	unit := conversation.Unit{Application: "blog", Number: 0}
	says := func() v1alpha1.RelationStatus {
		require.NoError(t, commits.Leave(t.Context(), "shop", r.Name, "one", conversation.Leave{Unit: unit, Suspension: true}))
		require.NoError(t, server.Get(t.Context(), client.ObjectKeyFromObject(r), r))
		return r.Status
	}
	assert.Empty(t, says().SuspendedUnits, "it is not suspended")
	r.Status.SuspensionTime = new(metav1.NewTime(kubetest.Epoch()))
	server.Keep(r)
	assert.Equal(t, []string{"blog/0"}, says().SuspendedUnits)
	writes := server.Writes
	says()
	assert.Equal(t, writes, server.Writes, "once")
}

// What units answer for the end of a relation is recorded in the side that owes it: each once, and also an answer that
// a unit gives again because it led when it handled the end (TRUST.md T2).
func TestAnswerEnd(t *testing.T) {
	server, commits := shop()
	blog := func(number int) conversation.Unit { return conversation.Unit{Application: "blog", Number: number} }
	d := relation.Side{
		Key: relation.Key{
			Requirer: relation.End{Namespace: "shop", Application: "blog", Endpoint: "db"},
			Provider: relation.End{Namespace: "shop", Application: "db", Endpoint: "main"},
		},
		Role: application.Requirer, Relation: "one", ID: 1, Interface: "pgsql", Known: true,
		Teardown: &relation.Teardown{Since: kubetest.Epoch(), Reason: "Deleted", Debt: conversation.Debt{Owed: []conversation.Unit{blog(0), blog(1)}}},
	}
	stored := convert.ForRelationSide(d)
	stored.ResourceVersion = "5"
	server.Kept.Put(stored)
	answers := func(identity string, unit int, handled bool) *v1alpha1.RelationSideEnd {
		require.NoError(t, commits.AnswerEnd(t.Context(), "shop", d.Name(), identity, conversation.Leave{Unit: blog(unit), Handled: handled}))
		require.NoError(t, server.Get(t.Context(), client.ObjectKeyFromObject(stored), stored))
		return stored.State.End
	}
	assert.Equal(t, []string{"blog/1"}, answers("one", 0, false).PendingUnits)
	assert.Len(t, answers("another", 1, true).PendingUnits, 1, "the side is of another relation")
	assert.Empty(t, answers("one", 1, false).State, "none of them led: the next leader inherits it")
	assert.Equal(t, v1alpha1.EndHandled, answers("one", 0, true).State)
	writes := server.Writes
	answers("one", 0, true)
	assert.Equal(t, writes, server.Writes, "once")
	require.NoError(t, commits.AnswerEnd(t.Context(), "shop", "gone", "one", conversation.Leave{Unit: blog(0), Handled: true}))
}

// slow calls before once: when an object of that name is read, or when it is written.
type slow struct {
	*kubetest.Strict

	name   string
	read   bool
	before func()
}

func (s *slow) interrupt(read bool, name string) {
	if before := s.before; before != nil && read == s.read && name == s.name {
		s.before = nil
		before()
	}
}

func (s *slow) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	s.interrupt(true, key.Name)
	return s.Strict.Get(ctx, key, into, opts...)
}

func (s *slow) Status() client.SubResourceWriter { return slowStatus{s.Strict.Status(), s} }

type slowStatus struct {
	client.SubResourceWriter

	slow *slow
}

func (s slowStatus) Update(ctx context.Context, o client.Object, opts ...client.SubResourceUpdateOption) error {
	s.slow.interrupt(false, o.GetName())
	return s.SubResourceWriter.Update(ctx, o, opts...)
}

func (s *slow) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	var options client.CreateOptions
	if options.ApplyOptions(opts); len(options.DryRun) == 0 {
		s.interrupt(false, o.GetName())
	}
	return s.Strict.Create(ctx, o, opts...)
}

func (s *slow) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	var options client.UpdateOptions
	if options.ApplyOptions(opts); len(options.DryRun) == 0 {
		s.interrupt(false, o.GetName())
	}
	return s.Strict.Update(ctx, o, opts...)
}

// A process that is late does not write an older transaction of a unit over its newer one, whether it
// delivers the older transaction or commits it (SAFETY.md E11, P1).
func TestALateProcessDoesNotOvertake(t *testing.T) {
	deliver := func(t *testing.T, live client.Client) {
		t.Helper()
		w := settle.Settler{Reader: live, Live: live, Writer: live, Events: events.NewFakeRecorder(10), Now: kubetest.Epoch}
		w.Outboxes = &Commits{Reader: live, Writer: live, Now: kubetest.Epoch}
		require.NoError(t, w.Apply(t.Context(), "shop", relation.Deliver{Outbox: relation.Outbox{Application: "db", Unit: "1"}}))
	}
	step := func(uid, n string) transaction.Change { return kubetest.Change(uid, true, "step", n) }
	bag := relation.Databag{Application: "db", Endpoint: "main", Relation: "two", Unit: "1"}.Name()
	want := map[string]map[string]string{"one/1": {"step": "1"}, "two/1": {"step": "2"}}

	t.Run("Delivery", func(t *testing.T) {
		server, commits := shop()
		server.Most = 1 // the outbox is written
		_, err := commits.Commit(t.Context(), kubetest.Commit(step("one", "1"), step("two", "1")), nil)
		require.ErrorIs(t, err, kubetest.ErrGone)
		server.Most = 0
		deliver(t, &slow{Strict: server, name: bag, read: true, before: func() {
			deliver(t, server)
			_, err := commits.Commit(t.Context(), kubetest.Commit(step("two", "2")), nil)
			require.NoError(t, err)
		}})
		assert.Equal(t, want, kubetest.BagsOf(t, server))
	})
	t.Run("Discarded", func(t *testing.T) {
		server, commits := shop()
		server.Most = 1 // the outbox is written
		_, err := commits.Commit(t.Context(), kubetest.Commit(step("one", "1"), step("two", "2")), nil)
		require.ErrorIs(t, err, kubetest.ErrGone)
		server.Most = 0
		outbox := relation.Outbox{Application: "db", Unit: "1", UID: "uid-" + relation.OutboxName("db", "1")}
		deliver(t, &slow{Strict: server, name: outbox.Name(), before: func() {
			deliver(t, server)
			w := settle.Settler{Reader: server.Kept, Live: server, Writer: server}
			require.NoError(t, w.Apply(t.Context(), "shop", relation.Discard{Outbox: outbox}))
		}})
		assert.Equal(t, want, kubetest.BagsOf(t, server), "its unit has gone, and so has the outbox")
	})
	t.Run("Commit", func(t *testing.T) {
		server, commits := shop()
		late := &slow{Strict: server, name: bag, before: func() {
			deliver(t, server)
			_, err := commits.Commit(t.Context(), kubetest.Commit(step("two", "2")), nil)
			require.NoError(t, err)
		}}
		_, err := (&Commits{Reader: late, Writer: late, Now: kubetest.Epoch}).Commit(t.Context(), kubetest.Commit(step("one", "1"), step("two", "1")), nil)
		require.NoError(t, err)
		assert.Equal(t, want, kubetest.BagsOf(t, server))
	})
	t.Run("Alone", func(t *testing.T) {
		server, commits := shop()
		late := &slow{Strict: server, name: bag, before: func() {
			_, err := commits.Commit(t.Context(), kubetest.Commit(step("one", "1"), step("two", "2")), nil)
			require.NoError(t, err)
		}}
		_, err := (&Commits{Reader: late, Writer: late, Now: kubetest.Epoch}).Commit(t.Context(), kubetest.Commit(step("two", "1")), nil)
		require.ErrorIs(t, err, transaction.ErrBusy, "which is newer is not known: the unit tries again")
		assert.Equal(t, want, kubetest.BagsOf(t, server))
	})
}

// A bag that cannot be read is not written over.
func TestCommitWritesOverNothingUnreadable(t *testing.T) {
	server, commits := shop()
	said := relation.Databag{Application: "db", Endpoint: "main", Relation: "one"}
	taken := object.Named(&v1alpha1.Databag{}, "shop", said.Name())
	taken.Spec.Application = "nobody"
	server.Keep(taken)
	writes := server.Writes
	_, err := commits.Commit(t.Context(), kubetest.Commit(kubetest.Change("one", false, "user", "a")), nil)
	require.Error(t, err)
	assert.Equal(t, writes, server.Writes)
}

// A transaction in an object whose spec does not fit is not written over.
func TestUnreadableOutboxIsNotDelivered(t *testing.T) {
	server, commits := shop()
	outbox := object.Named(&v1alpha1.Databag{}, "shop", relation.OutboxName("db", "1"))
	outbox.Spec, outbox.ResourceVersion = v1alpha1.DatabagSpec{Application: "db", Unit: "1"}, "6"
	outbox.State.Transaction = &v1alpha1.Transaction{Changes: []v1alpha1.Change{
		{Relation: "r-one", RelationUID: "one", Endpoint: "main", Term: 3, Values: map[string]string{"user": "old"}},
	}}
	server.Kept.Put(outbox)
	before := server.Writes
	_, err := commits.Commit(t.Context(), kubetest.Commit(kubetest.Change("one", true, "a", "b"), kubetest.Change("two", true, "a", "b")), nil)
	require.ErrorContains(t, err, "do not go with purpose")
	require.Error(t, commits.Deliver(t.Context(), "shop", outbox.Name))
	assert.Equal(t, before, server.Writes)
}

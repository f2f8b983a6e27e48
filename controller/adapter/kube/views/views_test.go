package views

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/history"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

func TestView(t *testing.T) {
	m := kubetest.Memory{}
	app := object.Named(&v1alpha1.RelatedApplication{}, "shop", "blog")
	app.Status.Waits = []v1alpha1.Wait{{Endpoint: "sse", Reason: "NoApplication", Message: "nobody"}}
	m.Put(app, kubetest.Related("shop", "blog", "shop", "db"), kubetest.Related("shop", "other", "shop", "db"), kubetest.DeclaredBag("shop", "db", map[string]string{"host": "here"}))
	view, err := (&Views{Reader: m}).View(t.Context(), "shop", "blog")
	require.NoError(t, err)
	require.Len(t, view.Relations, 1, "its own and no other's")
	assert.Equal(t, map[string]string{"host": "here"}, view.Bags.Bag(view.Relations[0].Shown.RemoteBag))
	assert.True(t, view.Relations[0].Shown.Complete)
	assert.Equal(t, "sse", view.Waiting[0].Endpoint)
}

// Both sides see each other's units that have an address (RELATIONS.md L2), and those that have departed
// (SAFETY.md E13).
func TestViewOfBothSides(t *testing.T) {
	m := kubetest.Memory{}
	units := func(name string, all ...v1alpha1.Unit) *v1alpha1.RelatedApplication {
		app := object.Named(&v1alpha1.RelatedApplication{}, "shop", name)
		app.State.Units = all
		return app
	}
	r := kubetest.Related("shop", "blog", "shop", "db")
	left := conversation.Departure{Unit: conversation.Unit{Application: "db", Number: 0}, Reason: "replaced", Address: "10.0.0.9", Since: kubetest.Epoch(), Debt: conversation.Debt{Owed: []conversation.Unit{{Application: "blog", Number: 2}}}}
	convert.SetDepartures(r, []conversation.Departure{left})
	m.Put(r,
		units("blog", v1alpha1.Unit{Number: 2, PodUID: "b2", Address: "10.0.0.2"}, v1alpha1.Unit{Number: 3, PodUID: "b3"}),
		units("db", v1alpha1.Unit{Number: 0, PodUID: "d0", DepartureReason: "replaced"}, v1alpha1.Unit{Number: 1, PodUID: "d1", Address: "fd00::1"}))
	look := func(name string) relation.Seen {
		view, err := (&Views{Reader: m}).View(t.Context(), "shop", name)
		require.NoError(t, err)
		require.Len(t, view.Relations, 1)
		return view.Relations[0]
	}
	blog, db := look("blog"), look("db")
	assert.EqualValues(t, "requires", blog.Shown.Role)
	assert.EqualValues(t, "provides", db.Shown.Role)
	assert.Equal(t, []conversation.Member{{Unit: conversation.Unit{Application: "db", Number: 1}, Bag: databag.RefTo(map[string]string{"ingress-address": "fd00::1", "private-address": "fd00::1", "egress-subnets": "fd00::1/128"})}}, blog.Shown.Units)
	assert.Equal(t, []conversation.Tombstone{{Unit: left.Unit, Reason: left.Reason, Since: left.Since, Bag: databag.RefTo(relation.UnitBag("10.0.0.9")), Owing: conversation.Owing{Owed: []int{2}}}}, blog.Shown.Departed, "with what it said (SAFETY.md P2)")
	assert.Empty(t, db.Shown.Departed)
	assert.Equal(t, []conversation.Member{{Unit: conversation.Unit{Application: "blog", Number: 2}, Bag: databag.RefTo(map[string]string{"ingress-address": "10.0.0.2", "private-address": "10.0.0.2", "egress-subnets": "10.0.0.2/32"})}}, db.Shown.Units,
		"a unit without an address is not seen")
	assert.False(t, db.Shown.Complete, "no gate waits for those who consume")
	view, err := (&Views{Reader: m}).View(t.Context(), "shop", "blog")
	require.NoError(t, err)
	assert.False(t, view.Heard(2).Relations[0].Unseen)
	assert.True(t, view.Heard(3).Relations[0].Unseen, "and hears nothing yet")
}

// A view shows the bags of a relation over the declared one, and no half of a transaction (SAFETY.md V5, E11).
func TestViewOfWhatIsSaid(t *testing.T) {
	m := kubetest.Memory{}
	r := kubetest.Related("shop", "blog", "shop", "db")
	r.UID = "r-1"
	said := func(app, unit string, data map[string]string) *v1alpha1.Databag {
		bag := relation.Databag{Application: app, Endpoint: "db", Relation: "r-1", Unit: unit}
		b := object.Named(&v1alpha1.Databag{}, "shop", bag.Name())
		b.Spec = convert.ForBag(bag)
		convert.SetData(b, history.Entry{}, data, nil, kubetest.Epoch())
		return b
	}
	blog, db := object.Named(&v1alpha1.RelatedApplication{}, "shop", "blog"), object.Named(&v1alpha1.RelatedApplication{}, "shop", "db")
	blog.State.Units = []v1alpha1.Unit{{Number: 2, PodUID: "b2", Address: "10.0.0.2"}}
	db.State.Units = []v1alpha1.Unit{{Number: 1, PodUID: "d1", Address: "10.0.0.1"}}
	m.Put(r, blog, db, kubetest.DeclaredBag("shop", "db", map[string]string{"host": "here", "port": "1"}),
		said("db", "", map[string]string{"port": "2"}), said("db", "1", map[string]string{"ready": "yes"}), said("blog", "2", map[string]string{"name": "b"}))
	view, err := (&Views{Reader: m}).View(t.Context(), "shop", "blog")
	require.NoError(t, err)
	seen := view.Relations[0]
	assert.Equal(t, map[string]string{"host": "here", "port": "2"}, view.Bags.Bag(seen.Shown.RemoteBag))
	assert.Equal(t, "yes", view.Bags.Bag(seen.Shown.Units[0].Bag)["ready"])
	assert.Equal(t, "10.0.0.1", view.Bags.Bag(seen.Shown.Units[0].Bag)["ingress-address"])
	assert.Equal(t, "b", view.Bags.Bag(seen.Own[0].Bag)["name"])

	outbox := object.Named(&v1alpha1.Databag{}, "shop", relation.OutboxName("db", "1"))
	outbox.Spec = convert.ForOutbox("db", "1")
	outbox.State.Transaction = &v1alpha1.Transaction{SecretWrites: []v1alpha1.SecretWrite{{}}, Changes: []v1alpha1.Change{
		{RelationUID: "r-1", Endpoint: "db", Unit: "1", Values: map[string]string{"ready": "no"}},
	}}
	m.Put(outbox)
	view, err = (&Views{Reader: m}).View(t.Context(), "shop", "blog")
	require.NoError(t, err)
	assert.Equal(t, "no", view.Bags.Bag(view.Relations[0].Shown.Units[0].Bag)["ready"], "TRUST.md T10: also with secrets")
}

// Peers see the last writer of the application's bag, unless it has declared data, which may be newer
// (RELATIONS.md E8).
func TestViewNamesTheWriter(t *testing.T) {
	m := kubetest.Memory{}
	r := kubetest.Related("shop", "ring", "shop", "ring")
	r.UID = "r-1"
	written := object.Named(&v1alpha1.Databag{}, "shop", relation.Databag{Application: "ring", Endpoint: "db", Relation: "r-1"}.Name())
	written.Spec = convert.ForBag(relation.Databag{Application: "ring", Endpoint: "db", Relation: "r-1"})
	convert.SetData(written, history.Entry{}, map[string]string{"primary": "ring/2"}, nil, kubetest.Epoch())
	written.State.Writer = "2"
	writer := func() string {
		view, err := (&Views{Reader: m}).View(t.Context(), "shop", "ring")
		require.NoError(t, err)
		return view.Relations[0].OwnWriter
	}
	m.Put(r)
	assert.Empty(t, writer(), "nobody has written")
	m.Put(written)
	assert.Equal(t, "2", writer())
	m.Put(kubetest.DeclaredBag("shop", "ring", map[string]string{"color": "red"}))
	assert.Empty(t, writer())
}

// A change of an application's units or grants is reported to its peers, a change of its conditions to itself
// alone, and a renewed lease to none.
func TestUnitsAreAnnounced(t *testing.T) {
	m := kubetest.Memory{}
	m.Put(kubetest.Related("shop", "blog", "shop", "db"))
	var told []string
	v := &Views{Reader: m, Changed: func(_, name string) { told = append(told, name) }}
	after := object.Named(&v1alpha1.RelatedApplication{}, "shop", "blog")
	change := func(change func(*v1alpha1.RelatedApplication)) []string {
		told = nil
		before := after.DeepCopy()
		change(after)
		v.changes().updated(t.Context(), "relatedapplications", before, after)
		return told
	}
	assert.Equal(t, []string{"blog"}, change(func(a *v1alpha1.RelatedApplication) { a.State.NextUnit = 4 }))
	assert.Equal(t, []string{"blog", "db"}, change(func(a *v1alpha1.RelatedApplication) {
		a.State.Units = []v1alpha1.Unit{{Number: 3, Address: "10.0.0.3"}}
	}))
	assert.Equal(t, []string{"blog", "db"}, change(func(a *v1alpha1.RelatedApplication) {
		a.State.Grants = []v1alpha1.Grant{{Endpoint: "db", Secret: "admin", Revision: 2}}
	}))
	assert.Equal(t, []string{"blog"}, change(func(a *v1alpha1.RelatedApplication) { convert.SetLeader(a, leading(3, 1, 0)) }))
	assert.Empty(t, change(func(a *v1alpha1.RelatedApplication) {
		convert.SetLeader(a, leading(3, 1, time.Minute))
		a.ResourceVersion = "9"
	}))
	assert.EqualValues(t, 9, v.Revisions()["relatedapplications"])
	assert.Equal(t, []string{"blog"}, change(func(a *v1alpha1.RelatedApplication) { convert.SetLeader(a, leading(4, 2, time.Minute)) }))
}

func leading(unit, term int, longer time.Duration) leadership.Leader {
	return leadership.Leader{Unit: unit, PodUID: fmt.Sprintf("uid-%d", unit), Term: term, Expires: kubetest.Epoch().Add(longer)}
}

// busy is a store in which a databag is written after each read of one.
type busy struct {
	kubetest.Memory
	written string
	writes  int
}

func (b *busy) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := b.Memory.Get(ctx, key, o, opts...)
	if _, isBag := o.(*v1alpha1.Databag); isBag && b.writes > 0 {
		b.writes--
		next := kubetest.DeclaredBag(key.Namespace, b.written, map[string]string{"host": "new"})
		next.ResourceVersion = "7" + strconv.Itoa(b.writes)
		b.Put(next)
	}
	return err
}

// A view shows its own bags at one moment, and waits for no others. A view that cannot be made now is made when a
// bag changes (SAFETY.md E11).
func TestViewIsOfOneMoment(t *testing.T) {
	tests := map[string]struct {
		written string
		writes  int
		want    string
	}{
		"Written once, it is read again":  {written: "db", writes: 1, want: "new"},
		"Always written, it can't be had": {written: "db", writes: 1000},
		"Others are written all the time": {written: "queue", writes: 1000, want: "here"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := &busy{kubetest.Memory{}, test.written, test.writes}
			m.Put(kubetest.Related("shop", "blog", "shop", "db"), kubetest.Related("shop", "other", "shop", "queue"),
				kubetest.DeclaredBag("shop", "db", map[string]string{"host": "here"}), kubetest.DeclaredBag("shop", "queue", map[string]string{"host": "there"}))
			view, err := (&Views{Reader: m}).View(t.Context(), "shop", "blog")
			if test.want == "" {
				require.ErrorIs(t, err, relation.ErrUnsettled)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, view.Bags.Bag(view.Relations[0].Shown.RemoteBag)["host"])
		})
	}
}

// A Relation does not open the bags of another namespace, whatever its status says, since any user can create one
// in their own. An Offer there does, while the relation is not suspended (RELATIONS.md M6, SAFETY.md M7).
func TestViewReachesWhereAnOfferLetsIt(t *testing.T) {
	offer := func(application, endpoint, consumer string) *v1alpha1.Offer {
		o := object.Named(&v1alpha1.Offer{}, "bank", "an-offer")
		o.Spec = v1alpha1.OfferSpec{Application: application, Endpoint: endpoint, Consumers: []string{consumer}}
		o.Spec.ConsumerNamespaces = []v1alpha1.NamespaceIdentity{{Name: consumer, UID: string(kubetest.NamespaceUID(consumer))}}
		return o
	}
	earlier := offer("vault", "db", "shop")
	earlier.Spec.ConsumerNamespaces[0].UID = "another"
	unseen := offer("vault", "db", "shop")
	unseen.Spec.ConsumerNamespaces = nil
	tests := map[string]struct {
		why   string
		offer *v1alpha1.Offer
		state relation.State
		opens bool
	}{
		"Consented":     {why: "M6: consent, and the controller has seen it", offer: offer("vault", "db", "shop"), state: relation.State{Offer: "an-offer"}, opens: true},
		"Replaced":      {why: "M6: another Offer covers it", offer: offer("vault", "db", "shop"), state: relation.State{Offer: "another"}, opens: true},
		"Unseen":        {why: "the controller has not opened it yet", offer: offer("vault", "db", "shop")},
		"Suspended":     {why: "M6: it has not resumed yet", offer: offer("vault", "db", "shop"), state: relation.State{Offer: "an-offer", SuspendedSince: kubetest.Epoch()}},
		"Forged":        {why: "M7: who writes a status in a namespace of their own consents for nobody", state: relation.State{Offer: "an-offer"}},
		"OtherConsumer": {why: "M7: consent for others", offer: offer("vault", "db", "office"), state: relation.State{Offer: "an-offer"}},
		"OtherEndpoint": {why: "M7: consent to something else", offer: offer("vault", "main", "shop"), state: relation.State{Offer: "an-offer"}},
		"OtherApp":      {why: "M7: consent to something else", offer: offer("safe", "db", "shop"), state: relation.State{Offer: "an-offer"}},
		"NeverOffered":  {why: "M7: a Relation made by hand"},
		"MadeAgain":     {why: "T8: consent to an earlier namespace", offer: earlier, state: relation.State{Offer: "an-offer"}},
		"BankMadeAgain": {why: "T8: a relation with an earlier namespace", offer: offer("vault", "db", "shop"), state: relation.State{Offer: "an-offer", ProviderUID: "another"}},
		"SameBank":      {why: "T8: the namespace that it was opened with", offer: offer("vault", "db", "shop"), state: relation.State{Offer: "an-offer", ProviderUID: string(kubetest.NamespaceUID("bank"))}, opens: true},
		"OlderOffer":    {why: "T8: it has opened the relation before it recorded the namespace", offer: unseen, state: relation.State{Offer: "an-offer"}, opens: true},
		"NotRecorded":   {why: "T8: it opens nothing before it has recorded the namespace", offer: unseen, state: relation.State{Offer: "another"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := kubetest.Memory{}
			r := kubetest.Related("shop", "blog", "bank", "vault")
			test.state.ID, test.state.Conditions = 7, condition.Settled("Complete", "")
			convert.KeepRelation(r, "", test.state)
			convert.SetRelation(r, test.state, kubetest.Epoch())
			m.Put(kubetest.OptedIn("shop"), kubetest.OptedIn("bank"), r, kubetest.DeclaredBag("bank", "vault", map[string]string{"account": "secret"}))
			if test.offer != nil {
				m.Put(test.offer)
			}
			view, err := (&Views{Reader: m}).View(t.Context(), "shop", "blog")
			require.NoError(t, err)
			require.Len(t, view.Relations, 1)
			assert.Equal(t, test.opens, !view.Relations[0].Shown.RemoteBag.Empty(), test.why)
			assert.Equal(t, test.opens, view.Relations[0].Shown.Complete, test.why)
		})
	}
}

// Each change of a view is reported to the applications that see it (RELATIONS.md V3).
func TestChangesAreAnnounced(t *testing.T) {
	m := kubetest.Memory{}
	blog, other := kubetest.Related("shop", "blog", "shop", "db"), kubetest.Related("shop", "other", "shop", "queue")
	m.Put(blog, other)
	abroad := kubetest.Related("shop", "blog", "bank", "vault")
	offered := abroad.DeepCopy()
	offered.Status.Offer = "to-shop"
	var told []string
	v := &Views{
		Reader:     m,
		Changed:    func(namespace, name string) { told = append(told, "application "+namespace+"/"+name) },
		PodChanged: func(namespace, name string) { told = append(told, "pod "+namespace+"/"+name) },
	}
	tests := map[string]struct {
		event any
		kind  string
		want  []string
	}{
		"Relation":    {event: blog, kind: "relations", want: []string{"application shop/blog", "application shop/db"}},
		"Abroad":      {event: abroad, kind: "relations", want: []string{"application shop/blog"}},
		"Offered":     {event: offered, kind: "relations", want: []string{"application shop/blog", "application bank/vault"}},
		"Application": {event: object.Named(&v1alpha1.RelatedApplication{}, "shop", "db"), kind: "relatedapplications", want: []string{"application shop/db"}},
		"Databag":     {event: kubetest.DeclaredBag("shop", "db", nil), kind: "databags", want: []string{"application shop/db", "application shop/blog"}},
		"Nobodys":     {event: kubetest.DeclaredBag("shop", "nobody", nil), kind: "databags", want: []string{"application shop/nobody"}},
		"Offer":       {event: &v1alpha1.Offer{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}, Spec: v1alpha1.OfferSpec{Application: "db", Endpoint: "db"}}, kind: "offers", want: []string{"application shop/db", "application shop/blog"}},
		"Pod":         {event: kubetest.PodOf("", ""), kind: "pods", want: []string{"pod shop/pod-1"}},
		"Unseen":      {event: cache.DeletedFinalStateUnknown{Obj: blog}, kind: "relations", want: []string{"application shop/blog", "application shop/db"}},
		"Garbage":     {event: "?", kind: "relations"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			told = nil
			v.changes().seen(t.Context(), test.kind, test.event)
			assert.Equal(t, test.want, told)
		})
	}
	assert.Equal(t, map[string]uint64{"relations": 5, "databags": 6, "relatedapplications": 0, "offers": 0}, v.Revisions(), "pods are no part of a view")
}

// A change of a secret is reported to its owner and consumers, also in other namespaces. There it is found by the
// name that its own namespace gives the consumer.
func TestSecretsAreAnnounced(t *testing.T) {
	m, told := kubetest.Memory{}, []string(nil)
	s := object.Named(&v1alpha1.RelatedSecret{Spec: v1alpha1.RelatedSecretSpec{Application: "db"}}, "bank", "one")
	s.State.Readers = []v1alpha1.SecretReader{{Application: "web"}, {Application: "web.shop"}}
	m.Put(s)
	v := &Views{Reader: m, Changed: func(namespace, name string) { told = append(told, namespace+"/"+name) }}
	for _, event := range []any{s, cache.DeletedFinalStateUnknown{Obj: s}} {
		told = nil
		v.changes().secretChanged(event)
		assert.Equal(t, []string{"bank/db", "bank/web", "shop/web"}, told)
	}
	for name, want := range map[string]int{"db": 1, "web": 1, "web.shop": 1, "web.other": 0} {
		found, err := v.Secrets(t.Context(), "bank", name)
		require.NoError(t, err)
		assert.Len(t, found, want, name)
	}
}

// CaughtUp is never behind Revisions, which agents receive, and may be ahead (SAFETY.md V4).
func TestCaughtUp(t *testing.T) {
	at := "9"
	store := &cache.FakeCustomStore{LastStoreSyncResourceVersionFunc: func() string { return at }}
	v := &Views{revisions: revisions{stores: map[string]cache.Store{"relations": store}}}
	v.raise("relations", 7)
	assert.Equal(t, map[string]uint64{"relations": 7}, v.Revisions())
	assert.Equal(t, map[string]uint64{"relations": 9}, v.CaughtUp())
	at = "3" // a resync may set a store back; what it holds stays
	assert.Equal(t, map[string]uint64{"relations": 7}, v.CaughtUp())
}

// BenchmarkView measures a view of an application with many units.
func BenchmarkView(b *testing.B) {
	m := kubetest.Memory{}
	app := object.Named(&v1alpha1.RelatedApplication{}, "shop", "blog")
	for i := range 1000 {
		app.State.Units = append(app.State.Units, v1alpha1.Unit{Number: int64(i), Pod: fmt.Sprintf("blog-%d", i), PodUID: fmt.Sprintf("uid-%d", i)})
	}
	m.Put(app, kubetest.Related("shop", "blog", "shop", "db"), kubetest.DeclaredBag("shop", "db", map[string]string{"host": "here"}))
	v := &Views{Reader: m}
	for b.Loop() {
		if _, err := v.View(context.Background(), "shop", "blog"); err != nil {
			b.Fatal(err)
		}
	}
}

// A transaction in an object that cannot be read is never delivered: a view that needs its writer is
// unreadable, and not about to settle.
func TestViewBesideAnUnreadableOutbox(t *testing.T) {
	m := kubetest.Memory{}
	outbox := object.Named(&v1alpha1.Databag{}, "shop", "another-name")
	outbox.Spec = convert.ForOutbox("blog", "0")
	outbox.State.Transaction = &v1alpha1.Transaction{Changes: []v1alpha1.Change{{Endpoint: "db"}}}
	m.Put(kubetest.Related("shop", "blog", "shop", "db"), outbox)
	_, err := (&Views{Reader: m}).View(t.Context(), "shop", "blog")
	require.ErrorIs(t, err, relation.ErrUnreadable)
}

// half is a store that delivers a part of a transaction after each read of a bag, until all is delivered.
type half struct {
	kubetest.Memory
	deliver []func(kubetest.Memory)
}

func (h *half) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := h.Memory.Get(ctx, key, o, opts...)
	if _, isBag := o.(*v1alpha1.Databag); isBag && len(h.deliver) > 0 {
		h.deliver[0](h.Memory)
		h.deliver = h.deliver[1:]
	}
	return err
}

// A transaction is part of a view whole from its commit point on, wherever its delivery is, and no view waits for that
// (TRUST.md T10).
func TestViewShowsWhatIsCommitted(t *testing.T) {
	bag := func(unit string, data map[string]string, at string) *v1alpha1.Databag {
		of := relation.Databag{Application: "db", Endpoint: "db", Relation: "r-1", Unit: unit}
		b := object.Named(&v1alpha1.Databag{}, "shop", of.Name())
		b.Spec, b.ResourceVersion = convert.ForBag(of), at
		convert.SetData(b, history.Entry{}, data, nil, kubetest.Epoch())
		return b
	}
	outbox := func(holds bool, at string) *v1alpha1.Databag {
		b := object.Named(&v1alpha1.Databag{}, "shop", relation.OutboxName("db", "1"))
		b.Spec, b.ResourceVersion = convert.ForOutbox("db", "1"), at
		if holds {
			b.State.Transaction = &v1alpha1.Transaction{ID: "t", Term: 2, Changes: []v1alpha1.Change{
				{Relation: "r", RelationUID: "r-1", Endpoint: "db", Term: 2, Values: map[string]string{"host": "new"}},
				{Relation: "r", RelationUID: "r-1", Endpoint: "db", Unit: "1", Values: map[string]string{"host": "new"}},
			}}
		}
		return b
	}
	post := func(m kubetest.Memory) { m.Put(outbox(true, "11")) }
	first := func(m kubetest.Memory) { m.Put(bag("", map[string]string{"host": "new"}, "12")) }
	second := func(m kubetest.Memory) { m.Put(bag("1", map[string]string{"host": "new"}, "13")) }
	empty := func(m kubetest.Memory) { m.Put(outbox(false, "14")) }
	tests := map[string]struct {
		why           string
		before, while []func(kubetest.Memory)
		want          string
	}{
		"Uncommitted":      {why: "nothing is written", want: "old"},
		"Committed":        {why: "nothing is delivered", before: []func(kubetest.Memory){post}, want: "new"},
		"Half":             {why: "one bag is delivered", before: []func(kubetest.Memory){post, first}, want: "new"},
		"Delivered":        {why: "all is", before: []func(kubetest.Memory){post, first, second, empty}, want: "new"},
		"WhileItIsRead":    {why: "all of it happens between two reads", while: []func(kubetest.Memory){func(m kubetest.Memory) { post(m); first(m); second(m); empty(m) }}, want: "new"},
		"ReadByRead":       {why: "each step happens after a read", while: []func(kubetest.Memory){post, first, second, empty}, want: "new"},
		"DeliveryMeantime": {why: "so does each step of the delivery", before: []func(kubetest.Memory){post}, while: []func(kubetest.Memory){first, second, empty}, want: "new"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := kubetest.Related("shop", "blog", "shop", "db")
			r.State.Identity = "r-1"
			db := object.Named(&v1alpha1.RelatedApplication{}, "shop", "db")
			db.State.Units = []v1alpha1.Unit{{Number: 1, PodUID: "d1", Address: "10.0.0.1"}}
			m := &half{kubetest.Memory{}, test.while}
			m.Put(r, db, bag("", map[string]string{"host": "old"}, "9"), bag("1", map[string]string{"host": "old"}, "10"))
			for _, step := range test.before {
				step(m.Memory)
			}
			v := &Views{Reader: m}
			view, err := v.View(t.Context(), "shop", "blog")
			require.NoError(t, err, test.why)
			shown := view.Relations[0].Shown
			assert.Equal(t, test.want, view.Bags.Bag(shown.RemoteBag)["host"], test.why)
			assert.Equal(t, test.want, view.Bags.Bag(shown.Units[0].Bag)["host"], test.why)
			if test.want == "new" {
				assert.GreaterOrEqual(t, v.Revisions()["databags"], uint64(11), "SAFETY.md V4: a replica without the outbox is behind")
			}
		})
	}
}

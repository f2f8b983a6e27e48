package relation

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// bank is a Reader of the Offers of namespace bank, and of the relations with it.
type bank struct {
	client.Reader
	offers    []v1alpha1.Offer
	relations []v1alpha1.Relation
}

func (b bank) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	var options client.ListOptions
	options.ApplyOptions(opts)
	field := ""
	if options.FieldSelector != nil {
		field = options.FieldSelector.String()
	}
	switch list := into.(type) {
	case *v1alpha1.OfferList:
		if options.Namespace == "bank" || field == object.ByConsumer+"=shop" {
			list.Items = b.offers
		}
	case *v1alpha1.RelationList:
		if field == object.ByProviderNamespace+"=bank" {
			list.Items = b.relations
		}
	}
	return nil
}

// refers is a World in which namespaces refer to the bank's vault.
type refers struct {
	World

	namespaces []string
}

func (r refers) Referrers(namespace, application string) []string {
	if namespace != "bank" || application != "vault" {
		return nil
	}
	return r.namespaces
}

// What happens in a namespace is looked at in others as far as Offers name them, and
// nowhere else: when something is written there must tell nothing (SAFETY.md M7).
func TestWhomAnObjectConcerns(t *testing.T) {
	in := func(namespace string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: "x"}
	}
	elsewhere := func(offer string) *v1alpha1.Relation {
		return &v1alpha1.Relation{
			ObjectMeta: in("shop"), Spec: v1alpha1.RelationSpec{Provider: v1alpha1.RelationEnd{Namespace: "bank"}},
			Status: v1alpha1.RelationStatus{Offer: offer},
		}
	}
	offer := v1alpha1.Offer{ObjectMeta: in("bank"), Spec: v1alpha1.OfferSpec{
		Application: "vault", Consumers: []string{"shop", "lab", "office", "idle"},
	}}
	till := offer
	till.Spec.Application = "till"
	made := elsewhere("an-offer")
	made.Namespace, made.Spec.Provider.Application = "office", "vault"
	other := elsewhere("an-offer")
	other.Namespace, other.Spec.Provider.Application = "idle", "safe"
	record := &v1alpha1.RelatedApplication{ObjectMeta: in("bank")}
	record.Name = "vault"
	bag := func(application, unit string) *v1alpha1.Databag {
		return &v1alpha1.Databag{ObjectMeta: in("bank"), Spec: v1alpha1.DatabagSpec{Application: application, Unit: unit}}
	}
	tests := map[string]struct {
		why    string
		object client.Object
		want   []string
	}{
		"Offer":          {why: "M6, U4: consent that comes, changes or goes, for those that refer to it or have a relation", object: &offer, want: []string{"bank", "shop", "office"}},
		"OtherOffer":     {why: "U4: no namespace asked for that", object: &till, want: []string{"bank"}},
		"Consumer":       {why: "T8: the bank records which namespace it is", object: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, want: []string{"shop", "bank"}},
		"Record":         {why: "endpoints of what is offered", object: record, want: []string{"bank", "shop", "office"}},
		"OtherRecord":    {why: "nobody was offered that", object: &v1alpha1.RelatedApplication{ObjectMeta: in("bank")}, want: []string{"bank"}},
		"OtherBag":       {why: "nobody was offered that", object: bag("till", ""), want: []string{"bank"}},
		"UnitBag":        {why: "what units say is not negotiated", object: bag("vault", "0"), want: []string{"bank"}},
		"Bag":            {why: "data of what is offered", object: bag("vault", ""), want: []string{"bank", "shop", "office"}},
		"Namespace":      {why: "M6: who opts out has withdrawn", object: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bank"}}, want: []string{"bank", "shop", "office"}},
		"Service":        {why: "its record tells what it means", object: &corev1.Service{ObjectMeta: in("bank")}, want: []string{"bank"}},
		"WithoutOffers":  {why: "M7: nobody was named", object: &v1alpha1.Databag{ObjectMeta: in("vault")}, want: []string{"vault"}},
		"Opened":         {why: "the provider keeps its bags and is told", object: elsewhere("an-offer"), want: []string{"shop", "bank"}},
		"NeverOpened":    {why: "M7: it is nothing to the provider", object: elsewhere(""), want: []string{"shop"}},
		"InOneNamespace": {why: "as ever", object: &v1alpha1.Relation{ObjectMeta: in("shop")}, want: []string{"shop"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := neighbours{
				bank{offers: []v1alpha1.Offer{offer}, relations: []v1alpha1.Relation{*made, *other}}, refers{namespaces: []string{"shop", "stranger"}},
			}
			assert.Equal(t, test.want, n.concerned(t.Context(), test.object), test.why)
		})
	}
}

// asked is a queue that notes which namespaces it is asked to settle.
type asked struct {
	queue

	namespaces []string
}

func (a *asked) AddAfter(r reconcile.Request, _ time.Duration) {
	a.namespaces = append(a.namespaces, r.Name)
}

// How a provider and its units say that they are settles their own namespace, which
// tells people, and not those of a hundred consumers; what these go by does.
func TestWhomAChangeConcerns(t *testing.T) {
	all := []string{"bank", "shop"}
	tests := map[string]struct {
		why    string
		change func(*v1alpha1.RelatedApplication)
		want   []string
	}{
		"Renewed": {why: "nobody", change: func(a *v1alpha1.RelatedApplication) {
			a.Status.Leader.ExpirationTime = metav1.NewMicroTime(time.Unix(9, 0))
		}},
		"UnitSays":  {why: "condition ApplicationStatus", change: func(a *v1alpha1.RelatedApplication) { a.Status.Reports[0].Workload = &v1alpha1.WorkloadStatus{} }, want: all[:1]},
		"Failing":   {why: "condition HandlerFailed", change: func(a *v1alpha1.RelatedApplication) { a.Status.Reports[0].Failure = &v1alpha1.Failure{} }, want: all[:1]},
		"Says":      {why: "its leader says so", change: func(a *v1alpha1.RelatedApplication) { a.Status.Workload = &v1alpha1.WorkloadStatus{} }, want: all[:1]},
		"Told":      {why: "people are told", change: func(a *v1alpha1.RelatedApplication) { a.Status.Conditions = []metav1.Condition{{}} }, want: all[:1]},
		"Gone":      {why: "it departs from its consumers too", change: func(a *v1alpha1.RelatedApplication) { a.State.Units[0].DepartureReason = "Replaced" }, want: all},
		"Endpoints": {why: "what is offered", change: func(a *v1alpha1.RelatedApplication) { a.Status.Endpoints = make([]v1alpha1.Endpoint, 1) }, want: all},
	}
	reader := bank{offers: []v1alpha1.Offer{{ObjectMeta: metav1.ObjectMeta{Namespace: "bank"}, Spec: v1alpha1.OfferSpec{Application: "vault", Consumers: []string{"shop"}}}}}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := &v1alpha1.RelatedApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "bank", Name: "vault", ResourceVersion: "1"}}
			before.Status.Leader, before.State.Units = &v1alpha1.Leader{}, []v1alpha1.Unit{{Number: 0}}
			before.Status.Reports = []v1alpha1.Report{{Unit: 0}}
			after, q := before.DeepCopy(), &asked{}
			after.ResourceVersion = "2"
			test.change(after)
			(&Reconciler{refers{namespaces: []string{"shop"}}}).settleLater(reader).Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
			assert.Equal(t, test.want, q.namespaces, test.why)
		})
	}
}

// hiccup is a reader whose first list fails.
type hiccup struct {
	client.Reader

	failed *bool
}

func (h hiccup) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	if !*h.failed {
		*h.failed = true
		return errors.New("the cache is not there")
	}
	return h.Reader.List(ctx, into, opts...)
}

// A change whose namespaces cannot be listed is not lost: nothing repeats its event.
func TestAFailedListIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := bank{offers: []v1alpha1.Offer{{ObjectMeta: metav1.ObjectMeta{Namespace: "bank"}, Spec: v1alpha1.OfferSpec{Application: "vault", Consumers: []string{"shop"}}}}}
		app := &v1alpha1.RelatedApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "bank", Name: "vault"}}
		assert.Equal(t, []string{"bank", "shop"}, neighbours{hiccup{reader, new(bool)}, refers{namespaces: []string{"shop"}}}.concerned(t.Context(), app))
	})
}

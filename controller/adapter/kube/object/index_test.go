package object_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// relation returns a relation of web in shop.
func relation(provider v1alpha1.RelationEnd, offer string) *v1alpha1.Relation {
	r := object.Named(&v1alpha1.Relation{}, "shop", "web-db")
	r.Spec.Requirer, r.Spec.Provider = v1alpha1.RelationEnd{Application: "web", Endpoint: "db"}, provider
	r.Status.Offer = offer
	return r
}

func TestKeys(t *testing.T) {
	here := relation(v1alpha1.RelationEnd{Application: "db", Endpoint: "db"}, "")
	same := relation(v1alpha1.RelationEnd{Namespace: "shop", Application: "db", Endpoint: "db"}, "")
	asked := relation(v1alpha1.RelationEnd{Namespace: "data", Application: "db", Endpoint: "db"}, "")
	offered := relation(v1alpha1.RelationEnd{Namespace: "data", Application: "db", Endpoint: "db"}, "all")
	full := object.Named(&v1alpha1.Databag{}, "shop", "db-0-outbox")
	full.Spec.Application, full.State.Transaction = "db", &v1alpha1.Transaction{Changes: []v1alpha1.Change{{Endpoint: "db"}}}
	empty := object.Named(&v1alpha1.Databag{}, "shop", "db-1-outbox")
	read := object.Named(&v1alpha1.RelatedSecret{}, "shop", "c6b9fk2t7m0q3v8x1z5d")
	read.Spec.Application = "db"
	read.State.Readers = []v1alpha1.SecretReader{{Application: "web.office"}, {Application: "db"}, {Application: "web.office", Unit: "1"}}
	tests := map[string]struct {
		why   string
		field string
		of    client.Object
		want  []string
	}{
		"Requirer":      {"its namespace is the relation's", object.ByRequirer, here, []string{"shop/web"}},
		"Provider":      {"of the same namespace", object.ByProvider, here, []string{"shop/db"}},
		"ProviderNamed": {"the same, written out", object.ByProvider, same, []string{"shop/db"}},
		"ProviderAsked": {"SAFETY.md M7: without consent the provider does not see it", object.ByProvider, asked, nil},
		"ProviderOpen":  {"SAFETY.md M7: with consent it does", object.ByProvider, offered, []string{"data/db"}},
		"Namespace":     {"consent or not, its namespace answers", object.ByProviderNamespace, asked, []string{"data"}},
		"OwnNamespace":  {"a relation within one namespace", object.ByProviderNamespace, same, nil},
		"Consumers":     {"each namespace", object.ByConsumer, &v1alpha1.Offer{Spec: v1alpha1.OfferSpec{Consumers: []string{"shop", "blog"}}}, []string{"shop", "blog"}},
		"Full":          {"a transaction waits", object.ByPending, full, []string{"shop/db", "shop/"}},
		"Empty":         {"none does", object.ByPending, empty, nil},
		"Concerned":     {"owner and readers, each once", object.ByConcerned, read, []string{"shop/db", "shop/web.office"}},
		"OtherKind":     {"an index of one kind has no keys of another", object.ByConcerned, &corev1.Pod{}, nil},
		"Unknown":       {"an index that does not exist", "spec.relation", here, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, object.Keys(tc.field, tc.of), tc.why)
		})
	}
}

// indexer notes the indexes that are declared, and refuses one.
type indexer struct {
	refused string
	fields  []string
}

func (i *indexer) IndexField(_ context.Context, _ client.Object, field string, _ client.IndexerFunc) error {
	if field == i.refused {
		return errors.New("declared already")
	}
	i.fields = append(i.fields, field)
	return nil
}

func TestIndex(t *testing.T) {
	all := &indexer{}
	require.NoError(t, object.Index(t.Context(), all))
	assert.ElementsMatch(t, []string{
		object.ByRequirer, object.ByProvider, object.ByProviderNamespace, object.ByConsumer, object.ByPending, object.ByConcerned,
		object.BySide, object.ByOtherNamespace,
	}, all.fields)
	err := object.Index(t.Context(), &indexer{refused: object.ByConsumer})
	require.ErrorContains(t, err, "cannot index *v1alpha1.Offer by consumer: declared already")
}

// The fake server of the unit tests finds by the same keys as the caches.
func TestTheFakeHasTheIndexes(t *testing.T) {
	m := kubetest.Memory{}
	m.Put(relation(v1alpha1.RelationEnd{Application: "db", Endpoint: "db"}, ""))
	for key, want := range map[string]int{"shop/web": 1, "shop/db": 0} {
		var list v1alpha1.RelationList
		require.NoError(t, m.List(t.Context(), &list, client.MatchingFields{object.ByRequirer: key}))
		assert.Len(t, list.Items, want, key)
	}
}

// An index of one kind has no keys of another, and fails on none.
func TestKeysOfOtherKinds(t *testing.T) {
	own := map[string]client.Object{
		object.ByRequirer: &v1alpha1.Relation{}, object.ByProvider: &v1alpha1.Relation{}, object.ByProviderNamespace: &v1alpha1.Relation{},
		object.ByConsumer: &v1alpha1.Offer{}, object.ByPending: &v1alpha1.Databag{}, object.ByConcerned: &v1alpha1.RelatedSecret{},
	}
	for field, kind := range own {
		for _, other := range []client.Object{
			&v1alpha1.Relation{}, &v1alpha1.Offer{}, &v1alpha1.Databag{}, &v1alpha1.RelatedSecret{}, &v1alpha1.RelatedApplication{}, &corev1.Pod{},
		} {
			if reflect.TypeOf(kind) != reflect.TypeOf(other) {
				assert.Emptyf(t, object.Keys(field, other), "%s of %T", field, other)
			}
		}
	}
}

func TestAt(t *testing.T) {
	m := kubetest.Memory{}
	m.Put(relation(v1alpha1.RelationEnd{Namespace: "data", Application: "db", Endpoint: "db"}, "all"))
	for _, at := range []client.MatchingFields{object.At(object.ByRequirer, "shop", "web"), object.At(object.ByProvider, "data", "db")} {
		var list v1alpha1.RelationList
		require.NoError(t, m.List(t.Context(), &list, at))
		assert.Len(t, list.Items, 1, "%v", at)
	}
}

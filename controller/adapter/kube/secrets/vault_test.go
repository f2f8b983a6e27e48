package secrets

import (
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// grantedVault returns a vault with a secret of db that blog may read, of the shop and of the office.
func grantedVault(t *testing.T) (*kubetest.Strict, *Secrets, *Vault) {
	t.Helper()
	server, commits, secrets := vault()
	r := kubetest.Borrowed()
	server.Kept.Put(r, kubetest.OfferTo("office"))
	abroad := secret.Draft{Write: secret.Write{Kind: secret.Grant, ID: secretID, Access: secret.Access{
		Relation: "abroad", Name: r.Name, Namespace: "office", Application: "blog.office",
	}}}
	_, err := commits.Commit(t.Context(), kubetest.Commit(), drafts(adds(secretID, "hunter2"), does(secret.Grant, secretID), abroad))
	require.NoError(t, err)
	_, err = reads(t, secrets, secret.Query{})
	require.NoError(t, err)
	_, err = secrets.Secret(t.Context(), []secret.Visitor{
		{Unit: secret.Unit{Application: "blog.office", Number: "0"}, Namespace: "shop", Related: []string{"db"}},
	}, secretID, secret.Query{})
	require.NoError(t, err)
	return server, secrets, &Vault{Contents: secrets.Contents, Cached: server}
}

func TestNamespaces(t *testing.T) {
	m := kubetest.Memory{}
	m.Put(kubetest.OptedIn("shop"))
	all, err := (&Vault{Cached: m}).Namespaces(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"shop"}, all)
	down := errors.New("the API server is out of reach")
	_, err = (&Vault{Cached: kubetest.Silent{Failed: down}}).Namespaces(t.Context())
	require.ErrorIs(t, err, down)
}

// A sweep sees what a namespace's secrets depend on, in its own and in other namespaces.
func TestObserve(t *testing.T) {
	server, _, v := grantedVault(t)
	lost := kubetest.Related("shop", "blog", "shop", "cache")
	lost.State.Identity = "lost"
	server.Kept.Put(owing(lost, 0))
	s, err := v.Observe(t.Context(), "shop")
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"one", "abroad", "lost"}, s.Relations)
	assert.Len(t, s.Secrets, 1)
	assert.Empty(t, s.Marks, "its content is committed")
	assert.False(t, s.Busy)
	assert.NotContains(t, s.Units, "blog.office", "the record of its application does not exist")
}

// A namespace with something unreadable is not swept (SAFETY.md E13).
func TestObserveFails(t *testing.T) {
	for _, kind := range []reflect.Type{
		reflect.TypeFor[*corev1.Secret](), reflect.TypeFor[*v1alpha1.DatabagList](), reflect.TypeFor[*v1alpha1.RelatedSecretList](),
		reflect.TypeFor[*v1alpha1.RelationList](), reflect.TypeFor[*v1alpha1.RelationSideList](), reflect.TypeFor[*v1alpha1.RelatedApplicationList](),
		reflect.TypeFor[*v1alpha1.Relation](), reflect.TypeFor[*v1alpha1.RelatedApplication](),
	} {
		t.Run(kind.String(), func(t *testing.T) {
			server, _, v := grantedVault(t)
			v.Reader = kubetest.Failing{Reader: server, Kind: kind}
			_, err := v.Observe(t.Context(), "shop")
			require.Error(t, err)
		})
	}
}

// A transaction that is to be delivered may name what no secret names yet.
func TestObserveBusy(t *testing.T) {
	server, _, v := grantedVault(t)
	outbox := object.Named(&v1alpha1.Databag{}, "shop", "db-1")
	outbox.Spec = convert.ForOutbox("db", "1")
	outbox.State.Transaction = &v1alpha1.Transaction{Changes: []v1alpha1.Change{{Relation: "r-one", RelationUID: "one", Endpoint: "main"}}}
	server.Kept.Put(outbox)
	s, err := v.Observe(t.Context(), "shop")
	require.NoError(t, err)
	assert.True(t, s.Busy)
}

// A secret that is gone needs no sweep, and a decision that is not known here is an error.
func TestApply(t *testing.T) {
	server, secrets, v := grantedVault(t)
	require.NoError(t, v.Apply(t.Context(), "shop", secret.End{ID: secretID}))
	require.Error(t, server.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: secretID}, &v1alpha1.RelatedSecret{}))
	assert.Empty(t, contentOf(t, server))
	require.NoError(t, v.Apply(t.Context(), "shop", secret.End{ID: secretID}), "twice is once")
	require.Error(t, v.Apply(t.Context(), "shop", nil))
	tombstone := object.Named(&v1alpha1.RelatedSecret{}, "shop", secretID)
	convert.SetSecret(tombstone, secret.Secret{Removed: v.Now()})
	server.Kept.Put(tombstone)
	require.NoError(t, v.Apply(t.Context(), "shop", secret.Drop{ID: secretID}))
	require.Error(t, server.Get(t.Context(), client.ObjectKeyFromObject(tombstone), tombstone))
	stateless := object.Named(&v1alpha1.RelatedSecret{}, "shop", otherID)
	server.Kept.Put(stateless)
	for _, d := range []secret.Decision{secret.End{ID: otherID}, secret.LetGo{ID: otherID, Relations: []string{"one"}}} {
		require.NoError(t, v.Apply(t.Context(), "shop", d))
		require.NoError(t, server.Get(t.Context(), client.ObjectKeyFromObject(stateless), stateless), "nothing is known of it any more")
	}
	_, err := reads(t, secrets, secret.Query{})
	assert.Equal(t, conversation.Gone, conversation.RefusalOf(err))
}

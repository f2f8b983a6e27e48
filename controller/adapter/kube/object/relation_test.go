package object_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// A Relation is found by its identity, also in another name (TRUST.md A11).
func TestRelationOf(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	named := func(name, identity string) *v1alpha1.Relation {
		return &v1alpha1.Relation{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, State: v1alpha1.RelationState{Identity: identity},
		}
	}
	elsewhere := named("other", "c")
	elsewhere.Namespace = "bank"
	held, heir := named("held", "h"), named("heir", "h")
	held.State.ID, heir.State.ID = 7, 7
	held.Status.HoldTime, held.Status.HoldReason = &metav1.Time{Time: time.Unix(100, 0)}, "DeclarationGone"
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(named("first", "a"), named("second", "b"), elsewhere, held, heir).Build()
	tests := map[string]struct{ why, name, identity, want string }{
		"Named":     {why: "it has its name", name: "first", identity: "a", want: "first"},
		"Succeeded": {why: "another one has its identity", name: "gone", identity: "b", want: "second"},
		"Heir":      {why: "another one has taken it over, and it is still there", name: "held", identity: "h", want: "heir"},
		"Other":     {why: "the name is that of another relation", name: "first", identity: "b", want: "second"},
		"None":      {why: "it is gone", name: "first", identity: "z"},
		"Elsewhere": {why: "it is in another namespace", name: "other", identity: "c"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := object.RelationOf(t.Context(), c, client.ObjectKey{Namespace: "shop", Name: tc.name}, tc.identity)
			require.NoError(t, err)
			if tc.want == "" {
				assert.Nil(t, r, tc.why)
				return
			}
			require.NotNil(t, r, tc.why)
			assert.Equal(t, tc.want, r.Name, tc.why)
		})
	}
	broken := errors.New("broken")
	fails := interceptor.NewClient(c, interceptor.Funcs{Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
		return broken
	}})
	_, err := object.RelationOf(t.Context(), fails, client.ObjectKey{Namespace: "shop", Name: "first"}, "a")
	require.ErrorIs(t, err, broken)
}

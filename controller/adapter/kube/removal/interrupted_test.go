package removal

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// The work stops at a relation that cannot be ended, and Orcon stays after all. The ends of the relations that go on are not
// confirmed: should many end one day, they still wait for a person (TRUST.md T4).
func TestAnInterruptionConfirmsNothingElse(t *testing.T) {
	another := key()
	another.Requirer.Application = "zoo"
	r := convert.ForPair("shop", relation.Pair{Key: another, Interface: "pg"})
	convert.KeepRelation(r, "another", relation.State{ID: 2, Offer: "to-the-shop"})
	side := convert.ForRelationSide(relation.Side{
		Key: another, Role: application.Provider, Relation: "another", ID: 8, Interface: "pg", Known: true,
	})
	w := newWorld(t, append(related(false), r, side, definition("relations"))...)
	refused := errors.New("refused")
	w.client = interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{ //nolint:forcetypeassert // it is the builder's
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return refused },
	})
	require.ErrorIs(t, Ends{w.Cluster}.All(t.Context()), refused)
	require.NoError(t, w.client.Get(t.Context(), client.ObjectKeyFromObject(side), side))
	assert.Empty(t, side.Annotations[v1alpha1.EndKey])
}

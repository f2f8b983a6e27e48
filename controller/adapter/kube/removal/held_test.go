package removal

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// Ends were held, and their Relations are gone, when all is to end. The user confirms them with it: Orcon is not taken away
// before the controller has found that and handlers have run (TRUST.md T1, T4).
func TestAllWaitsForEndsThatWereHeld(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "bank", Name: "vault", UID: "p", Labels: map[string]string{application.KeyInjected: "true"},
	}}
	w := newWorld(t, append(related(false)[1:], definition("relations"), optedIn("bank"), pod)...)
	ctx := context.Background()
	side := w.side()
	side.State.End = &v1alpha1.RelationSideEnd{Reason: "Deleted", Time: metav1.Unix(1, 0), PendingUnits: []string{"vault/4"}, State: v1alpha1.EndHeld}
	require.NoError(t, w.client.Update(ctx, side))
	census, err := w.Census(ctx)
	require.NoError(t, err)
	assert.Len(t, census.Unhandled(), 1, "its handlers are named before")

	looks, handled := 0, false
	w.handles = func() {
		side := w.side()
		switch looks++; {
		case looks < 3 || handled:
		case side.State.End.State == v1alpha1.EndHeld:
			require.Equal(t, v1alpha1.EndConfirm, side.Annotations[v1alpha1.EndKey])
			side.State.End.State = ""
			require.NoError(t, w.client.Update(ctx, side))
		default:
			handled = true
			require.NoError(t, w.client.Delete(ctx, side))
		}
	}
	require.NoError(t, Ends{w.Cluster}.All(t.Context()))
	assert.True(t, handled)
}

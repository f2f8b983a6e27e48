package commits

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// A record that was lost, or restored from a backup, has lost terms too, and what was written in them outranks its leader.
// The leader then takes a term above them, and writes again (TRUST.md T5, SAFETY.md P1).
func TestLeaderOutranksTermsOfALostRecord(t *testing.T) {
	change := kubetest.Commit(kubetest.Change("one", false, "user", "b"))
	for name, tc := range map[string]struct {
		// earlier stores something in a term.
		earlier func(t *testing.T, r *replicas, term int64)
		write   func(t *testing.T, r *replicas, term int) error
	}{
		"Bag": {
			earlier: func(t *testing.T, r *replicas, term int64) {
				bag := object.Named(&v1alpha1.Databag{}, "shop", relation.Databag{Application: "db", Endpoint: "main", Relation: "one"}.Name())
				require.NoError(t, r.server.Get(t.Context(), client.ObjectKeyFromObject(bag), bag))
				bag.State.Term = term
				r.server.Keep(bag)
			},
			write: func(t *testing.T, r *replicas, term int) error {
				in := change
				in.Term = term
				_, err := r.all[0].Commit(t.Context(), in, []secret.Draft(nil))
				return err
			},
		},
		"Status": {
			earlier: func(t *testing.T, r *replicas, term int64) {
				one := object.Named(&v1alpha1.Relation{}, "shop", "r-one")
				require.NoError(t, r.server.Get(t.Context(), client.ObjectKeyFromObject(one), one))
				one.Status.ProviderStatus = &v1alpha1.SideStatus{Term: term}
				r.server.Keep(one)
			},
			write: func(t *testing.T, r *replicas, term int) error {
				one := object.Named(&v1alpha1.Relation{}, "shop", "r-one")
				require.NoError(t, r.server.Get(t.Context(), client.ObjectKeyFromObject(one), one))
				c := r.all[0]
				return (&Statuses{Reader: c.Reader, Writer: c.Writer, Now: c.Now, Leases: c.Leases}).SetSide(t.Context(), pod("pod-1", term),
					relation.SideRef{Namespace: "shop", Name: one.Name, UID: one.State.Identity, Role: application.Provider}, status.Info{State: status.Blocked})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := replicasOf(t.Context(), 0)
			require.True(t, r.writes(t, 0))
			tc.earlier(t, r, 9)
			require.ErrorIs(t, tc.write(t, r, 3), transaction.ErrDeposed)
			r.now = r.now.Add(20 * time.Second)
			leader, leads := r.lead(t, 0, 1, false)
			require.True(t, leads, "it leads on")
			assert.Equal(t, 10, leader.Term)
			require.NoError(t, tc.write(t, r, leader.Term))
			require.ErrorIs(t, tc.write(t, r, 3), transaction.ErrDeposed, "of the term before")
			r.now = r.now.Add(20 * time.Second)
			leader, _ = r.lead(t, 0, 1, false)
			assert.Equal(t, 10, leader.Term, "that raises nothing")
		})
	}
}

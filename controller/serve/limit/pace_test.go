package limit

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/budget"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
)

// TRUST.md U3: however many pods of a namespace request as much as they can, each has at most its rate, all together
// have the namespace's, a pod elsewhere waits for nothing, and a request that waits is refused or answered in time.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, began := NewBudgets(&shop{}, &shop{}, time.Now), time.Now()
		const lasts, pods = time.Minute, 40
		var admitted, refused atomic.Int64
		perPod := make([]atomic.Int64, pods)
		for n := range pods * 8 {
			id := identity.Identity{Namespace: "shop", UID: fmt.Sprint(n % pods), Pod: "p"}
			go func() {
				for time.Since(began) < lasts {
					asked := time.Now()
					if err := b.Pace(t.Context(), id, relationsv1alpha1connect.RelationsServiceGetSecretProcedure); err != nil {
						refused.Add(1)
						<-time.After(50 * time.Millisecond)
						continue
					}
					assert.LessOrEqual(t, time.Since(asked), LongestHold)
					admitted.Add(1)
					perPod[n%pods].Add(1)
					<-time.After(time.Millisecond)
				}
			}()
		}
		quiet := identity.Identity{Namespace: "library", UID: "quiet", Pod: "quiet"}
		for time.Since(began) < lasts {
			asked := time.Now()
			require.NoError(t, b.Pace(t.Context(), quiet, relationsv1alpha1connect.RelationsServiceGetSecretProcedure))
			assert.Zero(t, time.Since(asked), "a neighbour waits for nothing")
			<-time.After(500 * time.Millisecond)
		}
		<-time.After(LongestHold + time.Second)
		limits, passed := budget.Reads(), (lasts + LongestHold).Seconds()
		t.Logf("%d pods: %d requests admitted, %d refused", pods, admitted.Load(), refused.Load())
		assert.LessOrEqual(t, float64(admitted.Load()), limits.Namespace.Burst.Commits+limits.Namespace.Rate.Commits*passed)
		assert.GreaterOrEqual(t, float64(admitted.Load()), limits.Namespace.Burst.Commits+limits.Namespace.Rate.Commits*(lasts-time.Second).Seconds())
		assert.Positive(t, refused.Load())
		for i := range perPod {
			assert.LessOrEqual(t, float64(perPod[i].Load()), limits.Unit.Burst.Commits+limits.Unit.Rate.Commits*passed)
		}
	})
}

// What was read and sent for a pod is a debt of it, in the lane of the request; its other lanes and other pods go on.
func TestChargesDelayTheNext(t *testing.T) {
	tests := map[string]struct {
		why, pod, procedure string
		kind                connect.Code
	}{
		"Same":   {"it has used up its budget", "uid-blog-1", relationsv1alpha1connect.RelationsServiceGetProcedure, connect.CodeResourceExhausted},
		"Data":   {"all requests for data have one budget", "uid-blog-1", relationsv1alpha1connect.RelationsServiceCommitProcedure, connect.CodeResourceExhausted},
		"Stream": {"streams have their own", "uid-blog-1", relationsv1alpha1connect.RelationsServiceConverseProcedure, 0},
		"Leader": {"so has leadership", "uid-blog-1", relationsv1alpha1connect.RelationsServiceLeadProcedure, 0},
		"Other":  {"another pod", "uid-blog-2", relationsv1alpha1connect.RelationsServiceGetProcedure, 0},
		"None":   {"a pod that is not known by its token yet", "", relationsv1alpha1connect.RelationsServiceGetProcedure, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1e9, 0)
			b := NewBudgets(&shop{}, &shop{}, func() time.Time { return now })
			b.Charge(blog1(), relationsv1alpha1connect.RelationsServiceGetProcedure, budget.UnitReadByteBurst+60*budget.UnitReadBytes)
			id := blog1()
			id.UID = tc.pod
			err := b.Pace(t.Context(), id, tc.procedure)
			if tc.kind == 0 {
				require.NoError(t, err, tc.why)
				return
			}
			assert.Equal(t, tc.kind, connect.CodeOf(err), tc.why)
			now = now.Add(time.Hour)
			require.NoError(t, b.Pace(t.Context(), id, tc.procedure), "it is paid off")
		})
	}
}

// A request whose caller goes is not held until its turn.
func TestPaceEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudgets(&shop{}, &shop{}, time.Now)
		one := budget.Cost{Commits: budget.Reads().Unit.Burst.Commits}
		b.reads.Spend(budget.Writer{Namespace: "shop", Unit: "uid-blog-1"}, one, time.Now())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		require.ErrorIs(t, b.Pace(ctx, blog1(), relationsv1alpha1connect.RelationsServiceGetProcedure), context.Canceled)
		assert.Zero(t, time.Since(began))
	})
}

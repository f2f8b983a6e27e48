package job

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

// Two leaders at once: the first ends a Run that a newer one supersedes, and while it does, the second, whose cache does not
// have the newer one, gives that Run the lock. It is withdrawn, or ends by itself if its pod was first, and the newer one gets
// the lock.
func TestTwoLeaders(t *testing.T) {
	for label, claimed := range map[string]bool{"Withdrawn": false, "Claimed": true} {
		t.Run(label, func(t *testing.T) { twoLeaders(t, claimed) })
	}
}

func twoLeaders(t *testing.T, claimed bool) {
	t.Helper()
	w := newWorld(t)
	w.change(func(o *v1alpha1.JobWorkspace) { o.Spec.Concurrency = "SupersedeQueued" })
	w.pass(w.process(), 0)
	w.run("one")
	w.run("two")
	second := w.process()
	second.Client = interceptor.NewClient(second.Client.(client.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			err := c.List(ctx, list, options...)
			if runs, ok := list.(*v1alpha1.JobRunList); ok {
				runs.Items = runs.Items[:1]
			}
			return err
		},
	})
	first, raced := w.process(), false
	first.Client = interceptor.NewClient(first.Client.(client.WithWatch), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			if run, ok := o.(*v1alpha1.JobRun); ok && run.State.End != nil && !raced {
				raced = true
				w.writes = 1 // its next one comes later
				_, err := second.Reconcile(ctx, request())
				require.ErrorIs(t, err, errDead)
				w.writes = -1
				require.Equal(t, "one", w.workspace().State.Lock.Run.Name)
				if claimed {
					w.claim()
				}
			}
			return c.Patch(ctx, o, p, options...)
		},
	})
	_ = w.live(first)
	require.True(t, raced)
	require.Equal(t, "Superseded", w.get("one").State.End.Reason)
	r := w.process()
	if claimed {
		w.pass(r, time.Second)
		require.Equal(t, "one", w.workspace().State.Lock.Run.Name)
		w.finish(0, "sha256:1")
	}
	for range 5 {
		w.pass(r, time.Second)
	}
	assert.Equal(t, "two", w.workspace().State.Lock.Run.Name, w.of("two"))
	assert.Len(t, w.pods, 1)
}

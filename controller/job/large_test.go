package job

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

// A Run whose input the API server does not store, since it is too large, ends, and holds nothing else up: neither the end of
// the Run that has the lock, nor the next one.
func TestInputIsTooLarge(t *testing.T) {
	for label, full := range map[string]error{
		"API server": apierrors.NewRequestEntityTooLargeError("limit is 3145728"), "etcd": errors.New("etcdserver: request is too large"),
	} {
		t.Run(label, func(t *testing.T) {
			w, r := started(t, true)
			r.Client = interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{
				Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
					if run, ok := o.(*v1alpha1.JobRun); ok && run.Name == "large" && run.State.Input != nil {
						return full
					}
					return c.Patch(ctx, o, p, options...)
				},
			})
			w.run("large")
			w.run("small")
			w.finish(0, "sha256:1")
			require.NoError(t, w.live(r))
			assert.Contains(t, w.of("one"), "Ready Succeeded")
			assert.Contains(t, w.of("large"), "Stalled Refused: its input is too large for a JobRun: give JobWorkspace db fewer or shorter parameters")
			assert.Equal(t, "small", w.current().attempt.Run)
		})
	}
}

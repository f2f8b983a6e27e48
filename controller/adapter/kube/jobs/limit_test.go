package jobs

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
)

// narrow is a writer of objects up to a size.
type narrow struct {
	client.Writer

	most int
	full error
}

// Patch implements client.Writer.
func (n narrow) Patch(ctx context.Context, o client.Object, p client.Patch, options ...client.PatchOption) error {
	if text, err := p.Data(o); err != nil || len(text) > n.most {
		return errors.Join(err, n.full)
	}
	return n.Writer.Patch(ctx, o, p, options...)
}

// JOBS.md J9: outputs that make a JobRun too large for the API server keep no end from being recorded. They are left out, and
// the report tells why.
func TestReportIsTooLarge(t *testing.T) {
	for label, full := range map[string]error{
		"API server": apierrors.NewRequestEntityTooLargeError("limit is 3145728"), "etcd": errors.New("etcdserver: request is too large"),
	} {
		t.Run(label, func(t *testing.T) {
			template, w, r, p := shop(t)
			world := newWorld(t, template, w, r, p)
			port := Runs{Objects: world.objects(), Writer: narrow{world, 100 << 10, full}}
			report := serve.Report{Fence: 4, Outputs: `{"page":"` + strings.Repeat("x", 200<<10) + `"}`, Message: "it failed"}
			require.NoError(t, port.Report(t.Context(), "r-uid", report))
			var o v1alpha1.JobRun
			require.NoError(t, world.Get(t.Context(), client.ObjectKeyFromObject(r), &o))
			assert.NotNil(t, o.State.Input)
			assert.Equal(t, &v1alpha1.JobReport{Fence: 4, Message: "its outputs are not kept, since the JobRun would be too large: write less into " +
				"outputs.json, or give fewer parameters; it failed"}, o.State.Report)
			require.NoError(t, port.Report(t.Context(), "r-uid", report), "the keeper sends it again")
		})
	}
}

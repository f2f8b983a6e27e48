package counts

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
)

// counted returns the record of a namespace whose last relation had an id.
func counted(id int64) *v1alpha1.RelatedNamespace {
	record := object.Named(&v1alpha1.RelatedNamespace{}, "shop", v1alpha1.NamespaceRecord)
	record.ResourceVersion, record.State.LastRelation = "5", id
	return record
}

// counting returns a server whose namespace has had relations with ids up to one, 0 for none, and a counter of it.
func counting(id int64) (*kubetest.Strict, Counter) {
	server := kubetest.Shop()
	if id > 0 {
		server.Kept.Put(counted(id))
	}
	return server, Counter{Cached: server, Live: server, Writer: server}
}

// last returns the count of the namespace.
func last(t *testing.T, server *kubetest.Strict) int64 {
	t.Helper()
	record, err := recordIn(t.Context(), server, "shop")
	require.NoError(t, err)
	return record.State.LastRelation
}

// refusing returns a function that refuses a write with an error, nil for none.
func refusing(err error) func(client.Object) error { return func(client.Object) error { return err } }

// A count is raised by a conditional write, at the cost of the pod, and by none if it is as high (TRUST.md T3).
func TestRaise(t *testing.T) {
	away, poor := errors.New("the API server is away"), errors.New("write less")
	ending := &apierrors.StatusError{ErrStatus: metav1.Status{
		Reason: metav1.StatusReasonForbidden, Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}},
	}}
	tests := map[string]struct {
		why                 string
		shown, stored       int64
		received            int
		budget, refuse, err error
		want                int64
		paid, writes        int
	}{
		"Restored": {why: "the backup is older", shown: 7, stored: 7, received: 9, want: 9, paid: 1, writes: 1},
		"None":     {why: "the backup had no relation", received: 9, want: 9, paid: 1, writes: 1},
		"Known":    {why: "each agent names one that is counted", shown: 9, stored: 9, received: 9, want: 9},
		"Late":     {why: "the cache is late", shown: 7, stored: 11, received: 9, want: 11, paid: 1},
		"TooFar":   {why: "it cannot have been given, and the agent is served", shown: 7, stored: 7, received: 1 << 40, want: 7, paid: 1},
		"Ending":   {why: "no relation gets an id there, and the agent is served", received: 9, refuse: ending, paid: 1},
		"Refused":  {why: "the agent tries again", shown: 7, stored: 7, received: 9, refuse: away, err: away, want: 7, paid: 1},
		"Poor":     {why: "TRUST.md U1", shown: 7, stored: 7, received: 9, budget: poor, err: poor, want: 7, paid: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server, counter := counting(test.stored)
			server.Refuses = refusing(test.refuse)
			counter.Cached, _ = counting(test.shown)
			paid := 0
			err := counter.Raise(t.Context(), identity.Identity{Namespace: "shop", Pod: "blog-1"}, test.received, func(context.Context) error {
				paid++
				return test.budget
			})
			require.ErrorIs(t, err, test.err)
			assert.Equal(t, test.want, last(t, server), test.why)
			assert.Equal(t, test.paid, paid, test.why)
			assert.Equal(t, test.writes, server.Writes, test.why)
		})
	}
}

// late is a client whose first write comes after that of another process.
type late struct {
	client.Client

	other func()
}

func (l *late) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	if other := l.other; other != nil {
		l.other = nil
		other()
	}
	return l.Client.Update(ctx, o, opts...)
}

// A count that two processes raise is the higher one.
func TestRaiseBesideAnother(t *testing.T) {
	server, another := counting(7)
	counter := another
	counter.Writer = &late{server, func() { require.NoError(t, another.raise(t.Context(), "shop", 12)) }}
	require.NoError(t, counter.raise(t.Context(), "shop", 9))
	assert.EqualValues(t, 12, last(t, server))
}

// A replica that goes on while the store is restored raises the counts that fell to those that it has seen: its streams go
// on too, so that no agent says hello (TRUST.md T3).
func TestCountsThatFall(t *testing.T) {
	tests := map[string]struct {
		why           string
		before, after any
		stored, want  int64
	}{
		"Fell":    {why: "the store was restored", before: counted(9), after: counted(7), stored: 7, want: 9},
		"Gone":    {why: "the backup had no relation", before: counted(9), want: 9},
		"Unseen":  {why: "it went while the watch was down", before: toolscache.DeletedFinalStateUnknown{Obj: counted(9)}, want: 9},
		"Rose":    {why: "a relation was made", before: counted(7), after: counted(8), stored: 7, want: 7},
		"Unknown": {why: "nothing is known of what went", before: toolscache.DeletedFinalStateUnknown{}, stored: 8, want: 8},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server, counter := counting(test.stored)
			counter.keep(t.Context(), test.before, test.after)
			assert.Equal(t, test.want, last(t, server), test.why)
		})
	}
}

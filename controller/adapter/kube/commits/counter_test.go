package commits

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
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
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

// A count is raised by a conditional write, and by none where it is as high (TRUST.md T3).
func TestRaise(t *testing.T) {
	ending := &apierrors.StatusError{ErrStatus: metav1.Status{
		Reason: metav1.StatusReasonForbidden, Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}},
	}}
	tests := map[string]struct {
		why          string
		stored       int64
		received     int
		refuses, err error
		want, writes int
	}{
		"Restored": {why: "the backup is older", stored: 7, received: 9, want: 9, writes: 1},
		"None":     {why: "the backup had no relation", received: 9, want: 9, writes: 1},
		"Known":    {why: "the cache was late", stored: 9, received: 9, want: 9},
		"Higher":   {why: "it never falls", stored: 11, received: 9, want: 11},
		"TooFar":   {why: "it cannot have been given", stored: 7, received: 1 << 40, err: relation.ErrFarAhead, want: 7},
		"Ending":   {why: "no relation gets an id there, and the units are served", received: 9, refuses: ending},
		"Refused":  {why: "the agent tries again", stored: 7, received: 9, refuses: errAway, err: errAway, want: 7},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server, counter := counting(test.stored)
			if test.refuses != nil {
				server.Refuses = func(client.Object) error { return test.refuses }
			}
			require.ErrorIs(t, counter.Raise(t.Context(), "shop", test.received), test.err)
			last, err := counter.LastRelation(t.Context(), "shop")
			require.NoError(t, err)
			assert.Equal(t, test.want, last, test.why)
			assert.Equal(t, test.writes, server.Writes, test.why)
		})
	}
}

var errAway = errors.New("the API server is away")

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

// Of two processes that raise a count, none lowers it.
func TestRaiseBesideAnother(t *testing.T) {
	server, counter := counting(7)
	counter.Writer = &late{server, func() { require.NoError(t, Counter{server, server, server}.Raise(t.Context(), "shop", 12)) }}
	require.NoError(t, counter.Raise(t.Context(), "shop", 9))
	last, err := counter.LastRelation(t.Context(), "shop")
	require.NoError(t, err)
	assert.Equal(t, 12, last)
}

// A replica that goes on while the store is restored raises the counts that fell to those that it has seen: its streams go
// on too, so that no agent says hello (TRUST.md T3).
func TestCountsThatFall(t *testing.T) {
	tests := map[string]struct {
		why           string
		before, after any
		stored        int64
		want          int
	}{
		"Fell":    {why: "the store was restored", before: counted(9), after: counted(7), stored: 7, want: 9},
		"Gone":    {why: "the backup had no relation", before: counted(9), want: 9},
		"Unseen":  {why: "it went while the watch was down", before: toolscache.DeletedFinalStateUnknown{Obj: counted(9)}, want: 9},
		"Rose":    {why: "a relation was made", before: counted(7), after: counted(8), stored: 8, want: 8},
		"Unknown": {why: "nothing is known of what went", before: toolscache.DeletedFinalStateUnknown{}, stored: 8, want: 8},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, counter := counting(test.stored)
			counter.keep(t.Context(), test.before, test.after)
			last, err := counter.LastRelation(t.Context(), "shop")
			require.NoError(t, err)
			assert.Equal(t, test.want, last, test.why)
		})
	}
}

package removal

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// A unit is there that does not handle the end, as when its handler fails: what is waited for is reported, and the error of
// the deadline names the command that goes on without it (TRUST.md T1).
func TestAllNamesTheEndThatKeepsItWaiting(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "bank", Name: "vault", UID: "p", Labels: map[string]string{application.KeyInjected: "true"},
	}}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, append(related(false), definition("relations"), optedIn("shop"), optedIn("bank"), pod)...)
		w.handles = func() {
			do := w.handles
			w.handles = func() {}
			w.lets()
			w.handles = do
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := Ends{w.Cluster}.All(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		cure := "bank/vault (main, with web.shop:store), which orcon status -n bank explains; to end it without its handler: " +
			"orcon ends waive " + w.side().Name + " -n bank"
		require.ErrorContains(t, err, cure)
		assert.Contains(t, w.reports, "waits for ends that are still being handled: 1, the first by "+cure)
		assert.Len(t, slices.DeleteFunc(w.reports, func(r string) bool { return !strings.HasPrefix(r, "waits for ") }), 1, "once")
	})
}

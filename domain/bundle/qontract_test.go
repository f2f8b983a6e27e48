package bundle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// FLEET-DESIGN.md 11: what Qontract manages is taken only by policy Take, and only when it was left alone for an hour.
func TestQontract(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		policy   bundle.ConflictPolicy
		key      string
		update   string
		verb     bundle.Verb
		conflict string
	}{
		"Prevent":   {bundle.Prevent, "integration", "2020-01-01T00:00:00", bundle.None, "is managed by Qontract integration x: delete it"},
		"Unowned":   {bundle.AdoptUnowned, "integration", "2020-01-01T00:00:00", bundle.None, "conflicts: Take"},
		"Caller":    {bundle.AdoptUnowned, "caller_name", "2020-01-01T00:00:00", bundle.None, "is managed by Qontract caller x"},
		"Busy":      {bundle.TakeAll, "integration", "2026-01-02T02:04:06", bundle.None, "wrote it at 2026-01-02T02:04:06Z, less than an hour ago"},
		"BusyZone":  {bundle.TakeAll, "integration", "2026-01-02T03:00:00Z", bundle.None, "less than an hour ago"},
		"Idle":      {bundle.TakeAll, "integration", "2026-01-02T02:04:05", bundle.Take, ""},
		"NoTime":    {bundle.TakeAll, "integration", "", bundle.Take, ""},
		"FalseTime": {bundle.TakeAll, "integration", "yesterday", bundle.Take, ""},
	} {
		t.Run(name, func(t *testing.T) {
			web := object("Deployment web")
			marks := map[string]any{"qontract." + c.key: "x", "qontract.update": c.update}
			live := map[bundle.ID]bundle.Live{web.ID(): is(web, "", map[string]any{"annotations": marks})}
			p := draft(t, live, func(in *bundle.Intent) { in.Conflicts, in.Now = c.policy, now }, web)
			require.Len(t, p.Actions, 1)
			assert.Equal(t, c.verb, p.Actions[0].Verb)
			if c.conflict == "" {
				assert.Empty(t, p.Conflicts)
				assert.Contains(t, p.Actions[0].Why, "; pod template unchanged")
				return
			}
			require.Len(t, p.Conflicts, 1)
			assert.Contains(t, p.Conflicts[0].String(), c.conflict)
		})
	}
}

package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// TRUST.md A6: pods whose agent is too old to receive their data are named, with the command that replaces them, as long
// as that is reported.
func TestAgentOutdated(t *testing.T) {
	for name, test := range map[string]struct {
		kind     application.WorkloadKind
		outdated []time.Duration // before now, of each pod
		want     string
	}{
		"New":      {application.Deployment, []time.Duration{-1}, ""},
		"Old":      {application.Deployment, []time.Duration{0}, "web-0: kubectl rollout restart deployment/web -n shop"},
		"Several":  {application.Deployment, []time.Duration{time.Minute, -1, 0}, "web-0, web-2: kubectl rollout restart deployment/web -n shop"},
		"Replaced": {application.Deployment, []time.Duration{2 * time.Minute}, ""},
		"Job":      {application.Job, []time.Duration{0}, "web-0: delete it and create it again"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.external("db", "main:pg")
			w.workload(test.kind, "web", map[string]string{application.KeyConsumes: "store:pg", application.KeyRelations: "db"})
			for i := range test.outdated {
				w.pod(test.kind, "web", "web-"+string(rune('0'+i)))
			}
			w.settle(t)
			record := w.records["web"]
			for i, ago := range test.outdated {
				if ago >= 0 {
					record.State.Units[i].Outdated = w.now.Add(-ago)
				}
			}
			w.records["web"] = record
			w.settle(t)
			if test.want == "" {
				assert.Zero(t, w.says("web", condition.AgentOutdated))
				return
			}
			c := w.says("web", condition.AgentOutdated)
			assert.Equal(t, "no change reaches these pods, whose databags are more than the 16 MiB that their older agents accept: "+test.want,
				c.Message)
			assert.False(t, w.says("web", condition.Ready).True)
			assert.True(t, w.says("web", condition.Stalled).True, "a person must replace the pods")
			_, explained := condition.Explain(c.Type, c.Reason)
			assert.True(t, explained)
			w.later(t, 2*time.Minute)
			assert.Zero(t, w.says("web", condition.AgentOutdated), "it is over, or it would have been reported again")
			assert.True(t, w.says("web", condition.Ready).True)
		})
	}
}

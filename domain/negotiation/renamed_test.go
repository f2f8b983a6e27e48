package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// While a workload whose application is renamed rolls out, the pods of the template before are units of the application that
// they were made for, which have not departed, and not of the one that their workload is of now (SAFETY.md A1, TRUST.md T11).
func TestApplicationRenamed(t *testing.T) {
	for name, test := range map[string]struct{ before, after string }{
		"Renamed": {"shop", "store"},
		"Named":   {"", "store"},
		"Unnamed": {"shop", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.external("db", "main:pg")
			declare := func(application string) {
				w.consumes("web", "store:pg", "db")
				if application != "" {
					w.consumes("web", "store:pg", "db", "tengu.io/application", application)
				}
			}
			pod := func(pod, of string) {
				w.pod(application.Deployment, "web", pod)
				p := w.pods[pod]
				p.Address, p.Annotations = "10.0.0.1", map[string]string{}
				if of != "" {
					p.Annotations[application.KeyApplication] = of
				}
				w.pods[pod] = p
			}
			was, is := test.before, test.after
			if was == "" {
				was = "web"
			}
			if is == "" {
				is = "web"
			}
			declare(test.before)
			pod("web-old", test.before)
			w.settle(t)
			require.Len(t, w.records[was].State.Units, 1)

			declare(test.after)
			w.settle(t)
			assert.Empty(t, w.records[was].State.Units[0].Gone, "it still serves")
			assert.Empty(t, w.records[is].State.Units)
			pod("web-new", test.after)
			w.settle(t)
			require.Len(t, w.records[is].State.Units, 1)
			assert.Equal(t, "web-new", w.records[is].State.Units[0].Pod)

			delete(w.pods, "web-old")
			w.later(t, time.Minute)
			assert.NotEmpty(t, w.records[was].State.Units[0].Gone)
			assert.Len(t, w.records[is].State.Units, 1)
		})
	}
}

// A workload whose name an older one has taken is ignored. Its pods serve all the same, so that its units have not departed
// (TRUST.md T11).
func TestUnitsOfAnIgnoredWorkload(t *testing.T) {
	w := newWorld()
	w.workload(application.CronJob, "db", map[string]string{application.KeyApplication: "backup"})
	w.now = w.now.Add(time.Minute)
	w.deployment("db", map[string]string{application.KeyProvides: "main:pg"})
	w.handling(application.Deployment, "db", "db-0")
	w.consumes("web", "store:pg", "db")
	w.settle(t)
	w.workload(application.CronJob, "db", nil)
	w.settle(t)
	require.NotContains(t, w.records["db"].State.Sources, "Deployment/db")
	assert.Empty(t, w.records["db"].State.Units[0].Gone)
	delete(w.pods, "db-0")
	w.settle(t)
	assert.Equal(t, application.GoneReplaced, w.records["db"].State.Units[0].Gone)
}

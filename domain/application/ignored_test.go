package application_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// The earliest of three objects has the name, not the one that only came before the last
// (SAFETY.md A1).
func TestIgnoredForTheEarliest(t *testing.T) {
	const provides = application.KeyProvides
	_, ignored := application.Gather(application.Inventory{
		Namespace: "shop",
		Workloads: []application.Workload{
			workload(application.StatefulSet, "db", 7, provides, "later"),
			workload(application.Deployment, "db", 3, provides, "earlier"),
		},
		Services: []application.Service{external("db", 5, provides, "main:pg")},
	})
	require.Len(t, ignored, 2)
	for _, f := range ignored {
		assert.Contains(t, f.Message, "the name db belongs to Deployment db")
	}
}

// The pods that wait for an ignored workload are listed: those that have an agent and
// live.
func TestIgnoredPods(t *testing.T) {
	pod := func(name string, change func(p *application.Pod)) application.Pod {
		p := application.Pod{OwnerKind: application.StatefulSet, OwnerName: "db", Injected: true}
		p.Name = name
		change(&p)
		return p
	}
	_, ignored := application.Gather(application.Inventory{
		Namespace: "shop",
		Workloads: []application.Workload{
			workload(application.StatefulSet, "db", 7, application.KeyConsumes, "store"),
			workload(application.Deployment, "db", 3),
		},
		Pods: []application.Pod{
			pod("db-1", func(*application.Pod) {}), pod("db-0", func(*application.Pod) {}),
			pod("bare", func(p *application.Pod) { p.Injected = false }),
			pod("over", func(p *application.Pod) { p.Finished = true }),
			pod("ends", func(p *application.Pod) { p.Ending = true }),
			pod("of-the-other", func(p *application.Pod) { p.OwnerKind = application.Deployment }),
		},
	})
	require.Len(t, ignored, 1)
	assert.Equal(t, []string{"db-0", "db-1"}, ignored[0].Pods)
}

// Of three objects of one second the Deployment has the name, whatever their UIDs are.
func TestOneSecond(t *testing.T) {
	const provides = application.KeyProvides
	for _, uids := range [][2]string{{"a", "b"}, {"b", "a"}} {
		all := application.Inventory{
			Namespace: "shop",
			Workloads: []application.Workload{
				workload(application.StatefulSet, "db", 3, provides, "one"), workload(application.Deployment, "db", 3, provides, "two"),
				workload(application.CronJob, "db", 3),
			},
			Services: []application.Service{external("db", 3, provides, "main:pg")},
		}
		all.Workloads[0].UID, all.Workloads[1].UID = uids[0], uids[1]
		_, ignored := application.Gather(all)
		require.Len(t, ignored, 2)
		for _, f := range ignored {
			assert.Contains(t, f.Message, "the name db belongs to Deployment db", "SAFETY.md A1")
		}
	}
}

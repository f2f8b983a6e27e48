package application_test

import (
	"strings"
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

// A workload whose name no Relation has room for, or no reference can name, is ignored with its fault, as is a Service
// that selects it: its pods would wait for ever, and nothing would say why (SAFETY.md A1, TRUST.md A4).
func TestUnnamable(t *testing.T) {
	const cure = "; set tengu.io/application on its pod template"
	long := strings.Repeat("w", 64)
	tests := map[string]struct {
		why       string
		workload  application.Workload
		services  []application.Service
		want, out string
	}{
		"Long": {why: "a Relation names 63 characters", workload: workload(application.Deployment, long, 0, application.KeyConsumes, "db"),
			out: "LongName: Deployment " + long + " exists but is ignored: the name of an application has at most 63 characters" + cure},
		"LongMended": {why: "the cure cures", want: "web",
			workload: workload(application.Deployment, long, 0, application.KeyApplication, "web", application.KeyConsumes, "db")},
		"Longest": {why: "63 fit", workload: workload(application.Deployment, long[1:], 0, application.KeyConsumes, "db"), want: long[1:]},
		"LongPod": {why: "a bare pod has a name too", workload: workload(application.BarePod, long, 0, application.KeyConsumes, "db"),
			out: "LongName: Pod " + long + " exists but is ignored: the name of an application has at most 63 characters" + cure},
		"Quiet": {why: "it declares nothing", workload: workload(application.Deployment, long, 0)},
		"LongBehindAService": {why: "the Service does select something", workload: workload(application.Deployment, long, 0),
			services: []application.Service{selecting("db", 0, long, application.KeyProvides, "pg")},
			out: "LongName: Service db exists but is ignored: it selects Deployment " + long + ", and the name of an application has at most 63 characters" +
				cure},
		"DotBehindAService": {why: "as with a dot", workload: workload(application.Deployment, "web.v2", 0),
			services: []application.Service{selecting("db", 0, "web.v2", application.KeyProvides, "pg")},
			out:      "DotInName: Service db exists but is ignored: it selects Deployment web.v2, and the name of an application must not contain a dot" + cure},
		"OtherLabels": {why: "and not of a Service that selects something else", workload: workload(application.Deployment, "web.v2", 0),
			services: []application.Service{{Object: object("db", 0, pairs([]string{application.KeyProvides, "pg"})), Selector: map[string]string{"app": "web.v2", "a": "b"}}},
			out:      "SelectsNothing: Service db exists but is ignored: its selector matches no workload or pod"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			all, ignored := application.Gather(application.Inventory{Namespace: "shop", Workloads: []application.Workload{tc.workload}, Services: tc.services})
			if tc.want != "" {
				require.Len(t, all, 1, tc.why)
				assert.Equal(t, tc.want, all[0].Name, tc.why)
			} else {
				assert.Empty(t, all, tc.why)
			}
			var out []string
			for _, f := range ignored {
				out = append(out, f.Reason+": "+f.Message)
			}
			assert.Equal(t, tc.out, strings.Join(out, "\n"), tc.why)
		})
	}
}

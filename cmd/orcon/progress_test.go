package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	engine "gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// A log says what holds a run up once, and each half minute for how long already; what was
// done is said at once.
func TestProgressInALog(t *testing.T) {
	began := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	now := began
	var out bytes.Buffer
	p := &progress{out: &out, now: func() time.Time { return now }}
	web := bundle.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	waits := engine.Progress{Revision: 1, Next: bundle.Next{All: 2, Finished: 1, Waits: []bundle.Wait{
		{ID: bundle.ID{Kind: "Pod", Name: "later"}, For: "phase workloads"}, {ID: web, For: "Replicas: 0/1", Since: began},
	}}}
	for range 64 {
		p.tell(waits)
		now = now.Add(time.Second)
	}
	const line = "revision 1, 1 of 2 healthy: Deployment.apps shop/web: Replicas: 0/1"
	assert.Equal(t, line+"\n"+line+" (30s)\n"+line+" (1m0s)\n", out.String())

	out.Reset()
	waits.Next.Apply = []bundle.Write{{Object: bundle.Object{"kind": "Service", "metadata": map[string]any{"name": "web"}}}}
	p.tell(waits)
	assert.Equal(t, "creates Service web\n"+line+"\n", out.String())
}

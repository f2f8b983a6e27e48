package bundle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Canaries are healthy before other workloads change (FLEET-DESIGN 7).
func TestCanaries(t *testing.T) {
	objects := []bundle.Object{
		object("ConfigMap settings"), object("Deployment web-b"), object("Deployment web-a"), object("StatefulSet web-c"), object("Deployment web-a-1"),
	}
	s, err := bundle.Order(objects, "*-c", "web-a-?")
	require.NoError(t, err)
	assert.Equal(t, []string{"ConfigMap settings", "Deployment web-a-1", "StatefulSet web-c", "Deployment web-a", "Deployment web-b"}, names(s))
	for _, item := range s {
		var after []bundle.ID
		for _, e := range item.After {
			assert.Equal(t, "it is a canary", e.Why)
			after = append(after, e.To)
		}
		if item.ID.Name == "web-a" || item.ID.Name == "web-b" {
			assert.ElementsMatch(t, []bundle.ID{id("Deployment web-a-1"), id("StatefulSet web-c")}, after)
		} else {
			assert.Empty(t, after, item.ID)
		}
	}
	p := draft(t, nil, func(in *bundle.Intent) { in.Sequence = s })
	live := map[bundle.ID]bundle.Live{}
	for _, item := range s[:2] {
		live[item.ID] = applied(item, nil)
	}
	live[s[2].ID] = applied(s[2], func(l *bundle.Live) { l.Health = bundle.InProgress })
	next := bundle.Step(p, bundle.Record{}, live, bundle.Pace{Now: noon()})
	assert.Empty(t, next.Apply)
	assert.Contains(t, next.Waits[1].String(), "StatefulSet shop/web-c")

	none, err := bundle.Order(objects, "other", "[")
	require.NoError(t, err)
	assert.Equal(t, order(t, objects...), none, "patterns that match nothing change nothing")
	_, err = bundle.Order([]bundle.Object{object("Deployment web-a", "after=Deployment/web-b"), object("Deployment web-b")}, "web-a")
	assert.ErrorContains(t, err, "remove one of the edges (annotation orcon.tengu.io/after, or spec.canaries)")
}

package bundle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

func TestDrifted(t *testing.T) {
	tests := map[string]struct {
		why  string
		in   bundle.Drifted
		want string
	}{
		"Deleted": {why: "the object is gone", in: bundle.Drifted{ID: id("Service web"), Deleted: true}, want: "Service shop/web was deleted"},
		"Fields":  {why: "the fields say where to look", in: bundle.Drifted{ID: id("Deployment web"), Fields: []string{"spec.replicas", "spec.paused"}}, want: "Deployment shop/web was changed (spec.replicas, spec.paused)"},
		"Many":    {why: "an Event is short", in: bundle.Drifted{ID: id("ConfigMap a"), Fields: []string{"data.a", "data.b", "data.c", "data.d", "data.e"}}, want: "ConfigMap shop/a was changed (data.a, data.b, data.c and 2 more)"},
		"Unknown": {why: "only Orcon's own marks differ", in: bundle.Drifted{ID: id("ConfigMap a")}, want: "ConfigMap shop/a was changed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, test.in.String(), test.why) })
	}
}

// What Correct writes is what others deleted or changed, and a Secret shows no value.
func TestCorrectNamesDrift(t *testing.T) {
	web, settings, password := object("Service web"), object("ConfigMap settings"), object("Secret password")
	record, live := inventory(t, web, settings, password)
	p := draft(t, live, func(in *bundle.Intent) { in.Record = record }, web, settings, password)
	for _, item := range p.Sequence {
		live[item.ID] = applied(item, func(l *bundle.Live) {
			switch item.ID.Kind {
			case "ConfigMap":
				l.Changes = []bundle.Change{{Path: "data.colour", Before: `"red"`, After: `"blue"`}, {Path: "metadata.annotations." + bundle.DigestKey}}
			case "Secret":
				l.Changes = []bundle.Change{{Path: "data.password", Before: `"c2VjcmV0"`, After: `"b3RoZXI="`}}
			}
		})
	}
	live[web.ID()] = bundle.Live{}
	next := bundle.Correct(p, record, live, bundle.Pace{Now: noon()})
	assert.Equal(t, []bundle.Drifted{
		{ID: settings.ID(), Fields: []string{"data.colour"}}, {ID: password.ID(), Fields: []string{"data.password"}}, {ID: web.ID(), Deleted: true},
	}, next.Drifted(live))
}

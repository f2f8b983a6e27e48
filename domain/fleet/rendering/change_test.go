package rendering_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/rendering"
)

// stateful returns a StatefulSet with one claim.
func stateful(size, class, label string) bundle.Object {
	claim := fields{"metadata": fields{"name": "cache"}, "spec": fields{"storageClassName": class, "resources": fields{"requests": fields{"storage": size}}}}
	o := workload("StatefulSet", "web", fields{})
	o["spec"] = fields{"selector": fields{"matchLabels": fields{"app": label}}, "volumeClaimTemplates": []any{claim}, "replicas": int64(1)}
	return o
}

// selecting returns a workload with a selector.
func selecting(kind, name string, selector any) bundle.Object {
	o := workload(kind, name, fields{})
	o["spec"] = fields{"selector": selector}
	return o
}

// labels returns a selector of labels, given as name and value in turn.
func labels(pairs ...string) fields {
	all := fields{}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return fields{"matchLabels": all}
}

// What no update can bring about is shown as what happens instead (FLEET.md C3, FLEET-DESIGN.md 17).
func TestEffects(t *testing.T) {
	deployment := func(name string) bundle.Object { return workload("Deployment", name, fields{}) }
	scaled := stateful("1Gi", "gp2", "a")
	scaled["spec"].(fields)["replicas"] = int64(0) //nolint:forcetypeassert // made above
	elsewhere := workload("Deployment", "web", fields{})
	elsewhere["metadata"] = fields{"name": "web", "namespace": "other"}
	tests := map[string]struct {
		why           string
		before, after []bundle.Object
		want          string
	}{
		"Same":      {"nothing changes", []bundle.Object{stateful("1Gi", "gp2", "a")}, []bundle.Object{stateful("1Gi", "gp2", "a")}, ""},
		"Scaled":    {"an update", []bundle.Object{stateful("1Gi", "gp2", "a")}, []bundle.Object{scaled}, ""},
		"Size":      {"claims cannot change", []bundle.Object{stateful("1Gi", "gp2", "a")}, []bundle.Object{stateful("2Gi", "gp2", "a")}, rendering.RecreateKeepingClaim},
		"Class":     {"claims cannot change", []bundle.Object{stateful("1Gi", "gp2", "a")}, []bundle.Object{stateful("1Gi", "gp3", "a")}, rendering.RecreateKeepingClaim},
		"Selector":  {"selectors cannot change", []bundle.Object{stateful("1Gi", "gp2", "a")}, []bundle.Object{stateful("1Gi", "gp2", "b")}, rendering.Recreate},
		"Service":   {"those of Services can", []bundle.Object{selecting("Service", "web", labels("a", "b"))}, []bundle.Object{selecting("Service", "web", labels("a", "c"))}, ""},
		"Kind":      {"the old one is deleted first", []bundle.Object{deployment("web")}, []bundle.Object{stateful("1Gi", "gp2", "a")}, "takes the place of Deployment web, which is deleted first"},
		"Kinds":     {"the first of two", []bundle.Object{workload("Deployment", "web", fields{}), workload("DaemonSet", "web", fields{}), workload("CronJob", "web", fields{})}, []bundle.Object{stateful("1Gi", "gp2", "a")}, "takes the place of CronJob web, which is deleted first"},
		"OtherName": {"two workloads", []bundle.Object{deployment("x")}, []bundle.Object{stateful("1Gi", "gp2", "a")}, ""},
		"Namespace": {"two workloads", []bundle.Object{elsewhere}, []bundle.Object{stateful("1Gi", "gp2", "a")}, ""},
		"Beside":    {"the other one stays", []bundle.Object{deployment("web")}, []bundle.Object{deployment("web"), stateful("1Gi", "gp2", "a")}, ""},
		"New":       {"nothing was there", nil, []bundle.Object{deployment("web")}, ""},
		"Gone":      {"nothing follows", []bundle.Object{deployment("web")}, nil, ""},
		"Pods":      {"a Service has no pods of its own", []bundle.Object{selecting("Service", "web", labels("a", "b"))}, []bundle.Object{deployment("web")}, ""},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			effects := rendering.Effects(tc.before, tc.after)
			if tc.want == "" {
				assert.Empty(t, effects, tc.why)
				return
			}
			assert.Equal(t, map[bundle.ID]string{{Group: "apps", Kind: "StatefulSet", Name: "web"}: tc.want}, effects, tc.why)
		})
	}
}

// Workloads that select the same pods are found, in one namespace only (FLEET.md C3).
func TestShared(t *testing.T) {
	expression := fields{"matchExpressions": []any{fields{"key": "a", "operator": "Exists"}}}
	tests := map[string]struct {
		why  string
		all  []bundle.Object
		want []string
	}{
		"Different": {"own pods", []bundle.Object{selecting("Deployment", "a", labels("app", "a")), selecting("Deployment", "b", labels("app", "b"))}, nil},
		"Shards": {
			"one finding for all", []bundle.Object{
				selecting("Deployment", "a-2", labels("app", "a", "b", "c")), selecting("StatefulSet", "a-0", labels("b", "c", "app", "a")),
				selecting("Deployment", "a-1", labels("app", "a", "b", "c")), selecting("Deployment", "a-3", labels("app", "a", "b", "c")),
			}, []string{"Deployment a-1: its selector (app=a, b=c) is also that of a-2, a-3 and 1 more"},
		},
		"Groups": {
			"in the order of names", []bundle.Object{
				selecting("Deployment", "d", labels("app", "d")), selecting("Deployment", "c", labels("app", "c")), selecting("Deployment", "b", labels("app", "b")),
				selecting("Deployment", "d2", labels("app", "d")), selecting("Deployment", "c2", labels("app", "c")), selecting("Deployment", "b2", labels("app", "b")),
			}, []string{
				"Deployment b: its selector (app=b) is also that of b2", "Deployment c: its selector (app=c) is also that of c2",
				"Deployment d: its selector (app=d) is also that of d2",
			},
		},
		"Expressions": {"all of the selector counts", []bundle.Object{selecting("Deployment", "a", expression), selecting("Deployment", "b", expression)},
			[]string{`Deployment a: its selector ({"matchExpressions":[{"key":"a","operator":"Exists"}]}) is also that of b`}},
		"Services": {"they share pods on purpose", []bundle.Object{selecting("Service", "a", fields{"app": "a"}), selecting("Service", "b", fields{"app": "a"})}, nil},
		"None":     {"the API server refuses it", []bundle.Object{selecting("Deployment", "a", nil), selecting("Deployment", "b", nil)}, nil},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			var got []string
			for _, f := range rendering.Shared(rendering.Selectors(tc.all, "")) {
				got = append(got, f.Object.String()+": "+f.Reason)
			}
			assert.Equal(t, tc.want, got, tc.why)
		})
	}
	one := []bundle.Object{selecting("Deployment", "a", labels("app", "a"))}
	other := []bundle.Object{selecting("Deployment", "b", labels("app", "a"))}
	assert.Empty(t, rendering.Shared(append(rendering.Selectors(one, "x"), rendering.Selectors(other, "y")...)), "pods of other namespaces are never selected")
	assert.Len(t, rendering.Shared(append(rendering.Selectors(one, "x"), rendering.Selectors(other, "x")...)), 1, "members of one namespace")
}

package injection_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// A pod finds the copy of its own application's data by what it shows itself, and none unless its author asked for that
// (TRUST.md A1, SAFETY.md I21).
func TestStaleCopy(t *testing.T) {
	owner := func(kind, name string) []injection.Owner {
		return []injection.Owner{{Kind: kind, Name: name, Controller: true}}
	}
	tests := map[string]struct {
		why         string
		gate, named string
		meta        injection.Metadata
		want        string
	}{
		"Deployment":  {"its ReplicaSet has its name and a hash", "stale", "", injection.Metadata{OwnerReferences: owner("ReplicaSet", "web-5d4"), Labels: map[string]string{"pod-template-hash": "5d4"}}, "web"},
		"ReplicaSet":  {"it has no Deployment", "stale", "", injection.Metadata{OwnerReferences: owner("ReplicaSet", "web-5d4")}, "web-5d4"},
		"StatefulSet": {"the owner's name", "stale", "", injection.Metadata{OwnerReferences: owner("StatefulSet", "web"), Name: "web-0"}, "web"},
		"Pod":         {"it is an application of its own", "stale", "", injection.Metadata{Name: "web"}, "web"},
		"Named":       {"the author says so", "stale", "shop", injection.Metadata{OwnerReferences: owner("Job", "web-29"), Name: "web-29-x"}, "shop"},
		"Generated":   {"a pod without a name shows none", "stale", "", injection.Metadata{GenerateName: "web-"}, ""},
		"NotAsked":    {"stale starts are off by default", "", "", injection.Metadata{Name: "web"}, ""},
		"Ungated":     {"it does not wait", "none", "", injection.Metadata{Name: "web"}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := &injection.Shape{Metadata: test.meta, Spec: injection.Spec{Containers: []injection.Container{{Name: "app"}}}}
			pod.Metadata.Annotations = map[string]string{"tengu.io/consumes": "db", "tengu.io/relations": "pg"}
			if test.gate != "" {
				pod.Metadata.Annotations["tengu.io/gate"] = test.gate
			}
			if test.named != "" {
				pod.Metadata.Annotations["tengu.io/application"] = test.named
			}
			d := injection.For(injection.Settings{Config: injection.DefaultConfig(), Namespace: "orcon-system"}, "shop", pod)
			require.NotNil(t, d.Injection)
			text, err := json.Marshal(injection.Operations("", pod, d.Injection))
			require.NoError(t, err)
			if test.want == "" {
				assert.NotContains(t, string(text), "orcon-stale-", test.why)
				assert.NotContains(t, string(text), injection.StaleVariable)
				return
			}
			assert.Contains(t, string(text), `"name":"`+application.StaleCopy(test.want)+`","optional":true,`+
				`"items":[{"key":"`+test.want+`","path":"stale.json"}]`, test.why)
			assert.Contains(t, string(text), `{"name":"ORCON_GATE","value":"stale"}`)
			assert.Contains(t, string(text), `"key":"`+injection.StaleVariable+`"`)
		})
	}
}

// The author of a CronJob learns that its pods find no copy (INJECTION.md I1).
func TestNameless(t *testing.T) {
	stale := map[string]string{application.KeyGate: application.GateStale}
	assert.Len(t, injection.Nameless("CronJob", stale), 1)
	assert.Empty(t, injection.Nameless("Deployment", stale))
	assert.Empty(t, injection.Nameless("CronJob", nil))
	assert.Empty(t, injection.Nameless("CronJob", map[string]string{application.KeyGate: application.GateStale, application.KeyApplication: "report"}))
}

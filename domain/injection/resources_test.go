package injection_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// Resources of a pod as a whole that are empty, as charts render them, are none: the agent has its own, or a quota of the
// namespace refuses the pod (SAFETY.md I29).
func TestEmptyResourcesOfThePod(t *testing.T) {
	for name, resources := range map[string]string{"Empty": "{}", "EmptyLists": "{limits: {}, requests: {}}", "Null": "null"} {
		t.Run(name, func(t *testing.T) {
			pod := shape(t, `{metadata: {annotations: {tengu.io/consumes: db, tengu.io/relations: x}},
				spec: {resources: `+resources+`, containers: [{name: a, resources: {limits: {cpu: 1, memory: 1Gi}}}]}}`)
			d := injection.For(plain(), "shop", pod)
			require.NotNil(t, d.Injection, d.Refused)
			for _, o := range injection.Operations("", pod, d.Injection) {
				if !strings.HasPrefix(o.Path, "/spec/initContainers") {
					continue
				}
				var added []struct {
					Name      string
					Resources struct{ Requests, Limits map[string]string }
				}
				require.NoError(t, json.Unmarshal(o.Value, &added))
				for _, c := range added {
					assert.Equal(t, map[string]string{"cpu": "200m", "memory": "64Mi"}, c.Resources.Limits, c.Name)
					assert.Equal(t, c.Resources.Limits, c.Resources.Requests, "the containers are of class Guaranteed")
				}
			}
		})
	}
}

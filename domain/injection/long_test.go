package injection_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// longestVariable is how long one variable with its name, or one argument, may be: the kernel starts no process with a
// longer one (MAX_ARG_STRLEN).
const longestVariable = 128<<10 - 1

// Whatever space an author leaves in a declaration, the kernel starts the agent with it: a pod whose agent cannot start
// waits for ever (SAFETY.md I19).
func TestTheAgentsVariablesFitTheKernel(t *testing.T) {
	space := strings.Repeat(" ", 140<<10)
	settings := plain()
	settings.Fields = func(application.Endpoint) []string { return slices.Repeat([]string{strings.Repeat("k", 253)}, 128) }
	for name, annotations := range map[string]map[string]string{
		"Consumes": {"tengu.io/consumes": "db:pg," + space + "mail", "tengu.io/peers": "ring:gossip"},
		"Env":      {"tengu.io/consumes": "db:pg,mail", "tengu.io/env": "db=user," + space + "password"},
		"Wrong":    {"tengu.io/consumes": "db:pg,mail," + strings.Repeat("$", 100<<10)},
		"Fields":   {"tengu.io/consumes": "a,b,c,d,e,f"},
		"Command": {"tengu.io/consumes": "db", "injector.tengu.io/handler-image": "a",
			"tengu.io/on-change": `exec:["run", "` + strings.Repeat("x", 140<<10) + `"]`},
	} {
		t.Run(name, func(t *testing.T) {
			pod := shape(t, `{metadata: {ownerReferences: [{kind: ReplicaSet, name: web, controller: true}]}, spec: {containers: [{name: a}]}}`)
			annotations["tengu.io/relations"] = "x"
			pod.Metadata.Annotations = annotations
			d := injection.For(settings, "shop", pod)
			require.NotNil(t, d.Injection, d.Refused)
			for _, o := range injection.Operations("", pod, d.Injection) {
				if o.Path != "/spec/initContainers" {
					continue
				}
				var added []struct {
					Command []string
					Env     []struct{ Name, Value string }
				}
				require.NoError(t, json.Unmarshal(o.Value, &added))
				for _, word := range added[len(added)-1].Command {
					assert.LessOrEqual(t, len(word), longestVariable)
				}
				for _, e := range added[0].Env {
					value := strings.ReplaceAll(e.Value, "$$", "$") // as the kubelet does
					assert.LessOrEqual(t, len(e.Name+"="+value), longestVariable, e.Name)
					if e.Name == "ORCON_FIELDS" {
						_, problems := application.ParseEnv(value)
						assert.Empty(t, problems, "the agent reads it")
					}
				}
			}
		})
	}
}

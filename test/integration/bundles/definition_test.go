package bundles

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// gadgets is a definition of two versions, and an object of it.
const gadgets = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.GROUP}
spec:
  group: GROUP
  names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}, colour: {type: string, enum: [blue, green]}}}}}}}
---
apiVersion: GROUP/v1
kind: Gadget
metadata: {name: one}
spec: {size: 3, colour: green}
`

// An upgrade of a definition that would lose data or break what is stored is refused in the
// plan, with path, reason and cure, and nothing is written (BUNDLES.md 11). The way back
// leaves definitions as they are (BUNDLES.md 6).
func TestDefinitionThatWouldLoseData(t *testing.T) {
	w := newWorld(t)
	installed := strings.ReplaceAll(gadgets, "GROUP", w.namespace+".example.org")
	require.NoError(t, w.install(installed))
	writes := w.writes.Load()
	for from, want := range map[string]string{
		"size: {type: integer}, ":  "v1.spec.size: the field is removed, and what objects hold there is lost: keep the field",
		", green":                  `v1.spec.colour: allowed enum values removed: ["green"]: allow what was allowed`,
		"scope: Namespaced":        `scope changed: "Namespaced" -> "Cluster": keep the scope`,
		"name: v1, served: true, ": "stored versions removed: [v1]: keep the version",
	} {
		to := map[string]string{"scope: Namespaced": "scope: Cluster", "name: v1, served: true, ": "name: v2, served: true, "}[from]
		p := w.process(-1)
		definition, _, _ := strings.Cut(strings.Replace(installed, from, to, 1), "---\napiVersion: "+w.namespace)
		_, err := p.Plan(t.Context(), p.wish(t, definition))
		require.ErrorContains(t, err, want)
	}
	assert.Equal(t, writes, w.writes.Load())

	grown := strings.Replace(installed, "size: {type: integer}", "size: {type: integer}, weight: {type: integer}", 1)
	require.Error(t, w.install(grown+broken))
	p := w.process(-1)
	plan, err := p.Plan(t.Context(), p.wish(t, grown))
	require.NoError(t, err, "the wider definition has stayed")
	for _, a := range plan.Actions {
		if a.ID.Kind == "CustomResourceDefinition" {
			assert.Equal(t, bundle.None, a.Verb)
		}
	}
}

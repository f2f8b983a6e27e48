package declaration_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/webhook/declaration"
)

// TestOutside: where nothing counts that is declared, it is said, and nothing is
// done (INJECTION.md I1).
func TestOutside(t *testing.T) {
	const said = "it has no effect, because namespace shop has not opted in; label the namespace tengu-injector=enabled"
	const consumes = "tengu.io/consumes: db"
	tests := map[string]struct {
		why, manifest, before string
		want                  []string
	}{
		"Workload":   {why: "the author reads it", manifest: deployment(consumes, ""), want: []string{"metadata.annotations[tengu.io/consumes]: " + said}},
		"Template":   {why: "declared where pods are", manifest: deployment("", consumes), want: []string{"spec.template.metadata.annotations[tengu.io/consumes]: " + said}},
		"Label":      {why: "the prototype's way", manifest: service("tengu.io/provides: db", ""), want: []string{"metadata.labels[tengu.io/provides]: " + said}},
		"Several":    {why: "once is enough", manifest: deployment("tengu.io/relations: x, "+consumes, consumes), want: []string{"metadata.annotations[tengu.io/consumes]: " + said}},
		"Invalid":    {why: "it is refused when it counts", manifest: deployment("tengu.io/consumes: 'D B'", ""), want: []string{"metadata.annotations[tengu.io/consumes]: " + said}},
		"Misspelt":   {why: "meant as a declaration", manifest: deployment("tengu.io/consume: db", ""), want: []string{"metadata.annotations[tengu.io/consume]: " + said}},
		"Nothing":    {why: "nobody of ours", manifest: deployment("example.org/consumes: db", "")},
		"OnlyOptOut": {why: "wants nothing, gets nothing", manifest: deployment("", "injector.tengu.io/inject: 'false'")},
		"Unchanged":  {why: "said when it was written", manifest: deployment(consumes, ""), before: deployment(consumes, "")},
		"Changed":    {why: "it was hoped to do something now", manifest: deployment(consumes, ""), before: deployment("tengu.io/consumes: sse", ""), want: []string{"metadata.annotations[tengu.io/consumes]: " + said}},
		"Owned":      {why: "nobody reads it", manifest: "kind: Job\nmetadata: {name: x, annotations: {tengu.io/consumes: db}, ownerReferences: [{controller: true, kind: CronJob, name: cron}]}\nspec: {template: {spec: {containers: []}}}\n"},
	}
	h := &declaration.Outside{Settings: func() injection.Settings { return injection.Settings{Namespace: "orcon-system"} }}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			response := ask(t, h, tc.manifest, tc.before)
			assert.True(t, response.Allowed, tc.why)
			assert.Empty(t, response.Patch, tc.why)
			assert.Equal(t, tc.want, response.Warnings, tc.why)
		})
	}
	t.Run("OwnNamespace", func(t *testing.T) {
		own := &declaration.Outside{Settings: func() injection.Settings { return injection.Settings{Namespace: "shop"} }}
		assert.Contains(t, ask(t, own, deployment(consumes, ""), "").Warnings[0], "because Orcon itself runs in namespace shop")
	})
}

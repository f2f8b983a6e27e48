package bundle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

func TestWanted(t *testing.T) {
	pinned := "oci://registry.example.org/shop@sha256:" + strings.Repeat("a", 64)
	from := func(s bundle.WantedSource) bundle.Wanted {
		return bundle.Wanted{Name: "shop", Sources: []bundle.WantedSource{{Reference: pinned}, s}}
	}
	tests := map[string]struct {
		why    string
		wanted bundle.Wanted
		want   []string
	}{
		"Right":      {why: "content that is pinned, in a folder of its own", wanted: from(bundle.WantedSource{Reference: "configmaps:a,b", Destination: "values"})},
		"Tracked":    {why: "a tag that may move, by intent", wanted: from(bundle.WantedSource{Reference: "oci://registry.example.org/shop:latest", Track: true})},
		"Unpinned":   {why: "a tag that may move by accident", wanted: from(bundle.WantedSource{Reference: "oci://registry.example.org/shop:latest"}), want: []string{"spec.sources[1].reference:", "resolve: Track"}},
		"Nothing":    {why: "what is pinned does not move", wanted: from(bundle.WantedSource{Reference: pinned, Track: true}), want: []string{"spec.sources[1].resolve:", "nothing to track"}},
		"Path":       {why: "a path is of the person's machine", wanted: from(bundle.WantedSource{Reference: "deploy/"}), want: []string{"spec.sources[1].reference:", "is a local path"}},
		"Unreadable": {why: "the reference's own words", wanted: from(bundle.WantedSource{Reference: "ftp://x/y"}), want: []string{"spec.sources[1].reference:", "does not begin with"}},
		"Auth":       {why: "nobody asks for a password there", wanted: from(bundle.WantedSource{Reference: "configmaps:a", Authorized: true}), want: []string{"spec.sources[1].auth:"}},
		"Data":       {why: "no manifests come from there", wanted: from(bundle.WantedSource{Reference: "graphql+https://example.org/graphql", Track: true}), want: []string{"spec.sources[1].reference: cannot use graphql+https://example.org/graphql: a GraphQL server has the data of a fleet"}},
		"Untracked":  {why: "older data are gone", wanted: from(bundle.WantedSource{Reference: "graphql+https://example.org/graphql"}), want: []string{"spec.sources[1].reference: graphql+https://example.org/graphql: a GraphQL server has no more than its latest data: set resolve: Track"}},
		"Unruled":    {why: "a policy without rules would allow all", wanted: bundle.Wanted{Judged: true}, want: []string{"spec.approval: mode Policy"}},
		"Unjudged":   {why: "rules that nobody asks", wanted: bundle.Wanted{Rules: 1}, want: []string{"spec.approval: mode Policy"}},
		"Ignored":    {why: "a path that nobody can read", wanted: bundle.Wanted{Ignores: []bundle.Ignore{{APIVersion: "apps/v1", Kind: "Deployment", Paths: []string{"["}}}}, want: []string{"spec.drift.ignore[0]: "}},
		"Outside":    {why: "a folder outside of the content", wanted: from(bundle.WantedSource{Reference: pinned, Destination: "../etc"}), want: []string{"spec.sources[1].destination:"}},
		"Template":   {why: "a chart that renders to a Template has both", wanted: bundle.Wanted{Format: "openshift-template", Values: true, Parameters: true}},
		"Detected":   {why: "which format it is, the content decides", wanted: bundle.Wanted{Values: true, Watch: true, Parameters: true}},
		"Chart":      {why: "its settings are values", wanted: bundle.Wanted{Format: "helm", Values: true, Parameters: true}, want: []string{"spec.render.parameters: format helm does not support it: remove it, or set spec.format: openshift-template"}},
		"Hooks":      {why: "a name without its kind", wanted: bundle.Wanted{SkipHooks: []string{"migrate"}}, want: []string{`spec.render.skipHooks: "migrate" names no object: write Kind/name`}},
		"NoHooks":    {why: "hooks are those of charts", wanted: bundle.Wanted{Format: "plain", SkipHooks: []string{"Job/migrate"}}, want: []string{"spec.render.skipHooks: format plain has no hooks: remove it, or set spec.format: helm"}},
		"Operator":   {why: "its values have a deploymentConfig", wanted: bundle.Wanted{Format: "registry-v1", Values: true, Watch: true}},
		"All": {
			why:    "all that is wrong is told at once",
			wanted: bundle.Wanted{Name: "shop", Format: "plain", Values: true, Watch: true, DependsOn: []string{"db", "shop"}, Deadline: time.Second},
			want:   []string{"spec.render: format plain supports no values", "spec.render.watchNamespaces:", "spec.dependsOn: the deployment depends on itself", "spec.rollback.progressDeadline: 1s"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := test.wanted.Check()
			if test.want == nil {
				require.NoError(t, err, test.why)
				return
			}
			require.Error(t, err, test.why)
			for _, words := range test.want {
				assert.Contains(t, err.Error(), words, test.why)
			}
		})
	}
}

func TestWaiters(t *testing.T) {
	assert.Equal(t, []string{"a", "b", "c", "a"}, bundle.Waiters("a", map[string][]string{"a": {"x", "b"}, "b": {"c"}, "c": {"b", "a"}}))
	assert.Empty(t, bundle.Waiters("a", map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"b"}}), "a circle of others is theirs")
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c", "d"}
		depends := map[string][]string{}
		for _, n := range names {
			depends[n] = rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID[string]).Draw(t, n)
		}
		circle := bundle.Waiters("a", depends)
		for i := 1; i < len(circle); i++ {
			require.Contains(t, depends[circle[i-1]], circle[i], "each step is a dependency")
		}
	})
}

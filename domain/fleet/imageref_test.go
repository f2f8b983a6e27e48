package fleet_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet"
)

// The tag of an image is a commit where an environment's file or the set names a ref of the upstream (FLEET.md C2).
func TestImageRef(t *testing.T) {
	const up = "https://example.com/up"
	repositories := func(items ...any) map[string]any { return map[string]any{"INTEGRATION_UPSTREAM_REPOS": items} }
	ours := repositories(map[string]any{"repo": "other", "ref": "v0"}, map[string]any{"repo": up, "ref": "v1"})
	digest := repositories(map[string]any{"repo": up, "ref": "v1"})
	digest["IMAGE_DIGEST"] = "sha256:a"
	tests := map[string]struct {
		environment map[string]any
		refs        map[string]string
		given       fleet.Parameters
		want        string
		wrong       string
	}{
		"None":              {want: "", environment: map[string]any{"IMAGE_TAG": "latest"}},
		"Environment":       {environment: ours, want: "v1"},
		"OtherUpstream":     {environment: repositories(map[string]any{"repo": "other", "ref": "v0"})},
		"Odd":               {environment: repositories("text", map[string]any{"repo": up, "ref": 1})},
		"NoList":            {environment: map[string]any{"INTEGRATION_UPSTREAM_REPOS": "v1"}},
		"Set":               {refs: map[string]string{"stage": "main", "prod": "v0"}, want: "main"},
		"SetWins":           {environment: ours, refs: map[string]string{"stage": "main"}, want: "main"},
		"OtherEnvironment":  {environment: ours, refs: map[string]string{"prod": "main"}, want: "v1"},
		"ParameterOfSet":    {environment: ours, given: fleet.Parameters{Set: map[string]string{"IMAGE_TAG": "1"}}},
		"Flag":              {environment: ours, given: fleet.Parameters{Flags: map[string]string{"IMAGE_TAG": "1"}}},
		"Digest":            {environment: digest, wrong: "its image has ref v1 and parameter IMAGE_DIGEST: remove one of them"},
		"DigestOfSet":       {environment: ours, given: fleet.Parameters{Set: map[string]string{"IMAGE_DIGEST": "d"}}, wrong: "remove one of them"},
		"DigestWithoutRef":  {environment: map[string]any{"IMAGE_DIGEST": "sha256:a"}},
		"ParameterAndOther": {environment: ours, given: fleet.Parameters{Set: map[string]string{"IMAGE": "a"}}, want: "v1"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			m := in(tc.environment)
			m.Integration = "x"
			got, wrong := m.ImageRef(fleet.Images{Refs: tc.refs}, tc.given)
			assert.Equal(t, tc.want, got.Ref)
			if tc.want != "" {
				assert.Equal(t, "git+"+up+"@"+tc.want, got.String())
			}
			if tc.wrong == "" {
				assert.Empty(t, wrong)
				return
			}
			require.Len(t, wrong, 1)
			assert.Contains(t, wrong[0].String(), tc.wrong)
		})
	}
	got, wrong := in(ours).ImageRef(fleet.Images{Refs: map[string]string{"stage": "main"}}, fleet.Parameters{})
	assert.Zero(t, got, "what a namespace shares has no upstream")
	assert.Empty(t, wrong)
	without := in(nil)
	without.Integration, without.Upstream = "x", ""
	_, wrong = without.ImageRef(fleet.Images{Refs: map[string]string{"stage": "main"}}, fleet.Parameters{})
	require.Len(t, wrong, 1)
	assert.Contains(t, wrong[0].String(), "add upstream: https://HOST/REPOSITORY")
}

func TestTag(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	assert.Equal(t, "0123456", fleet.Images{}.Tag(commit))
	assert.Equal(t, "0123456789", fleet.Images{Digits: 10}.Tag(commit))
	assert.Equal(t, commit, fleet.Images{Digits: 64}.Tag(commit))
	assert.Empty(t, fleet.Images{}.Tag(""))
}

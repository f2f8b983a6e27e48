package bundle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

const (
	sum    = "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"
	commit = "b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1"
)

func TestParseReference(t *testing.T) {
	tests := map[string]struct {
		why, text string
		want      bundle.Reference
		pinned    bool
	}{
		"Image":       {why: "pinned", text: "oci://registry.example.org:5000/shop/app@sha256:" + sum, want: bundle.Reference{Origin: bundle.Image, Location: "registry.example.org:5000/shop/app", Digest: "sha256:" + sum}, pinned: true},
		"Tag":         {why: "a tag moves", text: "oci://registry.example.org/app:1.2#folder=deploy", want: bundle.Reference{Origin: bundle.Image, Location: "registry.example.org/app", Version: "1.2", Folder: "deploy"}},
		"TagAndMore":  {why: "the tag is for people, the digest counts", text: "oci://r/app:1.2@sha256:" + sum, want: bundle.Reference{Origin: bundle.Image, Location: "r/app", Version: "1.2", Digest: "sha256:" + sum}, pinned: true},
		"Commit":      {why: "pinned", text: "git+https://example.org/shop.git@" + commit + "#folder=k8s/base", want: bundle.Reference{Origin: bundle.Git, Location: "https://example.org/shop.git", Digest: commit, Folder: "k8s/base"}, pinned: true},
		"Branch":      {why: "a branch moves, and has slashes", text: "git+ssh://git@example.org/shop@release/1", want: bundle.Reference{Origin: bundle.Git, Location: "ssh://git@example.org/shop", Version: "release/1"}},
		"ShortCommit": {why: "what is short may come to name two", text: "git+https://example.org/shop@b1b1b1b", want: bundle.Reference{Origin: bundle.Git, Location: "https://example.org/shop", Version: "b1b1b1b"}},
		"Archive":     {why: "pinned", text: "https://example.org/a.tgz?x=1#sha256=" + sum + "&folder=a", want: bundle.Reference{Origin: bundle.HTTP, Location: "https://example.org/a.tgz?x=1", Digest: "sha256:" + sum, Folder: "a"}, pinned: true},
		"NoChecksum":  {why: "a server gives what it likes", text: "http://example.org/a.zip", want: bundle.Reference{Origin: bundle.HTTP, Location: "http://example.org/a.zip"}},
		"GraphQL":     {why: "a server has its latest data", text: "graphql+https://example.org:4000/data/graphql", want: bundle.Reference{Origin: bundle.GraphQL, Location: "https://example.org:4000/data/graphql"}},
		"ConfigMaps":  {why: "of the cluster", text: "configmaps:a,b", want: bundle.Reference{Origin: bundle.ConfigMaps, Location: "a,b"}, pinned: true},
		"Builtin":     {why: "of the program", text: "builtin:selfsigned", want: bundle.Reference{Origin: bundle.Builtin, Location: "selfsigned"}, pinned: true},
		"Local":       {why: "of the machine", text: "./deploy@x#y", want: bundle.Reference{Origin: bundle.Local, Location: "./deploy@x#y"}, pinned: true},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			got, err := bundle.ParseReference(tc.text)
			require.NoError(t, err, tc.why)
			assert.Equal(t, tc.want, got, tc.why)
			assert.Equal(t, tc.text, got.String(), tc.why)
			if tc.pinned {
				require.NoError(t, got.Pinned(), tc.why)
			} else {
				assert.ErrorContains(t, got.Pinned(), "so its content may change: ", tc.why)
			}
		})
	}
}

func TestParseReferenceRefuses(t *testing.T) {
	tests := map[string]struct{ why, text, want string }{
		"Empty":        {why: "nothing", text: "", want: "it is empty"},
		"Scheme":       {why: "nobody fetches that", text: "ftp://example.org/a.tgz", want: "does not begin with one of oci://"},
		"LocalGit":     {why: "whose machine?", text: "git+file:///srv/shop", want: "does not begin with one of oci://"},
		"NoPath":       {why: "a registry is no image", text: "oci://registry.example.org", want: "no host and path"},
		"NoTag":        {why: "half a tag", text: "oci://r/app:", want: "no tag"},
		"NoDigest":     {why: "half a digest", text: "oci://r/app@", want: "nothing follows"},
		"ShortDigest":  {why: "not all of it", text: "oci://r/app@sha256:abc", want: "64 hexadecimal digits"},
		"OtherDigest":  {why: "weaker", text: "oci://r/app@md5:" + sum, want: "64 hexadecimal digits"},
		"Checksum":     {why: "not all of it", text: "https://example.org/a.tgz#sha256=abc", want: "64 hexadecimal digits"},
		"Fragment":     {why: "misspelt, and so unpinned", text: "https://example.org/a.tgz#sha265=" + sum, want: `"sha265=`},
		"FolderTwice":  {why: "which?", text: "https://example.org/a.tgz#folder=a&folder=b", want: "once"},
		"Traversal":    {why: "out of the content", text: "git+https://example.org/a#folder=../b", want: `".."`},
		"Password":     {why: "references are shown to people", text: "https://me:secret@example.org/a.tgz", want: "pass credentials separately"},
		"GitPassword":  {why: "references are shown to people", text: "git+ssh://me:secret@example.org/a", want: "pass credentials separately"},
		"Option":       {why: "a program would take it for a flag", text: "git+ssh://-oProxyCommand=x/a", want: "begins with -"},
		"Space":        {why: "two words", text: "oci://r/a b", want: "space"},
		"GraphQLPath":  {why: "its neighbours /sha256 and /graphqlsha are found by it", text: "graphql+https://example.org/graphql?a=b", want: "ends with /graphql"},
		"GraphQLHost":  {why: "no server", text: "graphql+https:///graphql", want: "no host and path"},
		"GraphQLPin":   {why: "older data are gone", text: "graphql+https://example.org/graphql#sha256=" + sum, want: "remove what follows the #"},
		"NoVariant":    {why: "which?", text: "builtin:", want: "not a valid variant"},
		"VariantPath":  {why: "a variant is no path", text: "builtin:../crd", want: "not a valid variant"},
		"NoConfigMaps": {why: "no name", text: "configmaps:a,", want: "not a valid ConfigMap"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			_, err := bundle.ParseReference(tc.text)
			require.ErrorContains(t, err, tc.want, tc.why)
			assert.NotContains(t, err.Error(), "secret", "no password is repeated")
		})
	}
}

// A GraphQL server has data of a fleet alone, and people see which it had (FLEET.md D5).
func TestGraphQLReference(t *testing.T) {
	r, err := bundle.ParseReference("graphql+http://localhost:4000/graphql")
	require.NoError(t, err)
	require.ErrorContains(t, r.Deployable(), "cannot use graphql+http://localhost:4000/graphql: a GraphQL server has the data of a fleet")
	r.Digest = "sha256:" + sum
	assert.Equal(t, "graphql+http://localhost:4000/graphql#sha256="+sum, r.String())
	other, err := bundle.ParseReference("https://example.org/graphql")
	require.NoError(t, err)
	require.NoError(t, other.Deployable())
}

// FuzzParseReference takes any text: what is accepted is written as a text that means
// the same, and a folder leads nowhere else.
func FuzzParseReference(f *testing.F) {
	for _, seed := range []string{
		"oci://r/app:1@sha256:" + sum, "git+ssh://git@h/r@main#folder=a/b", "https://h/a.tgz#sha256=" + sum + "&folder=a",
		"configmaps:a,b", "builtin:a", "graphql+http://h/graphql", "./x", "git+http://h/r@" + commit, "http://h/p?q#folder=a", "oci://h:5000/a:b:c@d@e",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := bundle.ParseReference(text)
		if err != nil {
			require.Zero(t, r)
			return
		}
		again, err := bundle.ParseReference(r.String())
		require.NoError(t, err)
		require.Equal(t, r, again)
		if r.Folder != "" {
			require.NoError(t, bundle.CheckPath(r.Folder))
		}
	})
}

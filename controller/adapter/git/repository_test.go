package git_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/git"
)

func TestRepository(t *testing.T) {
	p := newProject(t)
	p.write("data/a.yml", "one")
	p.write("other/b.yml", "b")
	first := p.commit()
	p.git("tag", "v1")
	p.git("update-ref", "refs/remotes/origin/main", first)
	p.write("data/a.yml", "two")
	p.write("data/deep/c.yml", "c")
	second := p.commit()
	p.git("tag", "--annotate", "--message", "x", "v2")
	p.git("branch", "both", first)
	p.git("tag", "both", second)
	p.git("branch", "same")
	p.git("tag", "same")
	p.write("data/a.yml", "not committed")
	p.git("worktree", "add", "--quiet", filepath.Join(p.folder, "..", filepath.Base(p.folder)+"-linked"), "v1")

	r, err := git.Open(filepath.Join(p.folder, "data"))
	require.NoError(t, err)
	tests := map[string]struct{ why, revision, want, err string }{
		"Head":         {"the commit, not the work tree", "HEAD", second, ""},
		"Back":         {"steps back", "HEAD~1", first, ""},
		"Parent":       {"steps back", "v2^", first, ""},
		"Remote":       {"what a pipeline has fetched", "origin/main", first, ""},
		"Tag":          {"a name", "v1", first, ""},
		"AnnotatedTag": {"the commit behind the tag", "v2", second, ""},
		"Branch":       {"a name", "main", second, ""},
		"Short":        {"the beginning of a commit", first[:8], first, ""},
		"Same":         {"two names of one commit", "same", second, ""},
		"Both":         {"two commits", "both~1", "", `"both" is a branch and a tag: write refs/heads/both or refs/tags/both`},
		"Chosen":       {"one of the two", "refs/heads/both", first, ""},
		"Unknown":      {"a misspelt name", "orign/main", "", git.ErrUnknown.Error()},
		"TooFar":       {"before the first commit", "HEAD~9", "", git.ErrUnknown.Error()},
		"Nothing":      {"no name", "", "", git.ErrUnknown.Error()},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			got, err := r.Commit(tc.revision)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err, tc.why)
				return
			}
			require.NoError(t, err, tc.why)
			assert.Equal(t, tc.want, got, tc.why)
		})
	}
	assert.Equal(t, []string{"HEAD", "both", "main", "origin/main", "same", "v1", "v2"}, r.Names())

	tree, found, err := r.Files(second, "data")
	require.NoError(t, err)
	assert.True(t, found)
	assert.Equal(t, []string{"a.yml", "deep/c.yml"}, tree.Paths(), "paths begin at the folder")
	file, _ := tree.File("a.yml")
	assert.Equal(t, "two", string(file.Content))
	_, found, err = r.Files(first, "data/deep")
	require.NoError(t, err)
	assert.False(t, found, "the folder is newer")
	tree, found, err = r.Files(first, "")
	require.NoError(t, err)
	assert.True(t, found)
	assert.Equal(t, []string{"data/a.yml", "other/b.yml"}, tree.Paths())

	linked, err := git.Open(filepath.Join(p.folder, "..", filepath.Base(p.folder)+"-linked", "other"))
	require.NoError(t, err)
	head, err := linked.Commit("HEAD")
	require.NoError(t, err)
	assert.Equal(t, first, head, "a linked work tree has its own HEAD")
	name, err := linked.Commit("main")
	require.NoError(t, err)
	assert.Equal(t, second, name, "and the branches of all")
}

func TestRepositoryPath(t *testing.T) {
	p := newProject(t)
	p.write("data/a.yml", "a")
	elsewhere := t.TempDir()
	link := filepath.Join(elsewhere, "link")
	require.NoError(t, os.Symlink(filepath.Join(p.folder, "data"), link))
	r, err := git.Open(p.folder)
	require.NoError(t, err)
	for folder, want := range map[string]string{p.folder: "", filepath.Join(p.folder, "data"): "data", link: "data"} {
		got, inside := r.Path(folder)
		assert.True(t, inside, folder)
		assert.Equal(t, want, got)
	}
	for _, folder := range []string{elsewhere, filepath.Join(p.folder, ".."), filepath.Join(p.folder, "nowhere")} {
		_, inside := r.Path(folder)
		assert.False(t, inside, folder)
	}
	for _, folder := range []string{elsewhere, filepath.Join(p.folder, "nowhere")} {
		_, err = git.Open(folder)
		require.ErrorIs(t, err, git.ErrNoRepository)
	}
}

// A link may lead to what its author should not read.
func TestRepositoryRefusesLinks(t *testing.T) {
	p := newProject(t)
	p.write("data/a.yml", "a")
	require.NoError(t, os.Symlink("a.yml", filepath.Join(p.folder, "data", "b.yml")))
	commit := p.commit()
	r, err := git.Open(p.folder)
	require.NoError(t, err)
	_, _, err = r.Files(commit, "data")
	require.ErrorContains(t, err, `cannot use "b.yml": it is a symbolic link`)
}

// A clone of a pipeline often has one commit, and no files of others.
func TestRepositoryOfAShallowClone(t *testing.T) {
	p := newProject(t)
	p.git("config", "uploadpack.allowFilter", "true")
	p.write("data/a.yml", "one")
	first := p.commit()
	p.write("data/a.yml", "two")
	p.commit()
	clone := func(how string) git.Repository {
		folder := t.TempDir()
		p.git("clone", "--quiet", how, "file://"+p.folder, folder)
		r, err := git.Open(folder)
		require.NoError(t, err)
		return r
	}
	shallow := clone("--depth=1")
	_, err := shallow.Commit("HEAD~1")
	require.ErrorIs(t, err, git.ErrUnknown)
	_, _, err = shallow.Files(first, "data")
	require.ErrorContains(t, err, "the clone lacks a part of it: clone without --depth and --filter")

	partial := clone("--filter=blob:none")
	commit, err := partial.Commit("HEAD~1")
	require.NoError(t, err)
	assert.Equal(t, first, commit)
	_, _, err = partial.Files(commit, "data")
	require.ErrorContains(t, err, "the clone lacks a part of it: clone without --depth and --filter")
}

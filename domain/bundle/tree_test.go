package bundle_test

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// treeOf makes a tree of paths and contents.
func treeOf(t require.TestingT, files map[string]string) bundle.Tree {
	var tree bundle.Tree
	for name, content := range files {
		require.NoError(t, tree.Add(name, bundle.File{Content: []byte(content)}))
	}
	return tree
}

// BUNDLES.md, invariant 1: traversal and duplicate names are refused, and what is
// refused changes nothing.
func TestTreeAdd(t *testing.T) {
	tests := map[string]struct {
		why, path, want string
	}{
		"New":         {why: "a further file", path: "a/c.yaml"},
		"Space":       {why: "people do", path: "a/my file.yaml"},
		"Dots":        {why: "a name may begin with two dots", path: "..a/...b"},
		"Twice":       {why: "which of the two?", path: "a/b.yaml", want: "twice"},
		"Folder":      {why: "a file where a folder is", path: "a", want: "twice"},
		"File":        {why: "a folder where a file is", path: "a/b.yaml/c", want: `"a/b.yaml" is a file`},
		"Absolute":    {why: "the machine's own", path: "/etc/passwd", want: "absolute"},
		"Upwards":     {why: "out of the tree", path: "../x", want: `".."`},
		"Roundabout":  {why: "out of the tree, later", path: "a/../../x", want: `".."`},
		"Inside":      {why: "a second name for a file", path: "a/../a/b.yaml", want: `".."`},
		"Dot":         {why: "a second name for a file", path: "./a/b.yaml", want: `"."`},
		"Slashes":     {why: "a second name for a file", path: "a//b.yaml", want: "an empty name"},
		"Top":         {why: "no file", path: ".", want: "names no file"},
		"Empty":       {why: "no file", path: "", want: "names no file"},
		"Trailing":    {why: "a folder", path: "a/", want: "an empty name"},
		"Backslash":   {why: "a folder elsewhere", path: `..\x`, want: "backslash"},
		"Line":        {why: "two lines of a digest", path: "a\nb", want: "control character"},
		"NUL":         {why: "the end of a name elsewhere", path: "a\x00b", want: "control character"},
		"Drive":       {why: "absolute elsewhere", path: "c:/x", want: "drive"},
		"Bytes":       {why: "no text", path: "a\xff", want: "UTF-8"},
		"LongName":    {why: "no file system keeps it", path: strings.Repeat("x", 256), want: "longer than 255"},
		"LongPath":    {why: "no end", path: strings.Repeat("x/", 600) + "x", want: "longer than 1024"},
		"DeepestPath": {why: "the limit itself", path: strings.Repeat("x/", 511) + "xx"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			tree := treeOf(t, map[string]string{"a/b.yaml": "x"})
			before := tree.Digest()
			err := tree.Add(tc.path, bundle.File{})
			if tc.want == "" {
				require.NoError(t, err, tc.why)
				return
			}
			assert.ErrorContains(t, err, tc.want, tc.why)
			assert.Equal(t, before, tree.Digest(), tc.why)
		})
	}
}

// BUNDLES.md, invariant 1: a bomb ends at a limit.
func TestTreeLimits(t *testing.T) {
	var many bundle.Tree
	for i := range bundle.MaxFiles {
		require.NoError(t, many.Add(fmt.Sprint(i), bundle.File{}))
	}
	require.ErrorIs(t, many.Add("more", bundle.File{}), bundle.ErrLimit)

	var large bundle.Tree
	require.NoError(t, large.Add("a", bundle.File{Content: make([]byte, bundle.MaxBytes)}))
	require.ErrorIs(t, large.Add("b", bundle.File{Content: []byte("x")}), bundle.ErrLimit)
	large.Remove("a")
	require.NoError(t, large.Add("b", bundle.File{Content: []byte("x")}), "what is gone counts no more")
}

func TestTreeSubAndRemove(t *testing.T) {
	tree := treeOf(t, map[string]string{"a/b/c": "1", "a/bc": "2", "d": "3"})
	sub, err := tree.Sub("a/b")
	require.NoError(t, err)
	assert.Equal(t, []string{"c"}, sub.Paths())
	file, err := tree.Sub("a/bc")
	require.NoError(t, err)
	assert.Equal(t, []string{"bc"}, file.Paths(), "a file is a tree of its own")
	_, err = tree.Sub("a/x")
	require.ErrorContains(t, err, `"a/x"`)
	all, err := tree.Sub("")
	require.NoError(t, err)
	assert.Equal(t, tree.Digest(), all.Digest())

	tree.Remove("a/b")
	assert.Equal(t, []string{"a/bc", "d"}, tree.Paths())
}

// CONTENT.md X3: a link is there, is no file, and is refused where it is used.
func TestTreeLinks(t *testing.T) {
	tree := treeOf(t, map[string]string{"a/b": "1", "c": "2"})
	digest := tree.Digest()
	require.NoError(t, tree.Unlinked())
	require.NoError(t, tree.Add("a/l", bundle.File{Link: bundle.SymbolicLink}))
	require.NoError(t, tree.Add("m", bundle.File{Link: bundle.Submodule}))
	assert.NotEqual(t, digest, tree.Digest(), "content without the link is another one")
	assert.Equal(t, []string{"a/b", "c"}, tree.Paths())
	assert.Equal(t, map[string][]byte{"a/b": []byte("1"), "c": []byte("2")}, tree.Contents())
	_, found := tree.File("a/l")
	assert.False(t, found)
	require.EqualError(t, tree.Unlinked(), "cannot use \"a/l\": it is a symbolic link: replace it with a file, or set a path that does not need it\n"+
		"cannot use \"m\": it is a submodule: add its repository as a source of its own")
	require.ErrorContains(t, tree.Add("m/x", bundle.File{}), `"m" is a file`)

	sub, err := tree.Sub("a")
	require.NoError(t, err)
	require.ErrorContains(t, sub.Unlinked(), `cannot use "l"`)
	for _, name := range []string{"m", "m/deploy", "a/l/x"} {
		_, err = tree.Sub(name)
		require.ErrorContains(t, err, "cannot use", name)
		require.Error(t, tree.Follow(name), name)
	}
	own := treeOf(t, map[string]string{"m": "3"})
	all, err := bundle.Overlay(bundle.Layer{Tree: tree}, bundle.Layer{Tree: own})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"a/l": bundle.SymbolicLink}, all.Links(), "a file of a later layer replaces a link")
}

func TestOverlay(t *testing.T) {
	base := treeOf(t, map[string]string{"values.yaml": "old", "x/a": "1"})
	own := treeOf(t, map[string]string{"values.yaml": "new"})
	all, err := bundle.Overlay(bundle.Layer{Tree: base}, bundle.Layer{Tree: own}, bundle.Layer{Destination: "x/y", Tree: own})
	require.NoError(t, err)
	assert.Equal(t, []string{"values.yaml", "x/a", "x/y/values.yaml"}, all.Paths())
	f, _ := all.File("values.yaml")
	assert.Equal(t, "new", string(f.Content), "the later layer counts")
	f, _ = base.File("values.yaml")
	assert.Equal(t, "old", string(f.Content), "the layers stay as they are")

	_, err = bundle.Overlay(bundle.Layer{Tree: base}, bundle.Layer{Destination: "x/a", Tree: own})
	require.ErrorContains(t, err, "is a file, not a folder")
	_, err = bundle.Overlay(bundle.Layer{Destination: "../x", Tree: own})
	require.ErrorContains(t, err, `".."`, "a destination leads nowhere else either")
}

// The digest tells whether two trees are equal, and nothing else.
func TestTreeDigest(t *testing.T) {
	names := []string{"a", "b", "c/d", "c/e", "f 644 x"}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) map[string]bundle.File {
			files := map[string]bundle.File{}
			for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID).Draw(t, label) {
				files[name] = bundle.File{Content: []byte(rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "content")), Executable: rapid.Bool().Draw(t, "executable")}
				if link := rapid.SampledFrom([]string{"", "", bundle.SymbolicLink, bundle.Submodule}).Draw(t, "link"); link != "" {
					files[name] = bundle.File{Link: link}
				}
			}
			return files
		}
		fill := func(files map[string]bundle.File) bundle.Tree {
			var tree bundle.Tree
			for name, f := range files {
				require.NoError(t, tree.Add(name, f))
			}
			return tree
		}
		one, other := draw("one"), draw("other")
		first, second := fill(one), fill(other)
		if assert.ObjectsAreEqual(one, other) {
			require.Equal(t, first.Digest(), second.Digest())
		} else {
			require.NotEqual(t, first.Digest(), second.Digest())
		}
	})
}

// FuzzCheckPath takes any path: one that is accepted stays inside, whatever it is
// joined to, and has no second form.
func FuzzCheckPath(f *testing.F) {
	for _, seed := range []string{"a/b", "../a", "/a", "a/./b", "a\\..\\b", "c:/a", "a\x00", "…/ö"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if bundle.CheckPath(name) != nil {
			return
		}
		require.Equal(t, name, path.Clean(name))
		require.Equal(t, "/top/"+name, path.Join("/top", name))
		require.NotContains(t, strings.Split(name, "/"), "..")
	})
}

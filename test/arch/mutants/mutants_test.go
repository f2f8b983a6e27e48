package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// moduleOf returns a module with the made-up room and one of its tests.
func moduleOf(t *testing.T, test string) string {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "room"), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(root, "go.mod"), []byte("module example.org/house\n\ngo 1.26\n"), 0o600))
	for to, from := range map[string]string{"room.go": "room.go", "room_test.go": test} {
		text, err := os.ReadFile(filepath.Join("testdata", from))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(root, "room", to), text, 0o600))
	}
	return root
}

// report runs the command for the room and returns what it prints, line by line.
func report(t *testing.T, root string, args ...string) []string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, run(t.Context(), root, append(args, "room"), &out))
	return strings.Split(strings.TrimSpace(out.String()), "\n")
}

// Each kind of mutant is made; a test that asserts nothing leaves it alive unless it breaks the
// run, and a good one kills it.
func TestMutants(t *testing.T) {
	root := moduleOf(t, "weak_test.go")
	before, err := os.ReadFile(filepath.Join(root, "room", "room.go"))
	require.NoError(t, err)
	assert.Equal(t, []string{
		`room/room.go:16: condition negated: name == ""`,
		"room/room.go:24: condition negated: err != nil",
		"room/room.go:24: error dropped: err != nil",
		"room/room.go:27: condition negated: len(s.names) < room && !s.has(name)",
		"room/room.go:27: condition negated: len(s.names) < room",
		"room/room.go:27: condition negated: !s.has(name)",
		"room/room.go:28: call left out: s.add(name)",
		"room/room.go:39: condition negated: s.names[i] == name",
		"room: 1 of 9 mutants killed (11 %), seed 1",
	}, report(t, root), "only the loop that reads what is not there fails")
	after, err := os.ReadFile(filepath.Join(root, "room", "room.go"))
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after), "the file stays as it is")

	assert.Equal(t, []string{"room: 9 of 9 mutants killed (100 %), seed 1"}, report(t, moduleOf(t, "good_test.go")))
}

// The seed chooses the mutants, and the same seed the same ones.
func TestSeed(t *testing.T) {
	order := func(seed uint64) []mutant {
		all, err := mutantsOf(moduleOf(t, "weak_test.go"), "room")
		require.NoError(t, err)
		require.Len(t, all, 9)
		shuffle(all, seed)
		return all
	}
	first := order(1)
	assert.Equal(t, first, order(1))
	assert.NotEqual(t, order(1), order(2))
	assert.ElementsMatch(t, order(1), order(2))
}

// The command tries no more mutants than it is told to, and none once its time is over.
func TestBounds(t *testing.T) {
	root := moduleOf(t, "good_test.go")
	assert.Equal(t, []string{"room: 2 of 2 mutants killed (100 %), seed 7"}, report(t, root, "-n", "2", "-seed", "7"))
	assert.Equal(t, []string{"room: 0 of 0 mutants killed (0 %), seed 1; stopped after 1ns, before 2 were tried"},
		report(t, root, "-n", "2", "-time", "1ns"))
}

// A command line that cannot be carried out fails with what to do.
func TestRefusedCommands(t *testing.T) {
	tests := map[string]struct {
		why  string
		test string
		args []string
		want string
	}{
		"NoRoom":  {why: "nothing is measured", test: "good_test.go", want: "no room is named"},
		"Unknown": {why: "a misspelt room is no success", test: "good_test.go", args: []string{"rom"}, want: "cannot read room rom"},
		"Empty":   {why: "a folder without Go has no ratio", test: "good_test.go", args: []string{"."}, want: "no code to change"},
		"NoTests": {why: "a room without tests has no ratio", test: "room.go", args: []string{"room"}, want: "cannot compile the tests of room"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			var out strings.Builder
			assert.ErrorContains(t, run(t.Context(), moduleOf(t, tc.test), tc.args, &out), tc.want, tc.why)
		})
	}
}

// The mutants of code that the made-up room does not have.
func TestMutantsIn(t *testing.T) {
	tests := map[string]struct {
		why  string
		code string
		want []string
	}{
		"Switch": {
			why: "a case of a switch without a value is a condition", code: "switch { case a, err != nil: default: }",
			want: []string{"condition negated: a", "condition negated: err != nil", "error dropped: err != nil"},
		},
		"Value": {why: "a case of a switch with a value is none", code: "switch a { case b: }"},
		"Either": {
			why: "an error is dropped beside another condition", code: "if a || readErr != nil {}",
			want: []string{
				"condition negated: a", "condition negated: a || readErr != nil", "condition negated: readErr != nil", "error dropped: readErr != nil",
			},
		},
		"Log":      {why: "no test reads the log", code: "glog.Infof(a)"},
		"Loop":     {why: "a loop without a condition has none to negate", code: "for { a() }", want: []string{"call left out: a()"}},
		"Init":     {why: "a call that is no statement of its own stays", code: "for a(); ; b() { c() }", want: []string{"call left out: c()"}},
		"Panic":    {why: "a panic ends a function", code: "panic(a)"},
		"Constant": {why: "a constant is the same in every run", code: "const c = a && b"},
		"Closure":  {why: "a call in a closure is one", code: "f := func() { a() }", want: []string{"call left out: a()"}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			all, err := mutantsIn("a.go", []byte("package a\n\nfunc f() {\n\t"+tc.code+"\n}\n"))
			require.NoError(t, err)
			var got []string
			for _, m := range all {
				got = append(got, strings.TrimPrefix(m.String(), "a.go:4: "))
			}
			assert.ElementsMatch(t, tc.want, got, tc.why)
		})
	}
}

// Text that people did not write has no mutants.
func TestGeneratedCode(t *testing.T) {
	all, err := mutantsIn("a.go", []byte("// Code generated by x. DO NOT EDIT.\n\npackage a\n\nfunc f() { a() }\n"))
	require.NoError(t, err)
	assert.Empty(t, all)
}

package conformance_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/conformance"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// The golden report can be read, is about the contract of this version, and each of its checks passes.
func TestGolden(t *testing.T) {
	golden := conformance.Golden()
	assert.Equal(t, contract.Version, golden.Contract)
	assert.Greater(t, len(golden.Checks), 30)
	for _, c := range golden.Checks {
		assert.True(t, c.Passed && c.Found == "", c.Name)
	}
	assert.Empty(t, conformance.Differences(golden, golden))
}

// A report is golden, or its differences are named with what was found; those that are accepted are left out.
func TestDifferences(t *testing.T) {
	golden := conformance.Report{Contract: "1"}.Add("user", nil).Add("root", nil)
	tests := map[string]struct {
		why  string
		got  conformance.Report
		want []string
	}{
		"same":    {"order does not count", conformance.Report{Contract: "1"}.Add("root", nil).Add("user", nil), nil},
		"failed":  {"what was found", golden.Add("x", nil), []string{"x: the golden report does not have it"}},
		"missing": {"an older program", conformance.Report{Contract: "1"}.Add("user", nil), []string{"root: it was not checked"}},
		"other": {
			"another contract, and a user that is another", conformance.Report{Contract: "2"}.Add("root", nil).Add("user", assert.AnError),
			[]string{`contract: it is "2" instead of "1"`, "user: " + assert.AnError.Error()},
		},
		"none": {"no report", conformance.Report{}, []string{`contract: it is "" instead of "1"`, "root: it was not checked", "user: it was not checked"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			found := conformance.Differences(golden, tc.got)
			var lines, names []string
			for _, d := range found {
				lines, names = append(lines, d.String()), append(names, d.Check)
			}
			assert.Equal(t, tc.want, lines, tc.why)
			assert.Empty(t, conformance.Without(found, names...), "all are accepted")
			assert.Equal(t, found, conformance.Without(found, "another"))
		})
	}
	assert.Equal(t, "x: it passed", conformance.Differences(conformance.Report{Contract: "1"}.Add("x", assert.AnError),
		conformance.Report{Contract: "1"}.Add("x", nil))[0].String())
}

// Checks and differences are sorted by name, however they were found.
func TestSorted(t *testing.T) {
	r := conformance.Report{Contract: "1"}.Add("b", nil).Add("c", nil).Add("a", nil)
	assert.Equal(t, []conformance.Check{{Name: "a", Passed: true}, {Name: "b", Passed: true}, {Name: "c", Passed: true}}, r.Checks)
	unsorted := conformance.Report{Contract: "1", Checks: []conformance.Check{{Name: "b"}, {Name: "a"}}}
	assert.Equal(t, []conformance.Difference{
		{Check: "a", Found: "it was not checked"}, {Check: "b", Found: "it was not checked"}, {Check: "c", Found: "the golden report does not have it"},
	}, conformance.Differences(unsorted, conformance.Report{Contract: "1", Checks: []conformance.Check{{Name: "c"}}}))
}

// Differences do not depend on the order of checks, and each names a check that is not the same.
func TestEach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) (r conformance.Report) {
			for name, passed := range rapid.MapOf(rapid.StringMatching("[a-d]"), rapid.Bool()).Draw(t, label) {
				var err error
				if !passed {
					err = assert.AnError
				}
				r = r.Add(name, err)
			}
			return r
		}
		golden, got := draw("golden"), draw("got")
		result := func(r conformance.Report, name string) string {
			for _, c := range r.Checks {
				if c.Name == name {
					return map[bool]string{true: "passed", false: "failed"}[c.Passed]
				}
			}
			return ""
		}
		named := map[string]bool{}
		for _, d := range conformance.Differences(golden, got) {
			named[d.Check] = true
		}
		for name := range strings.SplitSeq("abcd", "") {
			assert.Equal(t, result(golden, name) != result(got, name), named[name], name)
		}
	})
}

// What is no report is an error.
func TestParse(t *testing.T) {
	for _, text := range []string{"no report", "", "[]", `{"contract":1}`, `{"contract":"` + strings.Repeat("x", 64<<10) + `"}`} {
		_, err := conformance.Parse([]byte(text))
		require.ErrorContains(t, err, "cannot read the report")
	}
}

// FuzzParse has no report end a program.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"contract":"1","checks":[{"name":"user","passed":false,"found":"it is root"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := conformance.Parse(text)
		if err == nil {
			assert.NotEmpty(t, conformance.Differences(conformance.Golden(), r.Add("one", nil)))
		}
	})
}

package conformance_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/conformance"
)

// A report is golden or its differences are named, and a list of allowed ones that is out of date is a difference.
func TestDifferences(t *testing.T) {
	text, err := os.ReadFile("testdata/report.json")
	require.NoError(t, err)
	golden, err := conformance.Parse(text)
	require.NoError(t, err)
	assert.Empty(t, conformance.Differences(golden, golden))
	assert.Equal(t, []string{"user: it is as it must be: allow it no longer"}, conformance.Differences(golden, golden, "user"))

	got, err := conformance.Parse([]byte(`{"contract":"2","checks":[{"name":"user","passed":false,"found":"it is root"},{"name":"new","passed":true}]}`))
	require.NoError(t, err)
	found := conformance.Differences(golden, got, "root")
	assert.Contains(t, found, "user: it is root")
	assert.Contains(t, found, `contract "2" instead of "1"`)
	assert.Contains(t, found, "root: it was not checked")
	assert.Contains(t, found, "new: the golden report does not have it")
	_, err = conformance.Parse([]byte("no report"))
	require.ErrorContains(t, err, "cannot read the report")
}

// The program says what it can do.
func TestMisused(t *testing.T) {
	for _, args := range [][]string{nil, {"jump"}, {"exit", "x"}} {
		assert.Equal(t, 1, conformance.Main(args, os.Stdout, os.Stderr), args)
	}
}

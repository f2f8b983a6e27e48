package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

func TestReadPolicy(t *testing.T) {
	none, err := readPolicy("")
	require.NoError(t, err)
	assert.Empty(t, none.Refusals(bundle.Plan{}.Preview()))

	file := filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(file, []byte("- {name: quiet, expression: 'plan.actions.size() > 0', message: it does nothing}"), 0o600))
	rules, err := readPolicy(file)
	require.NoError(t, err)
	refusals := rules.Refusals(bundle.Plan{}.Preview())
	require.Equal(t, []bundle.Refusal{{Rule: "quiet", Message: "it does nothing"}}, refusals)
	var code codeError
	require.ErrorAs(t, coded(bundle.Allowed(refusals)), &code)
	assert.Equal(t, exitConflict, code.code)

	require.NoError(t, os.WriteFile(file, []byte("- {name: quiet, expression: 'plan.nothing'}"), 0o600))
	_, err = readPolicy(file)
	require.ErrorContains(t, err, "undefined field 'nothing'")
	_, err = readPolicy(file + "x")
	require.ErrorContains(t, err, "cannot read the policy")
}

package shim_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// typed runs a script as a template of a type, with files in its working directory, and returns how it ended.
func typed(t *testing.T, kind, parameters string, files map[string]string, script string) (exchange.Folder, exchange.Ended) {
	at, secrets := exchange.Folder(t.TempDir()), t.TempDir()
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(string(at), name), []byte(content), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(secrets, "password"), []byte("hunter2"), 0o600))
	file := filepath.Join(t.TempDir(), "parameters")
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(parameters, "SECRETS", secrets)), 0o600))
	start(t, at, "sh", "-c", script)
	require.NoError(t, at.WriteStart(exchange.Start{Environment: []string{
		"ORCON_TYPE=" + kind, "ORCON_PARAMETERS=" + file, "ORCON_SECRETS=" + secrets, "TF_HTTP_ADDRESS=http://127.0.0.1:1/state",
	}}))
	return at, wait(t, at)
}

// JOBS.md J15: a tool finds its parameters where it reads them, and a secret in a variable alone.
func TestTypes(t *testing.T) {
	at, ended := typed(t, "opentofu", `{"size": 3, "password": {"fromFile": "SECRETS/password"}}`, nil,
		`grep -q '"size": 3' terraform.tfvars.json && ! grep -rq hunter2 . && grep -q http orcon_override.tf.json && test $TF_VAR_password = hunter2 &&
		test $TF_INPUT = 0`)
	assert.Equal(t, exchange.Ended{Ran: true}, ended, output(t, at, "stderr"))
	t.Setenv("TF_INPUT", "1")
	_, ended = typed(t, "opentofu", `{}`, nil, `test $TF_INPUT = 1 && test $TF_IN_AUTOMATION = 1`)
	assert.Equal(t, exchange.Ended{Ran: true}, ended, "the template's own variable wins")
	_, ended = typed(t, "ansible", `{"name": "{{ x }}"}`, nil, `grep -q '"__ansible_unsafe": "{{ x }}"' extra-vars.json`)
	assert.Equal(t, exchange.Ended{Ran: true}, ended)
	_, ended = typed(t, "", `{"a b": 1}`, nil, `! test -e terraform.tfvars.json && ! test -e extra-vars.json`)
	assert.Equal(t, exchange.Ended{Ran: true}, ended)
}

// JOBS.md J15: what cannot be prepared starts nothing, and the message has the cure.
func TestTypesRefused(t *testing.T) {
	for label, tc := range map[string]struct {
		kind, parameters, says string
		files                  map[string]string
	}{
		"Taken":   {kind: "opentofu", parameters: `{}`, files: map[string]string{"terraform.tfvars.json": "{}"}, says: "the template has a file terraform.tfvars.json"},
		"Type":    {kind: "opentufu", parameters: `{}`, says: `did you mean "opentofu"?`},
		"Name":    {kind: "ansible", parameters: `{"a-b": 1}`, says: `parameter "a-b"`},
		"Missing": {kind: "opentofu", parameters: `{"p": {"fromFile": "SECRETS/none"}}`, says: "cannot read the secret for TF_VAR_p"},
	} {
		t.Run(label, func(t *testing.T) {
			at, ended := typed(t, tc.kind, tc.parameters, tc.files, `touch ran`)
			assert.Equal(t, contract.NotStarted, ended.Code)
			assert.Contains(t, ended.Message, tc.says)
			assert.NoFileExists(t, filepath.Join(string(at), "ran"))
		})
	}
}

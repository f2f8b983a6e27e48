package contract_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// JOBS.md J15: a template can rely on the meaning of a code.
func TestOriginOf(t *testing.T) {
	tests := map[string]struct {
		why  string
		code int
		want contract.Origin
		text string
	}{
		"Success":   {why: "0 is the template's", code: 0, want: contract.OfTemplate, text: "succeeded"},
		"First":     {why: "the lowest failure", code: 1, want: contract.OfTemplate, text: "failed with exit code 1"},
		"Last":      {why: "the highest code of a template", code: 63, want: contract.OfTemplate, text: "failed with exit code 63"},
		"Exec":      {why: "the lowest code of the runner", code: 64, want: contract.OfRunner, text: "could not be executed"},
		"Refused":   {why: "no claim", code: 65, want: contract.OfRunner, text: "refused"},
		"Vanished":  {why: "out of memory took the shim too", code: 66, want: contract.OfRunner, text: "before its process reported"},
		"Reserved":  {why: "no meaning yet, but the runner's", code: 79, want: contract.OfRunner, text: "reserved"},
		"Between":   {why: "shells use 126 and 127: the template's own", code: 127, want: contract.OfTemplate, text: "no meaning"},
		"NoSignal":  {why: "there is no signal 0", code: 128, want: contract.OfTemplate, text: "no meaning"},
		"Kill":      {why: "SIGKILL", code: 137, want: contract.OfSignal, text: "signal 9"},
		"LastReal":  {why: "the highest signal", code: 192, want: contract.OfSignal, text: "signal 64"},
		"NoSuchOne": {why: "beyond the signals", code: 193, want: contract.OfTemplate, text: "no meaning"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			assert.Equal(t, tc.want, contract.OriginOf(tc.code), tc.why)
			assert.Contains(t, contract.Explain(tc.code), tc.text, tc.why)
		})
	}
	assert.Equal(t, 143, contract.OfSignalNumber(15))
}

// JOBS.md J15: the variables of a run, word by word: templates depend on them.
func TestEnvironment(t *testing.T) {
	run := contract.Run{
		Namespace: "team", Workspace: "network", Name: "network-7", Action: "deploy", Attempt: 2, Generation: 41,
		Backend: "http://127.0.0.1:8731/state",
	}
	want := []string{
		"ORCON_CONTRACT=1", "ORCON_NAMESPACE=team", "ORCON_WORKSPACE=network", "ORCON_RUN=network-7", "ORCON_ATTEMPT=2",
		"ORCON_ACTION=deploy", "ORCON_GENERATION=41", "ORCON_STATE=/state",
		"ORCON_PARAMETERS=/state/template-parameters.json", "ORCON_OUTPUTS=/state/outputs.json", "ORCON_LOGS=/logs",
		"ORCON_SECRETS=/run/orcon/secrets", "HOME=/home/orcon", "TMPDIR=/tmp",
		"TF_HTTP_ADDRESS=http://127.0.0.1:8731/state", "TF_HTTP_LOCK_ADDRESS=http://127.0.0.1:8731/state",
		"TF_HTTP_UNLOCK_ADDRESS=http://127.0.0.1:8731/state", "TF_HTTP_LOCK_METHOD=LOCK", "TF_HTTP_UNLOCK_METHOD=UNLOCK",
		"TF_HTTP_UPDATE_METHOD=POST",
	}
	assert.Equal(t, want, contract.Environment(run))
	run.Backend = ""
	assert.Equal(t, want[:14], contract.Environment(run), "no backend, no variables of it")
	run.Type = "opentofu"
	assert.Equal(t, append(want[:14:14], "ORCON_TYPE=opentofu"), contract.Environment(run))
	assert.True(t, contract.Reserved("ORCON_NEW"))
	assert.True(t, contract.Reserved("TF_HTTP_PASSWORD"))
	assert.False(t, contract.Reserved("VAULT_ADDR"))
}

func TestParseOutputs(t *testing.T) {
	got, err := contract.ParseOutputs([]byte("{\n \"url\": \"https://a.example\",\n \"big\": 12345678901234567890.50,\n" +
		" \"list\": [1, {\"a\": null}]\n}\n"))
	require.NoError(t, err)
	assert.Equal(t, []contract.Output{
		{Name: "big", Value: "12345678901234567890.50"}, {Name: "list", Value: `[1,{"a":null}]`}, {Name: "url", Value: `"https://a.example"`},
	}, got)
	for _, none := range []string{"", " \n", "{}"} {
		got, err := contract.ParseOutputs([]byte(none))
		require.NoError(t, err, none)
		assert.Empty(t, got, none)
	}
}

func TestParseOutputsRefuses(t *testing.T) {
	var many strings.Builder
	for i := range contract.MaxOutputs + 1 {
		fmt.Fprintf(&many, ",\n\"o%d\": 1", i)
	}
	tests := map[string]struct {
		why, text, want string
	}{
		"List":     {why: "outputs have names", text: "[]", want: `line 1: it is not a JSON object: write {"NAME": VALUE}`},
		"CutOff":   {why: "killed while it was written", text: "{\n\"a\": [1,", want: "line 2: the file ends within a value"},
		"CutName":  {why: "killed while it was written", text: "{\n\"a", want: "the file ends within a value"},
		"CutEnd":   {why: "killed while it was written", text: "{\n\"a\": 1\n", want: "line 2: the file ends within a value"},
		"Twice":    {why: "which counts?", text: "{\"a\": 1,\n\"b\": 2,\n\"a\": 3}", want: `line 3: output "a" is there twice`},
		"Name":     {why: "it becomes a key of a Secret", text: `{"a/b": 1}`, want: `line 1: cannot use output name "a/b"`},
		"Empty":    {why: "no name", text: `{"": 1}`, want: `cannot use output name ""`},
		"Trailing": {why: "two programs have written", text: "{}\n{}", want: "line 2: something follows"},
		"Syntax":   {why: "no JSON", text: "{\n\"a\": yes}", want: "line 2: invalid character"},
		"Many":     {why: "it is stored in a status", text: "{" + many.String()[1:] + "}", want: "line 130: it has more than 128 outputs"},
		"Large":    {why: "it is stored in a status", text: strings.Repeat(" ", contract.MaxOutputBytes+1), want: "more than 262144"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			_, err := contract.ParseOutputs([]byte(tc.text))
			assert.ErrorContains(t, err, tc.want, tc.why)
		})
	}
}

// FuzzParseOutputs takes any bytes: outputs that are accepted are within the limits, and are the same if they are
// written and read again.
func FuzzParseOutputs(f *testing.F) {
	f.Add([]byte(`{"a": 1, "b": [true, "x"]}`))
	f.Add([]byte(`{"a": {"a": 1, "a": 2}}`))
	f.Add([]byte("{\"a\": 1e999}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := contract.ParseOutputs(text)
		if err != nil {
			require.Nil(t, got)
			return
		}
		require.LessOrEqual(t, len(got), contract.MaxOutputs)
		require.True(t, slices.IsSortedFunc(got, func(a, b contract.Output) int { return strings.Compare(a.Name, b.Name) }))
		again := map[string]json.RawMessage{}
		for _, one := range got {
			require.True(t, json.Valid([]byte(one.Value)))
			again[one.Name] = json.RawMessage(one.Value)
		}
		var written bytes.Buffer
		out := json.NewEncoder(&written)
		out.SetEscapeHTML(false)
		require.NoError(t, out.Encode(again))
		same, err := contract.ParseOutputs(written.Bytes())
		require.NoError(t, err)
		require.Len(t, same, len(got))
	})
}

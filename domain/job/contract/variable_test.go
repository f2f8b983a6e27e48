package contract_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// JOBS.md J15: an operator gives any variable to each run but those of the contract.
func TestParseVariable(t *testing.T) {
	tests := map[string]struct {
		text, name, value, says string
	}{
		"Plain":    {text: "VAULT_ADDR=https://vault.example.org", name: "VAULT_ADDR", value: "https://vault.example.org"},
		"Empty":    {text: "no_proxy=", name: "no_proxy"},
		"Equals":   {text: "A=b=c d", name: "A", value: "b=c d"},
		"None":     {text: "VAULT_ADDR", says: `variable "VAULT_ADDR" has no value: write NAME=VALUE`},
		"Nameless": {text: "=x", says: `"" cannot name a variable`},
		"Digit":    {text: "1A=x", says: `"1A" cannot name a variable: use letters, digits and _, and begin with no digit`},
		"Reserved": {text: "ORCON_RUN=x", says: "variable ORCON_RUN belongs to Orcon: use another name"},
		"Backend":  {text: "TF_HTTP_PASSWORD=x", says: "belongs to Orcon"},
		"Home":     {text: "HOME=/x", says: "variable HOME belongs to Orcon"},
		"Long":     {text: "A=" + strings.Repeat("x", contract.MaxVariable+1), says: "is longer than 4096 bytes"},
		"Zero":     {text: "A=\x00", says: "or has one that is 0"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			name, value, err := contract.ParseVariable(tc.text)
			if tc.says != "" {
				require.ErrorContains(t, err, tc.says)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.name, name)
			assert.Equal(t, tc.value, value)
		})
	}
}

// What is accepted is written as it was read, and is none of the contract's.
func FuzzParseVariable(f *testing.F) {
	f.Add("VAULT_ADDR=https://vault.example.org")
	f.Add("ORCON_RUN=x")
	f.Fuzz(func(t *testing.T, text string) {
		name, value, err := contract.ParseVariable(text)
		if err != nil {
			assert.Empty(t, name+value)
			return
		}
		assert.Equal(t, text, name+"="+value)
		assert.False(t, contract.Reserved(name))
	})
}

package contract_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// Outputs that a keeper takes are taken by the controller as well, after JSON has carried them. Bytes that are no text grow on
// the way, and are refused before.
func TestOutputsAreText(t *testing.T) {
	for _, letter := range []string{"x", "<", "é", "\xff"} {
		file, err := contract.Mark(`{"page":"`+strings.Repeat(letter, 200<<10/len(letter))+`"}`, func(string) bool { return false })
		if letter == "\xff" {
			require.EqualError(t, err, "cannot use outputs.json: it is not UTF-8: write bytes as base64")
			continue
		}
		require.NoError(t, err)
		text, err := json.Marshal(file)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &file))
		_, _, err = contract.Part(file, nil)
		require.NoError(t, err)
	}
}

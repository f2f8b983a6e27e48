package serve_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/runner"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// JOBS.md J9: an end with outputs of the largest size is recorded, whatever is in them: JSON within JSON is longer.
func TestLargestOutputs(t *testing.T) {
	for _, letter := range []string{"x", `\"`, "<"} {
		b := newBench(t)
		b.send(t, request{token: "p", method: "POST", path: "r/claim", body: claimOf + `p"}`, status: 200})
		outputs := `{"page":"` + strings.Repeat(letter, (contract.MaxOutputBytes-len(`{"page":""}`))/len(letter)) + `"}`
		_, err := contract.ParseOutputs([]byte(outputs))
		require.NoError(t, err)
		end, err := json.Marshal(runner.End{Fence: 1, Outcome: "unchanged", Outputs: outputs})
		require.NoError(t, err)
		b.send(t, request{why: letter, token: "p", method: "POST", path: "r/end", status: 200, body: string(end)})
		assert.NotEmpty(t, b.ReportOf("r").Outputs)
	}
}

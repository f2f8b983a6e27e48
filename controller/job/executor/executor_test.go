package executor_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// JOBS.md J15: the contract's variables win over those of a template, which win over those of the installation; the
// generation is not known before the claim.
func TestEnvironment(t *testing.T) {
	a := executor.Attempt{
		Name: executor.Name{Namespace: "ns", Run: "web-1", UID: "u", Number: 2}, Workspace: "web",
		Input:     run.Input{Action: "deploy", Env: map[string]string{"A": "b", "ORCON_RUN": "forged", "HOME": "/elsewhere"}},
		Variables: map[string]string{"A": "installation", "VAULT_ADDR": "https://vault", "ORCON_ATTEMPT": "forged"},
	}
	got := a.Environment()
	assert.Equal(t, "b", got["A"])
	assert.Equal(t, "https://vault", got["VAULT_ADDR"])
	assert.Equal(t, "web-1", got["ORCON_RUN"])
	assert.Equal(t, "/home/orcon", got["HOME"])
	assert.Equal(t, "2", got["ORCON_ATTEMPT"])
	assert.NotContains(t, got, "ORCON_GENERATION")
	assert.Len(t, a.Input.Env, 3, "the input stays")
	a.Input.Env = nil
	assert.Equal(t, "web", a.Environment()["ORCON_WORKSPACE"])
}

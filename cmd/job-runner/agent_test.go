package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
)

// An agent that cannot begin tells what it needs. Its program is there for containers by then.
func TestAgent(t *testing.T) {
	invitation := node.Invitation{Address: "https://127.0.0.1:1", Node: "lab", Secret: "word", Authorities: []string{"sha256:a"}}
	tests := map[string]struct {
		why   string
		token string
		args  []string
		code  int
		says  string
	}{
		"unjoined": {"no token", "", nil, contract.Refused, "this machine has not joined: use --join FILE"},
		"broken":   {"a part of a token", "orcon-node.x", nil, contract.Refused, "use the whole word that orcon job node join printed"},
		"away":     {"no controller", invitation.String(), nil, contract.Refused, "cannot join as RunNode lab: "},
		"argument": {"a word too many", "", []string{"lab"}, contract.Misused, `unexpected argument "lab"`},
		"flag":     {"no such flag", "", []string{"--frob"}, contract.Misused, "frob"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			token := filepath.Join(folder, "token")
			if tc.token != "" {
				require.NoError(t, os.WriteFile(token, []byte(tc.token), 0o600))
			}
			ctx, end := context.WithTimeout(t.Context(), time.Second)
			defer end()
			code, err := runAgent(ctx, append([]string{"--folder", folder, "--join", token, "--retry", "1ms", "--secrets", memory(t)}, tc.args...), io.Discard)
			assert.Equal(t, tc.code, code, tc.why)
			require.ErrorContains(t, err, tc.says)
			if code == contract.Refused {
				info, err := os.Stat(filepath.Join(folder, "job-runner"))
				require.NoError(t, err)
				assert.Equal(t, os.FileMode(0o555), info.Mode())
			}
		})
	}
}

package shim_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
)

// JOBS.md J14: no secret gets into the segments of an output, in any form, also one that is replaced while the
// program runs.
func TestRedacted(t *testing.T) {
	at, secrets := exchange.Folder(t.TempDir()), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(secrets, "password"), []byte("s3cret-1\n"), 0o600))
	start(t, at, "sh", "-c", `printf 'a s3cr'; printf 'et-1 b '; printf 'czNjcmV0LTEK' >&2
		printf s3cret-2 >$ORCON_SECRETS/new; mv $ORCON_SECRETS/new $ORCON_SECRETS/password; printf 's3cret-1 s3cret-2 s3cr'`)
	require.NoError(t, at.WriteStart(exchange.Start{Environment: []string{"ORCON_SECRETS=" + secrets}}))
	require.Equal(t, exchange.Ended{Ran: true}, wait(t, at))
	assert.Equal(t, "a [redacted] b [redacted] [redacted] s3cr", output(t, at, "stdout"))
	assert.Equal(t, "[redacted]", output(t, at, "stderr"))
}

package keeper_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
)

// JOBS.md J4 and J7: a run ends, with its state, also where its program or a loss of power has spoilt a message.
func TestSpoiltExchange(t *testing.T) {
	for what, script := range map[string]string{
		"ended": `: >$BASE/exchange/ended`,
		"pipe":  `mkfifo $BASE/exchange/ended`,
	} {
		t.Run(what, func(t *testing.T) {
			b := newBench(t, `echo x >$STATE/x; `+script)
			m := &model{next: hold()}
			_, err := b.run(t, m, b.store(t), nil)
			require.NoError(t, err)
			e := only(t, m)
			assert.Equal(t, job.Committed, e.Outcome)
			assert.True(t, e.Process.Ran && e.Process.Killed, "nobody knows how it ended")
			assert.NotEmpty(t, e.Process.Message)
		})
	}
}

// A machine that loses its power may leave a file of the exchange folder without its content.
func TestStartIsEmpty(t *testing.T) {
	b := newBench(t, "true")
	require.NoError(t, os.WriteFile(b.path("exchange/start"), nil, 0o600))
	require.NoError(t, os.WriteFile(b.path("exchange/started"), nil, 0o600))
	require.NoError(t, os.WriteFile(b.path("state/x"), nil, 0o600))
	m := &model{next: hold()}
	err := b.keeperWith(m, b.store(t), nil).Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, job.Committed, only(t, m).Outcome)
}

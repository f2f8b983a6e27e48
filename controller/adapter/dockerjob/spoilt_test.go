package dockerjob

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// JOBS.md J4: an attempt whose end is recorded is over, also where its program has spoilt the outcome that it is told.
func TestSpoiltOutcome(t *testing.T) {
	_, c := newFake(t, "example.org/a:1")
	path := folder(t)
	e := open(t, c, path, func(_ context.Context, _ executor.Attempt, f Mounts, _ <-chan struct{}) error {
		err := os.WriteFile(filepath.Join(string(f.Exchange()), "outcome"), nil, 0o600)
		require.NoError(t, err)
		return f.Exchange().WriteOutcome(exchange.Outcome{Code: contract.Success})
	})
	require.NoError(t, e.Start(t.Context(), attempt()))
	sees(t, e, func(s executor.Sight) bool { return s.Over })
}

// JOBS.md J4: an attempt whose program has spoilt the report of its end is seen, as any other.
func TestSpoiltEnd(t *testing.T) {
	fake, c := newFake(t, "example.org/a:1")
	e := open(t, c, folder(t), func(_ context.Context, _ executor.Attempt, f Mounts, _ <-chan struct{}) error {
		err := os.WriteFile(filepath.Join(string(f.Exchange()), "ended"), nil, 0o600)
		require.NoError(t, err)
		fake.end()
		return f.Exchange().WriteOutcome(exchange.Outcome{Code: contract.Success})
	})
	require.NoError(t, e.Start(t.Context(), attempt()))
	sees(t, e, func(s executor.Sight) bool { return s.Over })
}

package keeper_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/log"
)

// secretValue is that of the secret of runs.
const secretValue = "s3cret-value"

// lent has the secrets of a run, after it has failed so many times.
type lent struct {
	failures int
	failing  error
}

// Secrets implements keeper.SecretSource.
func (s *lent) Secrets(context.Context) (map[string][]byte, error) {
	if s.failures--; s.failures >= 0 {
		return nil, s.failing
	}
	return map[string][]byte{"password": []byte(secretValue)}, nil
}

// JOBS.md J14: a run finds its secrets when it starts, also where the controller is away for a moment, and cannot change them.
func TestSecrets(t *testing.T) {
	b := newBench(t, `test "$(cat $BASE/secrets/password)" = s3cret-value && test "$(stat -c %a $BASE/secrets/password)" = 444`)
	require.NoError(t, os.Mkdir(b.path("secrets"), 0o700))
	require.NoError(t, os.WriteFile(b.path("secrets/password"), []byte("of a keeper that was killed"), 0o400))
	b.secrets = &lent{failures: 2, failing: errors.New("the controller is away")}
	code, err := b.run(t, &model{next: hold()}, b.store(t), nil)
	require.NoError(t, err)
	assert.Zero(t, code)
}

// JOBS-DESIGN.md 16: a run that fetches tokens finds what its pod has beside them, as it is then, and the keeper knows both.
func TestSecretsBeside(t *testing.T) {
	b := newBench(t, `cat $BASE/secrets/password $BASE/secrets/key >$BASE/logs/a; ls -A $BASE/secrets >$BASE/logs/b`)
	for _, name := range []string{"secrets", "stored", "stored/..data"} {
		require.NoError(t, os.Mkdir(b.path(name), 0o700))
	}
	require.NoError(t, os.WriteFile(b.path("stored/..data/key"), []byte("of a Secret\n"), 0o600))
	require.NoError(t, os.Symlink("..data/key", b.path("stored/key")))
	require.NoError(t, os.Symlink(b.path("stored/key"), b.path("secrets/key"))) // of a keeper that was killed
	out := &sink{text: map[string]string{}, ended: map[string]bool{}}
	b.secrets, b.chunks, b.Stored = &lent{}, out, b.path("stored")
	_, err := b.run(t, &model{next: hold()}, b.store(t), nil)
	require.NoError(t, err)
	assert.Equal(t, "[redacted][redacted]\n", out.read(log.StreamOf("a")))
	assert.Equal(t, "key\npassword\n", out.read(log.StreamOf("b")))
}

// A run whose secrets cannot be had never starts its program, and changes no state.
func TestSecretsRefused(t *testing.T) {
	for says, spoil := range map[string]func(b bench){
		"cannot fetch the secrets: the claim is past: ": func(bench) {},
		"cannot write the secrets: ":                    func(b bench) { b.secrets.failures = 0 },
		"cannot write secret password: ": func(b bench) {
			b.secrets.failures = 0
			_ = os.MkdirAll(b.path("secrets/password/sub"), 0o700)
		},
	} {
		b := newBench(t, `touch $STATE/ran`)
		b.secrets = &lent{failures: 1, failing: errors.Join(errors.New("the claim is past: "), keeper.ErrStale)}
		spoil(b)
		m := &model{next: hold()}
		_, err := b.run(t, m, b.store(t), nil)
		require.ErrorContains(t, err, says)
		e := only(t, m)
		assert.Equal(t, job.None, e.Outcome)
		assert.False(t, e.Process.Ran)
	}
}

// JOBS.md J14: a keeper that is started again finds the values that must not leave, also where a restart of the machine has
// removed them. Where it gets them no more, neither outputs nor log files leave.
func TestSecretsAgain(t *testing.T) {
	for label, tc := range map[string]struct {
		why    string
		spoil  func(t *testing.T, b bench)
		kept   string
		output string
	}{
		"There": {"they are still there", func(_ *testing.T, b bench) { b.secrets.failures = 1 }, "[redacted]\n", `{"o":{"sensitive":true,"value":"s3cret-value"}}`},
		"Gone": {"the machine was restarted", func(t *testing.T, b bench) {
			require.NoError(t, os.Remove(b.path("secrets/password")))
		}, "[redacted]\n", `{"o":{"sensitive":true,"value":"s3cret-value"}}`},
		"Refused": {"another has the run", func(t *testing.T, b bench) {
			require.NoError(t, os.Remove(b.path("secrets/password")))
			b.secrets.failures = 1
		}, "", ""},
	} {
		t.Run(label, func(t *testing.T) {
			b := newBench(t, `while ! test -e $BASE/go; do sleep 0.02; done; echo '{"o":"s3cret-value"}' >$STATE/outputs.json; echo s3cret-value >$BASE/logs/a`)
			require.NoError(t, os.Mkdir(b.path("secrets"), 0o700))
			out := &sink{text: map[string]string{}, ended: map[string]bool{}}
			b.secrets, b.chunks = &lent{failing: keeper.ErrStale}, out
			m, store := &model{next: hold()}, b.store(t)
			first, end := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- b.keeperWith(m, store, nil).Run(first) }()
			s := b.start(t, shimPart)
			until(t, "it started", func() bool { return b.there("exchange/started") })
			end()
			require.ErrorIs(t, <-ended, context.Canceled)
			tc.spoil(t, b)
			require.NoError(t, os.WriteFile(b.path("go"), nil, 0o600))
			require.NoError(t, b.keeperWith(m, store, nil).Run(t.Context()), tc.why)
			assert.Zero(t, s.code(t))
			assert.Equal(t, tc.output, only(t, m).Outputs, tc.why)
			assert.Equal(t, tc.kept, out.read(log.StreamOf("a")), tc.why)
			assert.Equal(t, label == "Refused", only(t, m).Message != "", tc.why)
		})
	}
}

package secret

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// cluster is a World in which namespace shop holds two secrets of a forgotten unit,
// and broken cannot be observed.
type cluster struct {
	applied chan secret.Decision
	refuse  error
}

func (c *cluster) Namespaces(context.Context) ([]string, error) {
	return []string{"broken", "shop"}, c.refuse
}

func (c *cluster) Observe(_ context.Context, namespace string) (secret.Snapshot, error) {
	if namespace == "broken" {
		return secret.Snapshot{}, errors.New("the API server is out of reach")
	}
	owned := secret.Secret{Owner: secret.Owner{Application: "db", Unit: "0"}, Revisions: []secret.Revision{{Number: 1}}}
	a, b := owned, owned
	a.ID, b.ID = "a", "b"
	return secret.Snapshot{Secrets: []secret.Secret{a, b}, Units: map[string]secret.Roll{"db": {Next: 1}}}, nil
}

func (c *cluster) Apply(_ context.Context, _ string, d secret.Decision) error {
	c.applied <- d
	return errors.New("the API server is out of reach")
}

// It sweeps at once and at each tick, and what fails holds back nothing else.
func TestSweeper(t *testing.T) {
	c := &cluster{applied: make(chan secret.Decision, 6), refuse: errors.New("half of the list")}
	tick := make(chan time.Time)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- (&Sweeper{World: c, Tick: tick}).Start(ctx) }()
	for range 2 {
		assert.Equal(t, secret.End{ID: "a"}, <-c.applied)
		assert.Equal(t, secret.End{ID: "b"}, <-c.applied)
		select {
		case tick <- time.Time{}:
		case <-time.After(5 * time.Second):
			require.Fail(t, "it does not go on")
		}
	}
	stop()
	require.NoError(t, <-done)
	for _, d := range []secret.Decision{secret.End{ID: "x"}, secret.LetGo{ID: "x"}, secret.Unmark{}, secret.Discard{}} {
		assert.NotEmpty(t, describe(d))
	}
}

package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// storing is a controller that takes a while to store a commit.
type storing struct {
	*controller

	takes time.Duration
}

func (s storing) Commit(ctx context.Context, request *wire.CommitRequest) (*wire.CommitResponse, error) {
	select {
	case <-time.After(s.takes):
		return s.controller.Commit(ctx, request)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A leader that ends resigns only if none of its commits may still be stored: another unit leads as soon as it has resigned,
// and would not have seen what is stored afterwards (SAFETY.md P1).
func TestALeaderResignsAfterItsCommits(t *testing.T) {
	for name, tc := range map[string]struct {
		// takes is how long a commit takes, lost whether its answer is lost then, and ends how long after its begin the agent ends.
		takes, ends time.Duration
		lost        bool
		resigns     bool
	}{
		"Answered":      {takes: time.Second, ends: 2 * time.Second, resigns: true},
		"Answers":       {takes: 2 * time.Second, ends: 1500 * time.Millisecond, resigns: true},
		"UnderWay":      {takes: 8 * time.Second, ends: time.Second},
		"LosesAnswer":   {takes: 2 * time.Second, ends: 1500 * time.Millisecond, lost: true},
		"LostAnswer":    {takes: time.Second, ends: 5 * time.Second, lost: true},
		"LostLongSince": {takes: time.Second, ends: 12 * time.Second, lost: true, resigns: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &controller{leader: &wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 4}}
				s := NewSpeech(storing{c, tc.takes})
				s.hear(whole(heardAt(1)))
				_, err := s.Leader(t.Context())
				require.NoError(t, err)
				known, err := s.Snapshot()
				require.NoError(t, err)
				transaction := conversation.Begin(known)
				require.NoError(t, transaction.Set("r", true, map[string]string{"database": "e"}))
				if tc.lost {
					c.err = errors.New("connection reset")
				}
				committed := make(chan struct{})
				go func() {
					defer close(committed)
					_ = s.Commit(t.Context(), "relation-set", transaction, nil)
				}()
				ctx, end := context.WithTimeout(t.Context(), tc.ends)
				defer end()
				began := time.Now()
				s.Run(ctx)
				resigned := len(c.leads) > 0 && c.leads[len(c.leads)-1].GetResign()
				assert.Equal(t, tc.resigns, resigned)
				assert.LessOrEqual(t, time.Since(began), tc.ends+resigning, "a pod's deletion waits for it")
				<-committed
			})
		})
	}
}

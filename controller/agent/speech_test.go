package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
)

// controller is the other end of a Speech: it takes what it is told, at a
// revision.
type controller struct {
	commits  []*wire.CommitRequest
	leads    []*wire.LeadRequest
	left     []string
	revision uint64
	leader   *wire.LeadResponse
	err      error
	// delays are what the next requests for data are put off with.
	delays []error

	// secrets are what ListSecrets answers, content what GetSecret does.
	secrets []*wire.Secret
	content map[string][]byte
	gets    []*wire.GetSecretRequest
	// latest is the revision of each secret; 0 for the first.
	latest int64

	// reports are what Report was told, statuses what SetStatus was, and asked what
	// GetStatus was, which answers status; all fail by mute.
	reports  []*wire.HandlerFailure
	mu       sync.Mutex
	tried    int
	waits    []string
	statuses []*wire.SetStatusRequest
	asked    []*wire.GetStatusRequest
	status   *wire.GetStatusResponse
	mute     error
	// unwritten are the reports of files that cannot be written.
	unwritten []string
}

func (c *controller) Report(_ context.Context, request *wire.ReportRequest) (*wire.ReportResponse, error) {
	c.mu.Lock()
	c.tried++
	c.mu.Unlock()
	switch {
	case c.mute != nil:
	case request.GetWaiting() != "":
		c.mu.Lock()
		c.waits = append(c.waits, request.GetWaiting())
		c.mu.Unlock()
	case request.GetUnwritten() != "":
		c.mu.Lock()
		c.unwritten = append(c.unwritten, request.GetUnwritten())
		c.mu.Unlock()
	default:
		c.reports = append(c.reports, request.GetFailing())
	}
	return &wire.ReportResponse{}, c.mute
}

func (c *controller) SetStatus(_ context.Context, request *wire.SetStatusRequest) (*wire.SetStatusResponse, error) {
	if err := c.delayed(); err != nil {
		return nil, err
	}
	c.statuses = append(c.statuses, request)
	return &wire.SetStatusResponse{}, c.mute
}

func (c *controller) GetStatus(_ context.Context, request *wire.GetStatusRequest) (*wire.GetStatusResponse, error) {
	if err := c.delayed(); err != nil {
		return nil, err
	}
	c.asked = append(c.asked, request)
	return c.status, c.mute
}

func (c *controller) GetSecret(_ context.Context, request *wire.GetSecretRequest) (*wire.GetSecretResponse, error) {
	if err := c.delayed(); err != nil {
		return nil, err
	}
	c.gets = append(c.gets, request)
	latest := max(c.latest, 1)
	if of := request.GetRevision(); of > 0 && of != latest {
		return nil, &conversation.Error{Kind: conversation.Gone, Message: fmt.Sprintf("the latest is %d", latest), Cure: "take it"}
	}
	return &wire.GetSecretResponse{Id: request.GetId(), Revision: latest, Content: c.content}, c.err
}

func (c *controller) ListSecrets(context.Context, *wire.ListSecretsRequest) (*wire.ListSecretsResponse, error) {
	if err := c.delayed(); err != nil {
		return nil, err
	}
	return &wire.ListSecretsResponse{Secrets: c.secrets}, c.err
}

func (c *controller) Commit(_ context.Context, request *wire.CommitRequest) (*wire.CommitResponse, error) {
	if err := c.delayed(); err != nil {
		return nil, err
	}
	c.commits = append(c.commits, request)
	return &wire.CommitResponse{Revisions: map[string]uint64{"databags": c.revision}}, c.err
}

// delayed puts a request off, as long as there are delays.
func (c *controller) delayed() error {
	if len(c.delays) == 0 {
		return nil
	}
	delay := c.delays[0]
	c.delays = c.delays[1:]
	return delay
}

func (c *controller) Lead(_ context.Context, request *wire.LeadRequest) (*wire.LeadResponse, error) {
	c.leads = append(c.leads, request)
	return c.leader, c.err
}

func (c *controller) Leave(_ context.Context, request *wire.LeaveRequest) (*wire.LeaveResponse, error) {
	what := request.GetRelation()
	if request.GetSuspension() {
		what += " suspended"
	}
	if request.GetHandled() {
		what += " handled"
	}
	c.left = append(c.left, what)
	return &wire.LeaveResponse{}, c.err
}

// heardAt is a snapshot of unit web/2 in a relation with db at a revision.
func heardAt(revision uint64) *wire.Snapshot {
	return &wire.Snapshot{
		Revisions: map[string]uint64{"databags": revision},
		Unit:      &wire.Unit{Application: "web", Number: 2, Known: true, Namespace: "shop"},
		Relations: []*wire.Relation{{
			Id: 7, Uid: "r", Endpoint: "store", Role: "requires", RemoteApplication: "db", RemoteNamespace: "shop",
			Bag:      &wire.Databag{Data: map[string]string{"host": "h"}},
			Units:    []*wire.RemoteUnit{{Number: 0, Bag: &wire.Databag{Data: map[string]string{"ingress-address": "10.0.0.1"}}}},
			Departed: []*wire.DepartedUnit{{Number: 5, Reason: "replaced"}},
		}},
		Own: []*wire.Own{{Relation: "r", Bag: &wire.Databag{Data: map[string]string{"port": "1"}}, Application: &wire.Databag{Data: map[string]string{"database": "d"}}}},
	}
}

func TestSpeechKnows(t *testing.T) {
	s := NewSpeech(&controller{})
	_, err := s.Snapshot()
	require.ErrorIs(t, err, &conversation.Error{Kind: conversation.NotYet})
	s.hear(whole(heardAt(1)))
	known, err := s.Snapshot()
	require.NoError(t, err)
	assert.Equal(t, "web/2", known.Unit.String())
	r := known.Relations[0]
	assert.Equal(t, application.Requirer, r.Role)
	assert.Equal(t, "db/0", r.Units[0].Unit.String())
	assert.Equal(t, conversation.Replaced, r.Departed[0].Reason)
	assert.Equal(t, map[string]string{"port": "1"}, known.Bag(r.OwnBag))
	assert.Equal(t, map[string]string{"database": "d"}, known.Bag(r.OwnApplicationBag))
	assert.False(t, known.Leader)
}

// A unit reads its own writes, also before they come back to it (SAFETY.md V4).
func TestSpeechReadsItsOwnWrites(t *testing.T) {
	c := &controller{revision: 5}
	s := NewSpeech(c)
	s.hear(whole(heardAt(1)))
	known, err := s.Snapshot()
	require.NoError(t, err)
	transaction := conversation.Begin(known)
	require.NoError(t, transaction.Set("r", false, map[string]string{"port": "", "name": "n"}))
	require.NoError(t, s.Commit(t.Context(), "relation-set", transaction, nil))
	require.Len(t, c.commits, 1)
	assert.Equal(t, "relation-set", c.commits[0].GetCause())
	assert.Equal(t, map[string]string{"port": "", "name": "n"}, c.commits[0].GetChanges()[0].GetSet(), "what is removed is emptied (RELATIONS.md P3)")
	assert.False(t, c.commits[0].GetChanges()[0].GetApplication())
	assert.Empty(t, c.commits[0].GetChanges()[0].GetSeen(), "a tool of no handler writes whatever is there")
	assert.Equal(t, map[string]uint64{"databags": 1}, c.commits[0].GetRevisions())

	port := func() map[string]string {
		now, err := s.Snapshot()
		require.NoError(t, err)
		return now.Bag(now.Relations[0].OwnBag)
	}
	assert.Equal(t, map[string]string{"name": "n"}, port())
	s.hear(whole(heardAt(4)))
	assert.Equal(t, map[string]string{"name": "n"}, port(), "a snapshot from before it does not take it back")
	s.hear(whole(heardAt(5)))
	assert.Equal(t, map[string]string{"port": "1"}, port(), "then it is the controller's word")

	require.NoError(t, s.Commit(t.Context(), "relation-set", conversation.Begin(known), nil))
	assert.Len(t, c.commits, 1, "nothing written is no call")
	c.err = errors.New("away")
	again := conversation.Begin(known)
	require.NoError(t, again.Set("r", false, map[string]string{"a": "b"}))
	require.Error(t, s.Commit(t.Context(), "relation-set", again, nil))
	assert.Equal(t, map[string]string{"port": "1"}, port(), "what was refused was not said")
}

// SAFETY.md P1: who asks becomes a candidate, is sure with 30 s left, and goes
// with a farewell.
func TestSpeechLeads(t *testing.T) {
	c := &controller{leader: &wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 4}}
	s := NewSpeech(c)
	s.hear(whole(heardAt(1)))
	assert.Empty(t, c.leads, "nobody asked")
	leads, err := s.Leader(t.Context())
	require.NoError(t, err)
	assert.True(t, leads)
	_, err = s.Leader(t.Context())
	require.NoError(t, err)
	assert.Len(t, c.leads, 1, "a lease that holds needs no question")
	known, err := s.Snapshot()
	require.NoError(t, err)
	assert.True(t, known.Leader)
	transaction := conversation.Begin(known)
	require.NoError(t, transaction.Set("r", true, map[string]string{"database": "e"}))
	require.NoError(t, s.Commit(t.Context(), "relation-set", transaction, nil))
	assert.EqualValues(t, 4, c.commits[0].GetTerm())
	assert.True(t, c.commits[0].GetChanges()[0].GetApplication())

	ended, end := context.WithCancel(t.Context())
	end()
	s.Run(ended)
	assert.True(t, c.leads[len(c.leads)-1].GetResign())

	c.leader = &wire.LeadResponse{Leads: true, LeftMs: 29_000, Term: 4}
	s = NewSpeech(c)
	leads, err = s.Leader(t.Context())
	require.NoError(t, err)
	assert.False(t, leads, "29 s are not enough to say so")
	c.leader = &wire.LeadResponse{}
	leads, err = s.Leader(t.Context())
	require.NoError(t, err)
	assert.False(t, leads)
	c.err = errors.New("away")
	_, err = s.Leader(t.Context())
	require.Error(t, err)
}

// slow is a controller that answers after a while: its node has too much to do.
type slow struct{ *controller }

// soon waits for an answer.
func (slow) soon(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(15 * time.Second):
		return nil
	}
}

func (s slow) Commit(ctx context.Context, request *wire.CommitRequest) (*wire.CommitResponse, error) {
	if err := s.soon(ctx); err != nil {
		return nil, err
	}
	return s.controller.Commit(ctx, request)
}

func (s slow) Lead(ctx context.Context, request *wire.LeadRequest) (*wire.LeadResponse, error) {
	if err := s.soon(ctx); err != nil {
		return nil, err
	}
	return s.controller.Lead(ctx, request)
}

// A tool waits for a controller whose node has too much to do: a tool that fails has its handler begin anew, which is more to
// do. While it waits the unit leads.
func TestSpeechWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSpeech(slow{&controller{leader: &wire.LeadResponse{Leads: true, LeftMs: 60_000, Term: 4}}})
		s.hear(whole(heardAt(1)))
		leads, err := s.Leader(t.Context())
		require.NoError(t, err)
		assert.True(t, leads)
		known, err := s.Snapshot()
		require.NoError(t, err)
		transaction := conversation.Begin(known)
		require.NoError(t, transaction.Set("r", true, map[string]string{"username": "me"}))
		require.NoError(t, s.Commit(t.Context(), "relation-set", transaction, nil))
		known, err = s.Snapshot()
		require.NoError(t, err)
		assert.True(t, known.Leader)
	})
	assert.Less(t, toolAnswer, leadership.Sure, "a leader that may write still leads when its call ends")
}

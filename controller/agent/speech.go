package agent

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/golang/glog"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/agent"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// Speaker sends the requests of a unit to the controller.
type Speaker interface {
	Member
	Reader
	Reporter
}

// Member sends requests about relations.
type Member interface {
	// Commit stores a transaction. A refusal is a conversation.Error.
	Commit(ctx context.Context, request *wire.CommitRequest) (*wire.CommitResponse, error)
	// Lead requests or renews leadership, or resigns.
	Lead(ctx context.Context, request *wire.LeadRequest) (*wire.LeadResponse, error)
	// Leave reports that the handlers have handled the end of a relation, its suspension, or
	// departures.
	Leave(ctx context.Context, request *wire.LeaveRequest) (*wire.LeaveResponse, error)
}

// Reader sends requests about secrets.
type Reader interface {
	// GetSecret returns the content of a secret.
	GetSecret(ctx context.Context, request *wire.GetSecretRequest) (*wire.GetSecretResponse, error)
	// ListSecrets returns the secrets that the unit may manage, without content.
	ListSecrets(ctx context.Context, request *wire.ListSecretsRequest) (*wire.ListSecretsResponse, error)
}

// Reporter sends reports for people.
type Reporter interface {
	// Report sends a failure of handlers.
	Report(ctx context.Context, request *wire.ReportRequest) (*wire.ReportResponse, error)
	// SetStatus sends the status of the unit, its application or its side of a relation. A
	// refusal is a conversation.Error.
	SetStatus(ctx context.Context, request *wire.SetStatusRequest) (*wire.SetStatusResponse, error)
	// GetStatus returns the status of the unit or its application.
	GetStatus(ctx context.Context, request *wire.GetStatusRequest) (*wire.GetStatusResponse, error)
}

// The times of requests.
const (
	// renewal is how often a leader renews its lease.
	renewal = 20 * time.Second
	// answer is how long a call may take that reports something, and is repeated.
	answer = 5 * time.Second
	// toolAnswer is how long a call of a tool may take: a tool that fails fails its handler, which begins anew. A leader may
	// write for longer than that (leadership.Sure).
	toolAnswer = 20 * time.Second
	// resigning is how long a leader that ends may take to resign: a pod's deletion
	// waits for it.
	resigning = time.Second
)

// Speech is the state of a unit's conversation: what it knows, and its writes that no snapshot shows yet.
// Methods may be called at any time.
type Speech struct {
	speaker Speaker

	mu    sync.Mutex
	heard *conversation.Update // nil before the controller has answered
	// unseen are own transactions that no snapshot shows yet: a unit reads its own
	// writes (SAFETY.md V4).
	unseen []unseen
	lease  lease
	// stale is set from the loss of the connection until the next snapshot.
	stale bool
	// interested is set by the first call of Leader: only then is the unit a candidate.
	interested bool
	// commits are those that may still be stored.
	commits pending
	// granted are the values that relations grant, which are not shown to people.
	granted []string
	// changed is called whenever Snapshot may return another.
	changed func()
}

// unseen is a transaction and the revisions of the first snapshot that shows it.
type unseen struct {
	changes   []conversation.Change
	revisions map[string]uint64
}

// lease is a term of leadership and its end by this machine's clock.
type lease struct {
	term  int64
	until time.Time
	// unheard is set if the term began while the snapshot was stale, until the next one: the leader before may have
	// written meanwhile, or the store was restored (SAFETY.md V4).
	unheard bool
}

// left returns for how long the unit leads and knows what leaders before it have written: what it has received shows it the
// databags of its application.
func (l lease) left(heard *conversation.Update) time.Duration {
	if l.unheard || heard == nil || !heard.Own.ShowsLeader() {
		return 0
	}
	return time.Until(l.until)
}

// NewSpeech returns the conversation of a unit before its first snapshot.
func NewSpeech(speaker Speaker) *Speech { return &Speech{speaker: speaker, changed: func() {}} }

// notify has f called whenever Snapshot may return another. f must not wait.
func (s *Speech) notify(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = f
}

// lost notes that updates may be missing.
func (s *Speech) lost() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale = true
}

// hear stores an update, and forgets the writes that it shows. A store that went back may lack them, and the term.
func (s *Speech) hear(update conversation.Update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard, s.stale, s.lease.unheard = &update, false, false
	if update.Reset {
		s.unseen, s.lease = nil, lease{}
	}
	kept := s.unseen[:0]
	for _, u := range s.unseen {
		for kind, revision := range u.revisions {
			if update.Revisions[kind] < revision {
				kept = append(kept, u)
				break
			}
		}
	}
	s.unseen = kept
	s.changed()
}

// Snapshot returns what the unit knows now, with its own writes. It fails with a conversation.Error until
// the controller has answered.
func (s *Speech) Snapshot() (conversation.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.heard != nil && s.heard.Own.Ignored != "":
		return conversation.Snapshot{}, &conversation.Error{Kind: conversation.Gone,
			Message: "cannot use relations: " + s.heard.Own.Ignored, Cure: "correct that, then try again"}
	case s.heard == nil || !s.heard.Own.Known:
		return conversation.Snapshot{}, &conversation.Error{Kind: conversation.NotYet,
			Message: "cannot use relations yet: the controller has not answered this pod", Cure: "try again in a moment"}
	}
	snapshot := s.heard.View.For(s.heard.Own)
	for _, u := range s.unseen {
		snapshot = snapshot.With(u.changes)
	}
	snapshot.Leader, snapshot.Term = s.lease.left(s.heard) > 0, s.lease.term
	return snapshot, nil
}

// Commit stores the changes of a transaction to bags and secrets, with its cause for the history. Without
// changes it sends nothing.
func (s *Speech) Commit(ctx context.Context, cause string, transaction *conversation.Transaction, secrets []secret.Draft) error {
	changes := transaction.Commit()
	if len(changes)+len(secrets) == 0 {
		return nil
	}
	s.mu.Lock()
	request := &wire.CommitRequest{
		Changes: convert.ForChanges(changes, transaction.OfHandler()), Term: cmp.Or(transaction.Term(), s.lease.term),
		Revisions: revisionsOf(s.heard), Secrets: convert.ForDrafts(secrets), Cause: cause}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, toolAnswer)
	defer cancel()
	s.commits.begin()
	response, err := s.speaker.Commit(ctx, request)
	s.commits.end(err)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for kind, revision := range response.GetRevisions() {
		if revisionsOf(s.heard)[kind] < revision {
			s.unseen = append(s.unseen, unseen{changes, response.GetRevisions()})
			break
		}
	}
	return nil
}

// conceal stores the values that relations grant.
func (s *Speech) conceal(contents map[string]Content) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.granted = nil
	for _, content := range contents {
		s.granted = slices.AppendSeq(s.granted, maps.Values(content.Files))
	}
}

// concealed returns the values that relations grant.
func (s *Speech) concealed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.granted
}

// getSecret requests the content of a secret, by its ID or else by the label of the query.
func (s *Speech) getSecret(ctx context.Context, id string, query secret.Query) (secret.Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, toolAnswer)
	defer cancel()
	response, err := s.speaker.GetSecret(ctx, convert.ForQuery(id, query))
	return convert.ToReading(response), err
}

// listSecrets requests the secrets that the unit may manage.
func (s *Speech) listSecrets(ctx context.Context) (*wire.ListSecretsResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, toolAnswer)
	defer cancel()
	return s.speaker.ListSecrets(ctx, &wire.ListSecretsRequest{})
}

// leave sends what the handlers have handled of a relation.
func (s *Speech) leave(ctx context.Context, l leaving) error {
	request := &wire.LeaveRequest{
		Relation: l.relation, Suspension: l.suspension, Departures: convert.ForAnswers(l.departures), Handled: l.handled,
	}
	s.mu.Lock()
	request.Revisions = revisionsOf(s.heard)
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	_, err := s.speaker.Leave(ctx, request)
	return err
}

// Leader reports whether the unit leads, and will for long enough to write (SAFETY.md P1). The first call
// makes the unit a candidate.
func (s *Speech) Leader(ctx context.Context) (bool, error) {
	s.mu.Lock()
	sure := s.lease.left(s.heard) >= leadership.Sure
	s.interested = true
	s.mu.Unlock()
	if sure {
		return true, nil
	}
	if err := s.lead(ctx, false); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lease.left(s.heard) >= leadership.Sure, nil
}

// lead requests or renews leadership, or resigns. The lease counts from before the request. A unit that
// leaves renews at the most.
func (s *Speech) lead(ctx context.Context, resign bool) error {
	s.mu.Lock()
	leaves, leads := s.heard != nil && s.heard.Own.Leaving != "", time.Until(s.lease.until) > 0
	s.mu.Unlock()
	if leaves && !leads {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, toolAnswer)
	defer cancel()
	asked := time.Now()
	response, err := s.speaker.Lead(ctx, &wire.LeadRequest{Resign: resign})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.lease; response.GetLeads() {
		s.lease.term, s.lease.until = response.GetTerm(), asked.Add(time.Duration(response.GetLeftMs())*time.Millisecond)
		if before.term != s.lease.term {
			s.lease.unheard = s.stale
			s.changed()
			glog.Infof("this unit leads its application in term %d", s.lease.term)
		}
	} else {
		s.lease = lease{}
	}
	return nil
}

// Run renews the lease of a unit that leads or is a candidate, until ctx is done. Then it resigns, so that
// another may lead at once. While one of its commits may still be stored it does not: its lease runs out (SAFETY.md P1).
func (s *Speech) Run(ctx context.Context) {
	tick := time.NewTicker(renewal)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.mu.Lock()
			interested := s.interested
			s.mu.Unlock()
			if interested {
				if err := s.lead(ctx, false); err != nil {
					glog.Warningf("cannot renew the lease of leadership: %v", err)
				}
			}
		case <-ctx.Done():
			s.resign(context.WithoutCancel(ctx))
			return
		}
	}
}

func (s *Speech) resign(ctx context.Context) {
	s.mu.Lock()
	leads := time.Until(s.lease.until) > 0
	s.mu.Unlock()
	if !leads {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, resigning)
	defer cancel()
	if !s.commits.settled(ctx) {
		glog.Warning("does not resign: a commit may still be stored")
		return
	}
	if err := s.lead(ctx, true); err != nil {
		glog.Warningf("cannot resign: %v", err)
	}
}

// revisionsOf returns the revisions of an update; nil before there is one.
func revisionsOf(u *conversation.Update) map[string]uint64 {
	if u == nil {
		return nil
	}
	return u.Revisions
}

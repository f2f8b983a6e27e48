package serve

import (
	"context"
	"errors"
	"fmt"

	"connectrpc.com/connect"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/agent"
	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// kindDatabags is the kind whose revision tells that a transaction is to be seen.
const kindDatabags = "databags"

// maxChanges is how many bags one transaction may change.
const maxChanges = 256

// Commit stores a transaction of the calling pod's unit. The unit can write its
// own bags and secrets and, if it leads, its application's: no request can name
// another's.
func (s *Server) Commit(ctx context.Context, req *connect.Request[v1alpha1.CommitRequest]) (
	*connect.Response[v1alpha1.CommitResponse], error) {
	c, err := s.caller(ctx)
	if err != nil {
		return nil, err
	}
	defer c.leave()
	if err := c.waitFor(ctx, req.Msg.GetRevisions()); err != nil {
		return nil, err
	}
	t, err := c.telling(ctx)
	if err != nil {
		return nil, err
	}
	commit, err := c.transaction(t, req.Msg)
	if err != nil {
		return nil, err
	}
	drafts, err := c.drafts(t, req.Msg)
	if err != nil {
		return nil, err
	}
	revision, err := s.Store.Commit(ctx, commit, drafts)
	if err != nil {
		return nil, refuse(err)
	}
	commits.Inc()
	response := &v1alpha1.CommitResponse{}
	if revision > 0 {
		response.Revisions = map[string]uint64{kindDatabags: revision}
	}
	return connect.NewResponse(response), nil
}

// transaction reads a request as one of this unit.
func (c *conversation) transaction(t *telling, req *v1alpha1.CommitRequest) (transaction.Commit, error) {
	u := t.unit(c.identity.UID)
	commit := transaction.Commit{
		Namespace: c.identity.Namespace, Application: c.Application, Unit: int(u.number),
		PodUID: c.identity.UID, Term: int(req.GetTerm()), Cause: condition.Cut(req.GetCause(), maxCause),
	}
	switch {
	case !u.known:
		return commit, connect.NewError(connect.CodeUnavailable, fmt.Errorf("pod %s has no number yet", c.identity.Pod))
	case len(req.GetChanges()) > maxChanges:
		return commit, connect.NewError(connect.CodeInvalidArgument,
			fmt.Errorf("a transaction changes at most %d bags, this one %d", maxChanges, len(req.GetChanges())))
	}
	for _, change := range req.GetChanges() {
		r, err := t.writable(change.GetRelation())
		if err != nil {
			return commit, err
		}
		commit.Changes = append(commit.Changes, transaction.Change{
			Relation: r.Name, Namespace: r.Requirer.Namespace, UID: r.UID, Endpoint: r.Here.Endpoint,
			Own: !change.GetApplication(), Set: change.GetSet(), Seen: change.GetSeen(),
			Role: r.Shown.Role, Interface: r.Interface, Version: r.Version,
		})
	}
	return commit, nil
}

// maxCause is how much of a cause the record keeps, in bytes.
const maxCause = 200

// writable returns the relation of that UID, if the application has it and it
// lives and is not suspended.
func (t *telling) writable(uid string) (relation.Seen, error) {
	r, ok := t.relations[uid]
	switch {
	case !ok:
		return r, connect.NewError(connect.CodeNotFound,
			fmt.Errorf("no relation %s is known here: it has gone, or it is another application's", uid))
	case r.Ended():
		return r, connect.NewError(connect.CodeNotFound, fmt.Errorf("the relation on endpoint %s has ended", r.Here.Endpoint))
	case !r.Open():
		return r, refuse(&domain.Error{
			Kind: domain.NotYet, Message: fmt.Sprintf("the relation on endpoint %s is suspended", r.Here.Endpoint),
			Cure: "say it when the relation is created again",
		})
	default:
		return r, nil
	}
}

// codeOf tells a caller what kind of refusal it is (RELATIONS.md P4).
func codeOf(err error) connect.Code {
	switch {
	case errors.Is(err, transaction.ErrDeposed):
		return connect.CodePermissionDenied
	case errors.Is(err, status.ErrGone):
		return connect.CodeNotFound
	case errors.Is(err, transaction.ErrInvalid):
		return connect.CodeInvalidArgument
	case errors.Is(err, transaction.ErrBusy), errors.Is(err, transaction.ErrChanged):
		return connect.CodeAborted
	default:
		return connect.CodeUnavailable
	}
}

// Lead has the calling pod's unit lead its application, or resign.
func (s *Server) Lead(ctx context.Context, req *connect.Request[v1alpha1.LeadRequest]) (*connect.Response[v1alpha1.LeadResponse], error) {
	c, _, u, err := s.unit(ctx)
	if err != nil {
		return nil, err
	}
	defer c.leave()
	leader, err := s.Store.Lead(ctx, c.identity.Namespace, c.Application, int(u.number), c.identity.UID, req.Msg.GetResign())
	if err != nil {
		return nil, connect.NewError(connect.CodeUnavailable, err)
	}
	left := leader.Left(c.identity.UID, s.Now())
	return connect.NewResponse(&v1alpha1.LeadResponse{Leads: left > 0, LeftMs: max(0, left.Milliseconds()), Term: int64(leader.Term)}), nil
}

// Leave notes that the handlers of the calling pod's unit have handled the end of
// a relation, its suspension, or departures in it. A relation that is not known here any more needs no
// such word.
func (s *Server) Leave(ctx context.Context, req *connect.Request[v1alpha1.LeaveRequest]) (
	*connect.Response[v1alpha1.LeaveResponse], error) {
	c, t, u, err := s.unitAt(ctx, req.Msg.GetRevisions())
	if err != nil {
		return nil, err
	}
	defer c.leave()
	r, known := t.relations[req.Msg.GetRelation()]
	unit, departures := r.Unit(r.Here, int(u.number)), req.Msg.GetDepartures()
	if len(departures) > maxChanges {
		return nil, connect.NewError(connect.CodeInvalidArgument,
			fmt.Errorf("one request answers for at most %d departures, this one for %d", maxChanges, len(departures)))
	}
	said := domain.Leave{
		Unit: unit, Departures: convert.ToAnswers(r.Unit(r.Shown.There, 0).Application, departures),
		Suspension: req.Msg.GetSuspension(), Handled: req.Msg.GetHandled(),
	}
	if known {
		err = note(ctx, s.Store, r, said)
	}
	if err != nil {
		return nil, connect.NewError(connect.CodeUnavailable, err)
	}
	return connect.NewResponse(&v1alpha1.LeaveResponse{}), nil
}

// note stores what a unit has handled of a relation.
func note(ctx context.Context, store Store, r relation.Seen, said domain.Leave) error {
	switch {
	case len(said.Departures) > 0 || said.Suspension && !r.Open():
		return store.Leave(ctx, r.Requirer.Namespace, r.Name, r.UID, said)
	case !said.Suspension && r.Shown.Life == domain.Ending:
		said.Unit.Application = r.Here.Application // as its own namespace names it
		return store.AnswerEnd(ctx, r.Here.Namespace, r.SideName(r.Shown.Role), r.UID, said)
	}
	return nil
}

package serve

import (
	"context"

	"connectrpc.com/connect"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/agent"
	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// Statuses stores what units report for people. The errors wrap transaction.ErrDeposed or status.ErrGone.
type Statuses interface {
	Reports
	// SetStatus stores the status of a unit or of its application.
	SetStatus(ctx context.Context, by status.Reporter, ofApplication bool, info status.Info) error
	// SetSide stores the status of an application in a relation.
	SetSide(ctx context.Context, by status.Reporter, side relation.SideRef, info status.Info) error
	// Status returns the state of a unit's application. With ofApplication set, the unit must lead.
	Status(ctx context.Context, by status.Reporter, ofApplication bool) (relation.ApplicationState, error)
}

// Reports stores what agents report of their units.
type Reports interface {
	// Report stores what the handlers of a unit fail at; the zero failure for nothing.
	Report(ctx context.Context, by status.Reporter, failure status.Failure) error
	// ReportWaiting writes what the handlers of a unit wait for as an Event on its pod.
	ReportWaiting(ctx context.Context, by status.Reporter, text string) error
	// ReportUnwritten stores which files the agent of a unit cannot write.
	ReportUnwritten(ctx context.Context, by status.Reporter, text string) error
	// ReportOutdated stores that the agent of a unit is too old to receive its data.
	ReportOutdated(ctx context.Context, by status.Reporter) error
}

func (c *conversation) speaker(term int64) status.Reporter {
	return status.Reporter{Namespace: c.identity.Namespace, Application: c.Application, PodUID: c.identity.UID, Term: int(term)}
}

// Report stores a failure of the handlers of the calling pod's unit, or the files that its agent cannot write. If the
// handlers wait, it writes an Event with the reason.
func (s *Server) Report(ctx context.Context, req *connect.Request[v1alpha1.ReportRequest]) (
	*connect.Response[v1alpha1.ReportResponse], error) {
	c, t, _, err := s.unit(ctx)
	if err != nil {
		return nil, err
	}
	defer c.leave()
	switch by := c.speaker(0); {
	case req.Msg.GetWaiting() != "":
		err = s.Statuses.ReportWaiting(ctx, by, req.Msg.GetWaiting())
	case req.Msg.GetUnwritten() != "":
		err = s.Statuses.ReportUnwritten(ctx, by, req.Msg.GetUnwritten())
	default:
		failure := convert.ToFailure(req.Msg.GetFailing())
		if _, known := t.relations[failure.Relation]; !known {
			failure.Relation = ""
		}
		err = s.Statuses.Report(ctx, by, failure)
	}
	if err != nil {
		return nil, refuse(err)
	}
	return connect.NewResponse(&v1alpha1.ReportResponse{}), nil
}

// SetStatus stores how the calling pod's unit, its application or its side of a
// relation is.
func (s *Server) SetStatus(ctx context.Context, req *connect.Request[v1alpha1.SetStatusRequest]) (
	*connect.Response[v1alpha1.SetStatusResponse], error) {
	c, t, _, err := s.unit(ctx)
	if err != nil {
		return nil, err
	}
	defer c.leave()
	info := convert.ToStatus(req.Msg.GetStatus())
	if req.Msg.GetRelation() == "" {
		info.Code, info.Resolution = "", ""
	}
	if info, err = info.Check(); err != nil {
		return nil, refuse(&domain.Error{Kind: domain.Invalid, Message: err.Error(), Cure: "see status-set --help"})
	}
	if req.Msg.GetRelation() == "" {
		err = s.Statuses.SetStatus(ctx, c.speaker(req.Msg.GetTerm()), req.Msg.GetApplication(), info)
	} else {
		err = c.setSide(ctx, t, req.Msg, info)
	}
	if err != nil {
		return nil, refuse(err)
	}
	return connect.NewResponse(&v1alpha1.SetStatusResponse{}), nil
}

func (c *conversation) setSide(ctx context.Context, t *telling, req *v1alpha1.SetStatusRequest, info status.Info) error {
	r, err := t.writable(req.GetRelation())
	if err != nil {
		return err
	}
	side := relation.SideRef{Namespace: r.Requirer.Namespace, Name: r.Name, UID: r.UID, Role: r.Shown.Role}
	return c.server.Statuses.SetSide(ctx, c.speaker(req.GetTerm()), side, info)
}

// GetStatus returns how the calling pod's unit or its application is.
func (s *Server) GetStatus(ctx context.Context, req *connect.Request[v1alpha1.GetStatusRequest]) (
	*connect.Response[v1alpha1.GetStatusResponse], error) {
	c, _, _, err := s.unit(ctx)
	if err != nil {
		return nil, err
	}
	defer c.leave()
	state, err := s.Statuses.Status(ctx, c.speaker(0), req.Msg.GetApplication())
	if err != nil {
		return nil, refuse(err)
	}
	response := &v1alpha1.GetStatusResponse{}
	if req.Msg.GetApplication() {
		response.Status = convert.ForStatus(relation.Says(state))
	}
	for _, unit := range state.Units {
		switch {
		case unit.Gone != "":
		case req.Msg.GetApplication():
			response.Units = append(response.Units, &v1alpha1.UnitStatus{Number: int64(unit.Number), Status: convert.ForStatus(unit.Workload)})
		case unit.PodUID == c.identity.UID:
			response.Status = convert.ForStatus(unit.Workload)
		}
	}
	return connect.NewResponse(response), nil
}

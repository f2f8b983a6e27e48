package agent

import (
	"cmp"
	"context"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/agent"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// Status requests the status of the unit, or of its application with all its units.
func (t *toolContext) Status(ofApplication bool) (tool.Report, error) {
	if err := t.speaks(ofApplication); err != nil {
		return tool.Report{}, err
	}
	var response *wire.GetStatusResponse
	err := patiently(t.ctx, t.wait, func() (err error) {
		response, err = t.speech.status(t.ctx, ofApplication)
		return err
	})
	if err != nil {
		return tool.Report{}, t.answers.note(err)
	}
	report := toReport(response.GetStatus())
	for _, u := range response.GetUnits() {
		unit := conversation.Unit{Application: t.snapshot.Unit.Application, Number: int(u.GetNumber())}
		report.Units = append(report.Units, tool.UnitReport{Unit: unit, Report: toReport(u.GetStatus())})
	}
	return report, nil
}

func toReport(s *wire.Status) tool.Report {
	info := convert.ToStatus(s)
	return tool.Report{State: cmp.Or(info.State, status.Unknown), Message: info.Message}
}

// SetStatus stores the status of the unit or its application at once, outside of the transaction
// (RELATIONS.md E11).
func (t *toolContext) SetStatus(ofApplication bool, info status.Info) error {
	return t.setStatus(ofApplication, &wire.SetStatusRequest{Application: ofApplication}, info)
}

// SetSide stores the status of the application in a relation, at once.
func (t *toolContext) SetSide(relation string, info status.Info) error {
	return t.setStatus(true, &wire.SetStatusRequest{Relation: relation}, info)
}

func (t *toolContext) setStatus(leads bool, request *wire.SetStatusRequest, info status.Info) error {
	if err := t.speaks(leads); err != nil {
		return err
	}
	request.Status = convert.ForStatus(info)
	request.Term = t.transaction.Term()
	return t.answers.note(patiently(t.ctx, t.wait, func() error { return t.speech.setStatus(t.ctx, request) }))
}

// speaks begins the transaction of the call, and requests leadership where only a leader may. The controller
// refuses a unit that does not lead.
func (t *toolContext) speaks(leads bool) error {
	if err := t.begin(); err != nil || !leads {
		return err
	}
	_, err := t.Leader()
	return err
}

// status requests the status of the unit or its application.
func (s *Speech) status(ctx context.Context, ofApplication bool) (*wire.GetStatusResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, toolAnswer)
	defer cancel()
	return s.speaker.GetStatus(ctx, &wire.GetStatusRequest{Application: ofApplication})
}

// setStatus stores the status of the unit, its application or its side of a relation: in the term of the
// request, or else in the present one.
func (s *Speech) setStatus(ctx context.Context, request *wire.SetStatusRequest) error {
	s.mu.Lock()
	request.Term = cmp.Or(request.GetTerm(), s.lease.term)
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, toolAnswer)
	defer cancel()
	_, err := s.speaker.SetStatus(ctx, request)
	return err
}

// Report sends what the handlers fail at; the zero failure for nothing.
func (s *Speech) Report(ctx context.Context, failure status.Failure) error {
	return s.report(ctx, &wire.ReportRequest{Failing: convert.ForFailure(failure)})
}

// ReportWaiting sends what the handlers wait for.
func (s *Speech) ReportWaiting(ctx context.Context, text string) error {
	return s.report(ctx, &wire.ReportRequest{Waiting: text})
}

func (s *Speech) report(ctx context.Context, request *wire.ReportRequest) error {
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	_, err := s.speaker.Report(ctx, request)
	return err
}

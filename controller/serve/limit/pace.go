package limit

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/budget"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
)

// requests returns what the requests of a procedure are charged to, whether or not they write.
func (b *Budgets) requests(procedure string) *budget.Ledger {
	switch procedure {
	case relationsv1alpha1connect.RelationsServiceConverseProcedure:
		return b.streams
	case relationsv1alpha1connect.RelationsServiceLeadProcedure, relationsv1alpha1connect.RelationsServiceLeaveProcedure,
		relationsv1alpha1connect.RelationsServiceReportProcedure:
		return b.calls
	}
	return b.reads
}

// Pace holds a request of a pod until its turn, for LongestHold at most, and refuses it if its turn is later. It comes
// before the review of the pod's token, so that what a pod repeats without end costs nothing but its own connection.
func (b *Budgets) Pace(ctx context.Context, id identity.Identity, procedure string) error {
	if b == nil || id.UID == "" {
		return nil
	}
	p := &purse{Budgets: b, ledger: b.requests(procedure), identity: id, writer: budget.Writer{Namespace: id.Namespace, Unit: id.UID}}
	short := p.book()
	if short.Wait > LongestHold {
		readsLimited.WithLabelValues(string(short.Level)).Inc()
		return Refuse(&domain.Error{
			Kind: domain.NotYet, Wait: short.Wait,
			Message: fmt.Sprintf("cannot answer now: %s has used up its budget of requests", p.names(short.Level)),
			Cure:    fmt.Sprintf("request less, or less often; try again in %s", short.Wait.Round(time.Millisecond)),
		}, connect.CodeUnavailable)
	}
	select {
	case <-time.After(short.Wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// book takes a request from the budgets, as a debt if it has to wait, so that the next one waits longer; nothing if the
// wait is too long.
func (p *purse) book() budget.Shortage {
	p.mu.Lock()
	defer p.mu.Unlock()
	one, now := budget.Cost{Commits: 1}, p.now()
	short, taken := p.ledger.Take(p.writer, one, now)
	if !taken && short.Wait <= LongestHold {
		p.ledger.Spend(p.writer, one, now)
	}
	return short
}

// Charge takes what was read and sent for a pod from its budget of requests.
func (b *Budgets) Charge(id identity.Identity, procedure string, bytes int) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests(procedure).Spend(budget.Writer{Namespace: id.Namespace, Unit: id.UID}, budget.Cost{Bytes: float64(bytes)}, b.now())
}

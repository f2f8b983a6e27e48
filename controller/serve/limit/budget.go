package limit

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/golang/glog"
	"google.golang.org/protobuf/proto"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/meter"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/budget"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// AnswerWithin is the longest time for a request. It is less than leadership.Margin, so that each write of a leader ends
// before the lease that admitted it (TRUST.md U1).
const AnswerWithin = 8 * time.Second

// LongestHold is the longest time for which a request is held until its unit has a budget again.
const LongestHold = 2 * time.Second

// reportLimit is how often the shortage of a unit is stored for people.
const reportLimit = time.Minute

// Holdings counts what applications and namespaces hold.
type Holdings interface {
	// Holdings returns what an application and its namespace hold.
	Holdings(namespace, application string) (ofApplication, ofNamespace budget.Holding)
}

// Shortages stores for people whose writes are limited.
type Shortages interface {
	// ReportShortage stores that a unit has used up a budget.
	ReportShortage(ctx context.Context, by status.Reporter, short budget.Level) error
}

// Members knows the applications of pods.
type Members interface {
	// Membership returns what is known in memory of the pod and its application.
	Membership(ctx context.Context, id identity.Identity) identity.Membership
}

// Budgets bound what units write and request by this replica (TRUST.md U1, U3). Acknowledgements have no budget of
// writes: each is written once for what has happened.
type Budgets struct {
	Holdings  Holdings
	Shortages Shortages

	now func() time.Time
	mu  sync.Mutex
	// data is for databags, secrets and statuses, and signals for changes of leadership and reports.
	data, signals *budget.Ledger
	// reads, calls and streams are for requests: for data, for anything else, and for streams.
	reads, calls, streams *budget.Ledger
	// reported is when the shortage of a unit was stored last.
	reported map[string]time.Time
	// closed has the shortages of units whose wait is not over: until then nothing is read for them.
	closed map[string]closed
}

// closed is a shortage that lasts until a time.
type closed struct {
	level budget.Level
	until time.Time
}

// NewBudgets returns budgets that are whole.
func NewBudgets(holdings Holdings, shortages Shortages, now func() time.Time) *Budgets {
	return &Budgets{
		Holdings: holdings, Shortages: shortages, now: now, reported: map[string]time.Time{}, closed: map[string]closed{},
		data: budget.NewLedger(budget.Data(), now()), signals: budget.NewLedger(budget.Signals(), now()),
		reads: budget.NewLedger(budget.Reads(), now()), calls: budget.NewLedger(budget.Calls(), now()),
		streams: budget.NewLedger(budget.Calls(), now()),
	}
}

// ledger returns what the writes of a procedure are charged to; nil for nothing.
func (b *Budgets) ledger(procedure string) *budget.Ledger {
	switch procedure {
	case relationsv1alpha1connect.RelationsServiceCommitProcedure, relationsv1alpha1connect.RelationsServiceSetStatusProcedure,
		relationsv1alpha1connect.RelationsServiceGetSecretProcedure: // reading a secret is recorded
		return b.data
	case relationsv1alpha1connect.RelationsServiceLeadProcedure, relationsv1alpha1connect.RelationsServiceReportProcedure:
		return b.signals
	}
	return nil
}

// Holding holds the requests of a unit that was refused data until it may write again, for LongestHold at most. After
// a longer wait, the answer is the rest of it. A unit that does not wait would otherwise take the time of its
// neighbours (TRUST.md U1): bodies are read only of requests that are passed on.
func (b *Budgets) Holding(members Members, next http.Handler) http.Handler {
	errs := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b != nil && b.ledger(r.URL.Path) == b.data {
			if short := b.hold(r.Context()); short.Wait > 0 {
				p := b.purse(r.Context(), members, b.data)
				_ = errs.Write(w, r, Refuse(p.refusal(short), connect.CodeUnavailable)) // it fails if the caller has gone
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// purse pays for the writes of one request.
type purse struct {
	*Budgets

	ledger   *budget.Ledger
	writer   budget.Writer
	identity identity.Identity
	// paid is how many bytes are taken already.
	paid int
}

type purseKey struct{}

// purse returns the purse of a proven caller.
func (b *Budgets) purse(ctx context.Context, members Members, l *budget.Ledger) *purse {
	id := Proven(ctx)
	return &purse{Budgets: b, ledger: l, identity: id, writer: budget.Writer{
		Namespace: id.Namespace, Application: members.Membership(ctx, id).Application, Unit: id.UID,
	}}
}

// Signal takes one write of a pod that converses from its budget for signals.
func (b *Budgets) Signal(ctx context.Context, members Members, id identity.Identity) error {
	ctx = Prove(ctx, id)
	return b.purse(ctx, members, b.signals).take(ctx, budget.Cost{Commits: 1})
}

// Bounded answers requests within AnswerWithin, each at the cost of its unit. A request needs a commit in the budget,
// and takes it if it writes.
func (b *Budgets) Bounded(members Members) connect.UnaryInterceptorFunc {
	return func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			ctx, cancel := context.WithTimeout(ctx, AnswerWithin)
			defer cancel()
			if b == nil {
				return next(ctx, req)
			}
			counted, bytes := meter.Count(ctx)
			response, err := b.paid(counted, members, bytes, next, req)
			b.Charge(Proven(ctx), req.Spec().Procedure, int(bytes.Read())+sizeOf(response))
			return response, err
		}
	}
}

// paid carries out a request, and charges its writes.
func (b *Budgets) paid(
	ctx context.Context, members Members, bytes *meter.Bytes, next connect.UnaryFunc, req connect.AnyRequest,
) (connect.AnyResponse, error) {
	l := b.ledger(req.Spec().Procedure)
	if l == nil {
		return next(ctx, req)
	}
	p := b.purse(ctx, members, l)
	if err := p.take(ctx, budget.Cost{Commits: 1}); err != nil {
		return nil, Refuse(err, connect.CodeUnavailable)
	}
	response, err := next(context.WithValue(ctx, purseKey{}, p), req)
	p.settle(int(bytes.Written()))
	return response, err
}

// sizeOf returns the size of an answer, in bytes; 0 for none.
func sizeOf(response connect.AnyResponse) int {
	if response == nil {
		return 0
	}
	message, _ := response.Any().(proto.Message)
	return proto.Size(message)
}

// take takes a cost, or refuses it with the wait.
func (p *purse) take(ctx context.Context, c budget.Cost) error {
	short, taken := p.takeNow(c)
	if taken {
		return nil
	}
	p.report(ctx, short.Level)
	return p.refusal(short)
}

// refusal returns the error for a write that has to wait.
func (p *purse) refusal(short budget.Shortage) error {
	limited.WithLabelValues(string(short.Level)).Inc()
	return &domain.Error{
		Kind: domain.NotYet, Wait: short.Wait,
		Message: fmt.Sprintf("cannot write now: %s has used up its budget of writes", p.names(short.Level)),
		Cure:    fmt.Sprintf("write less, or less often; try again in %s", short.Wait.Round(time.Millisecond)),
	}
}

// hold waits until the caller's unit may write again, or for LongestHold, and returns the rest of its wait.
func (b *Budgets) hold(ctx context.Context) budget.Shortage {
	unit := Proven(ctx).UID
	select {
	case <-ctx.Done():
	case <-time.After(min(b.rest(unit).Wait, LongestHold)):
	}
	return b.rest(unit)
}

// rest returns the rest of a unit's wait; not above 0 once that is over.
func (b *Budgets) rest(unit string) budget.Shortage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.restAt(unit, b.now())
}

// restAt returns the rest of a unit's wait at a time. The caller has locked mu.
func (b *Budgets) restAt(unit string, now time.Time) budget.Shortage {
	was := b.closed[unit]
	return budget.Shortage{Level: was.level, Wait: was.until.Sub(now)}
}

// takeNow takes a cost. A unit that was refused data gets the rest of its wait as the answer until it is over.
func (p *purse) takeNow(c budget.Cost) (short budget.Shortage, taken bool) {
	now := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ledger != p.data {
		return p.ledger.Take(p.writer, c, now)
	}
	if short = p.restAt(p.writer.Unit, now); short.Wait > 0 {
		return short, false
	}
	delete(p.closed, p.writer.Unit)
	if short, taken = p.ledger.Take(p.writer, c, now); !taken {
		p.closed[p.writer.Unit] = closed{short.Level, now.Add(short.Wait)}
	}
	return short, taken
}

// names returns who has a budget.
func (p *purse) names(l budget.Level) string {
	switch l {
	case budget.Unit:
		return "pod " + p.identity.Pod
	case budget.Application:
		return "application " + p.writer.Application
	case budget.Namespace:
		return "namespace " + p.writer.Namespace
	default:
		return "the cluster's part of namespace " + p.writer.Namespace
	}
}

// settle corrects what was taken by what was written. A request that has written nothing gets its commit back.
func (p *purse) settle(bytes int) {
	c := budget.Cost{Bytes: float64(bytes - p.paid)}
	if bytes == 0 {
		c.Commits = -1
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ledger.Spend(p.writer, c, p.now())
}

// report stores the shortage for people, unless that was done lately. A failure to store it is logged and ignored.
func (p *purse) report(ctx context.Context, short budget.Level) {
	now := p.now()
	p.mu.Lock()
	at, known := p.reported[p.writer.Unit]
	due := !known || now.Sub(at) >= reportLimit
	if due {
		for unit, at := range p.reported {
			if now.Sub(at) >= reportLimit {
				delete(p.reported, unit)
				delete(p.closed, unit)
			}
		}
		p.reported[p.writer.Unit] = now
	}
	p.mu.Unlock()
	if !due {
		return
	}
	by := status.Reporter{Namespace: p.writer.Namespace, Application: p.writer.Application, PodUID: p.identity.UID}
	if err := p.Shortages.ReportShortage(ctx, by, short); err != nil {
		glog.Warningf("cannot report that the writes of pod %s/%s are limited: %v", by.Namespace, p.identity.Pod, err)
	}
}

// Afford takes the bytes that a transaction is about to write from the budgets of the caller of ctx. It refuses what is
// more than one transaction may write, or more than an application or its namespace may hold.
func (b *Budgets) Afford(ctx context.Context, bytes int, adds budget.Holding) error {
	p, paying := ctx.Value(purseKey{}).(*purse)
	if !paying {
		return nil
	}
	if bytes > budget.MaxTransaction {
		return &domain.Error{
			Kind: domain.Invalid, Cure: "write them in several transactions",
			Message: fmt.Sprintf("cannot commit: a transaction writes at most %d bytes of databags and secrets, this one %d",
				budget.MaxTransaction, bytes),
		}
	}
	application, namespace := p.Holdings.Holdings(p.writer.Namespace, p.writer.Application)
	if why := budget.CheckCaps(application, namespace, adds); why != "" {
		return &domain.Error{Kind: domain.Invalid, Message: "cannot commit: " + why, Cure: "remove what is not needed"}
	}
	if err := p.take(ctx, budget.Cost{Bytes: float64(bytes)}); err != nil {
		return err
	}
	p.paid = bytes
	return nil
}

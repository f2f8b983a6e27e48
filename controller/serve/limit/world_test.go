package limit

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"connectrpc.com/connect"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/meter"
	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/budget"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// shop is what the units of the application hold, and whose shortages are reported.
type shop struct {
	application, namespace budget.Holding
	reported               []budget.Level
	// away has reports fail.
	away bool
}

func (s *shop) Holdings(string, string) (ofApplication, ofNamespace budget.Holding) {
	return s.application, s.namespace
}

func (s *shop) ReportShortage(_ context.Context, _ status.Reporter, short budget.Level) error {
	s.reported = append(s.reported, short)
	if s.away {
		return errors.New("the API server is away")
	}
	return nil
}

// members has each pod in application blog.
type members struct{}

func (members) Membership(context.Context, identity.Identity) identity.Membership {
	return identity.Membership{Application: "blog"}
}

// accepts is an API server that stores everything.
type accepts struct{}

func (accepts) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// till is a service of pod blog-1, whose requests cost what the test says, and a clock that the test sets.
type till struct {
	relationsv1alpha1connect.UnimplementedRelationsServiceHandler
	*shop

	budgets *Budgets
	now     time.Time
	// announced is how much a commit takes before it writes; 0 for nothing.
	announced int
	// written is how much a request writes.
	written int
	// carried counts the requests that were carried out.
	carried int
	api     relationsv1alpha1connect.RelationsServiceClient
}

// blog1 is the pod that calls.
func blog1() identity.Identity {
	return identity.Identity{Namespace: "shop", Pod: "blog-1", UID: "uid-blog-1"}
}

func newTill(t *testing.T) *till {
	t.Helper()
	l := &till{shop: &shop{}, now: time.Unix(1e9, 0)}
	l.budgets = NewBudgets(l.shop, l.shop, func() time.Time { return l.now })
	_, handler := relationsv1alpha1connect.NewRelationsServiceHandler(l, connect.WithInterceptors(l.budgets.Bounded(members{})))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(Prove(r.Context(), blog1())))
	}))
	t.Cleanup(server.Close)
	l.api = relationsv1alpha1connect.NewRelationsServiceClient(server.Client(), server.URL)
	return l
}

// write writes what a request writes.
func (l *till) write(ctx context.Context) error {
	l.carried++
	if l.written == 0 {
		return nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://cluster", nil)
	if err != nil {
		return err
	}
	request.ContentLength = int64(l.written)
	response, err := meter.Wrap(accepts{}).RoundTrip(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

func (l *till) Commit(ctx context.Context, _ *connect.Request[v1alpha1.CommitRequest]) (*connect.Response[v1alpha1.CommitResponse], error) {
	if l.announced > 0 {
		if err := l.budgets.Afford(ctx, l.announced, budget.Holding{}); err != nil {
			return nil, Refuse(err, connect.CodeInternal)
		}
	}
	return connect.NewResponse(&v1alpha1.CommitResponse{}), l.write(ctx)
}

func (l *till) Lead(ctx context.Context, _ *connect.Request[v1alpha1.LeadRequest]) (*connect.Response[v1alpha1.LeadResponse], error) {
	return connect.NewResponse(&v1alpha1.LeadResponse{}), l.write(ctx)
}

func (l *till) Leave(ctx context.Context, _ *connect.Request[v1alpha1.LeaveRequest]) (*connect.Response[v1alpha1.LeaveResponse], error) {
	return connect.NewResponse(&v1alpha1.LeaveResponse{}), l.write(ctx)
}

// commit has blog-1 commit n times, and returns how often it could before it was refused, and why.
func (l *till) commit(t *testing.T, n int) (stored int, err error) {
	t.Helper()
	for stored < n {
		if _, err = l.api.Commit(t.Context(), connect.NewRequest(&v1alpha1.CommitRequest{})); err != nil {
			return stored, err
		}
		stored++
	}
	return stored, nil
}

package limit

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/budget"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
)

// TRUST.md U1: a unit that was refused data and tries again at once is held, and refused unread if its wait is longer;
// its leadership is not, and neither are others.
func TestRefusedUnitsAreHeld(t *testing.T) {
	tests := map[string]struct {
		why, unit, procedure string
		wait, held           time.Duration
		passes               bool
	}{
		"Waits":      {"until its wait is over", "uid", relationsv1alpha1connect.RelationsServiceCommitProcedure, time.Second, time.Second, true},
		"Long":       {"a longer wait is the caller's", "uid", relationsv1alpha1connect.RelationsServiceCommitProcedure, time.Minute, LongestHold, false},
		"Over":       {"its wait is over", "uid", relationsv1alpha1connect.RelationsServiceCommitProcedure, -time.Second, 0, true},
		"Other":      {"another unit was refused", "other", relationsv1alpha1connect.RelationsServiceCommitProcedure, time.Second, 0, true},
		"Leadership": {"it has a lane of its own", "uid", relationsv1alpha1connect.RelationsServiceLeadProcedure, time.Second, 0, true},
		"Answers":    {"they have no budget", "uid", relationsv1alpha1connect.RelationsServiceLeaveProcedure, time.Second, 0, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := NewBudgets(&shop{}, &shop{}, time.Now)
				b.closed["uid"] = closed{budget.Unit, time.Now().Add(tc.wait)}
				body := &unread{}
				request := httptest.NewRequest(http.MethodPost, tc.procedure, body)
				request.Header.Set("Content-Type", "application/proto")
				request = request.WithContext(Prove(request.Context(), identity.Identity{UID: tc.unit, Pod: "web-0"}))
				answer, asked, passes := httptest.NewRecorder(), time.Now(), false
				b.Holding(members{}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passes = true })).ServeHTTP(answer, request)
				assert.Equal(t, tc.held, time.Since(asked), tc.why)
				assert.Equal(t, tc.passes, passes, tc.why)
				assert.False(t, body.read)
				if !tc.passes {
					assert.Equal(t, http.StatusTooManyRequests, answer.Code)
					assert.Equal(t, "58000", answer.Header().Get(HeaderWait))
					assert.Contains(t, answer.Body.String(), "pod web-0 has used up its budget of writes")
				}
			})
		})
	}
}

// unread is a body that notes whether it is read.
type unread struct{ read bool }

func (u *unread) Read([]byte) (int, error) {
	u.read = true
	return 0, io.EOF
}

package people

import (
	"errors"
	"net/http"

	"github.com/golang/glog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive/state"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// errNoPath is the answer to a path that the API does not have.
var errNoPath = errors.New("the API has no such path")

// refusal is the answer to an error.
type refusal struct {
	of     error
	status int
	reason metav1.StatusReason
}

// refusals are the answers to known errors.
//
//nolint:gochecknoglobals // a table
var refusals = []refusal{
	{ErrUnknown, http.StatusUnauthorized, metav1.StatusReasonUnauthorized},
	{ErrForbidden, http.StatusForbidden, metav1.StatusReasonForbidden},
	{ErrNotFound, http.StatusNotFound, metav1.StatusReasonNotFound},
	{errNoPath, http.StatusNotFound, metav1.StatusReasonNotFound},
	{blob.ErrLocked, http.StatusConflict, metav1.StatusReasonConflict},
	{blob.ErrNotFound, http.StatusNotFound, metav1.StatusReasonNotFound},
	{bundle.ErrLimit, http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge},
	{state.ErrTooLarge, http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge},
	{state.ErrRefused, http.StatusBadRequest, metav1.StatusReasonBadRequest},
	{workspace.ErrInvalid, http.StatusBadRequest, metav1.StatusReasonBadRequest},
	{workspace.ErrStale, http.StatusConflict, metav1.StatusReasonConflict},
	{workspace.ErrChanged, http.StatusConflict, metav1.StatusReasonConflict},
	{workspace.ErrSettled, http.StatusConflict, metav1.StatusReasonConflict},
	{workspace.ErrHeld, http.StatusConflict, metav1.StatusReasonConflict},
	{workspace.ErrWaits, http.StatusConflict, metav1.StatusReasonConflict},
	{workspace.ErrAhead, http.StatusConflict, metav1.StatusReasonConflict},
	{node.ErrRevoked, http.StatusConflict, metav1.StatusReasonConflict},
	{errNoNodes, http.StatusNotImplemented, metav1.StatusReasonMethodNotAllowed},
}

// refuse writes an error as the answer.
func refuse(w http.ResponseWriter, err error) {
	found := refusal{status: http.StatusServiceUnavailable, reason: metav1.StatusReasonServiceUnavailable}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		found = refusal{status: http.StatusRequestEntityTooLarge, reason: metav1.StatusReasonRequestEntityTooLarge}
	}
	for _, one := range refusals {
		if errors.Is(err, one.of) {
			found = one
			break
		}
	}
	if found.status == http.StatusServiceUnavailable {
		glog.Warningf("cannot answer a person: %v", err)
	}
	_ = write(w, found.status, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Message: err.Error(), Reason: found.reason, Code: int32(found.status), //nolint:gosec // a status has three digits
	})
}

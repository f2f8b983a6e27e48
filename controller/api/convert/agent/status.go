package agent

import (
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// ToStatus returns a reported status. It has no time.
func ToStatus(s *wire.Status) status.Info {
	return status.Info{State: status.State(s.GetState()), Message: s.GetMessage(), Code: s.GetCode(), Resolution: s.GetResolution()}
}

// ForStatus returns a reported status.
func ForStatus(info status.Info) *wire.Status {
	return &wire.Status{State: string(info.State), Message: info.Message, Code: info.Code, Resolution: info.Resolution}
}

// ToFailure returns a failure of handlers; the zero failure for none.
func ToFailure(f *wire.HandlerFailure) status.Failure {
	return status.Failure{Event: f.GetEvent(), Relation: f.GetRelation(), Attempts: int(f.GetAttempts()), Said: f.GetSaid()}
}

// ForFailure returns a failure of handlers; nil for none.
func ForFailure(f status.Failure) *wire.HandlerFailure {
	if !f.Fails() {
		return nil
	}
	return &wire.HandlerFailure{Event: f.Event, Relation: f.Relation, Attempts: int64(f.Attempts), Said: f.Said}
}

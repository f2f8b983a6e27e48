package status

import "errors"

// ErrGone reports that the unit or the relation that a status is about does not exist any
// more.
var ErrGone = errors.New("it is not there any more")

// Reporter is the pod that reports a status, and the term in which it leads its application; 0 if it
// does not lead.
type Reporter struct {
	Namespace, Application, PodUID string
	Term                           int
}

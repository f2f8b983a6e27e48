package node

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// Callers identifies the keepers of nodes, by the certificate of their connection. A node calls for Runs that were offered
// to it, and for no other.
type Callers struct{ Server *Server }

var _ serve.Callers = Callers{}

// Identify implements serve.Callers.
func (c Callers) Identify(r *http.Request) (serve.Caller, error) {
	p, err := c.Server.Authority.verify(r.Context(), r.TLS)
	if err == nil {
		_, err = c.Server.permitted(r.Context(), p)
	}
	if err != nil {
		return serve.Caller{}, fmt.Errorf("%w: Run %s: %w", serve.ErrKey, r.PathValue("run"), err)
	}
	offers, err := c.Server.Offers.Of(r.Context(), p.name)
	if err != nil {
		return serve.Caller{}, err
	}
	of := r.PathValue("run")
	at := slices.IndexFunc(offers, func(o OfferedAttempt) bool { return o.UID == of && o.To(p.name, p.key) })
	if at < 0 {
		return serve.Caller{}, fmt.Errorf("%w: Run %s was not offered to RunNode %s with this key", serve.ErrKey, of, p.name)
	}
	uid, run, err := c.Server.Runs.Identity(r.Context(), offers[at].Name)
	if errors.Is(err, ErrNone) {
		err = fmt.Errorf("%w: %w", serve.ErrKey, err)
	}
	if err != nil {
		return serve.Caller{}, fmt.Errorf("cannot find out who calls: %w", err)
	}
	return serve.Caller{
		Workspace: uid, Run: run, Claimant: workspace.Claimant{ID: p.name, Where: p.name}, Key: r.TLS.PeerCertificates[0].PublicKey,
	}, nil
}

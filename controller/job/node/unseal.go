package node

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/runner"
)

// Seals opens what agents have encrypted to the controller.
type Seals interface {
	// Unseal returns an encrypted content.
	Unseal(ctx context.Context, content io.Reader) (io.Reader, error)
}

// Envelopes has requests whose bodies an agent has kept on its disk, encrypted, served as if they came at once.
type Envelopes struct {
	Server *Server
	Seals  Seals
	Next   http.Handler
}

var _ http.Handler = Envelopes{}

// ServeHTTP implements http.Handler. A request that cannot be opened is to be sent again: a key may come back.
func (e Envelopes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(runner.Sealed) == "" {
		e.Next.ServeHTTP(w, r)
		return
	}
	content, err := e.open(r)
	if err != nil {
		glog.Warningf("cannot open what a RunNode has kept: %v", err)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_ = json.NewEncoder(w).Encode(runner.Problem{ //nolint:errchkjson // strings; the connection may be gone
			Error: "cannot open what was kept: " + err.Error(), Reason: runner.Unavailable,
		})
		return
	}
	r.Body, r.ContentLength = io.NopCloser(content), -1
	e.Next.ServeHTTP(w, r)
}

// open opens the body of a node's request. Nothing of a stranger is read.
func (e Envelopes) open(r *http.Request) (io.Reader, error) {
	p, err := e.Server.Authority.verify(r.Context(), r.TLS)
	if err == nil {
		_, err = e.Server.permitted(r.Context(), p)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot find out who calls: %w", err)
	}
	return e.Seals.Unseal(r.Context(), r.Body)
}

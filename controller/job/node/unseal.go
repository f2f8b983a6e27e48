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
	// Unseal returns the content of what was encrypted.
	Unseal(ctx context.Context, content io.Reader) (io.Reader, error)
}

// Unsealed serves requests whose bodies an agent has kept on its disk, encrypted, as if they came at once. One that cannot
// be opened is to be sent again: a key may come back.
func (s *Server) Unsealed(by Seals, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(runner.Sealed) == "" {
			next.ServeHTTP(w, r)
			return
		}
		content, err := s.unseal(by, r)
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
		next.ServeHTTP(w, r)
	})
}

// unseal opens the body of a node's request. Nothing of a stranger is read.
func (s *Server) unseal(by Seals, r *http.Request) (io.Reader, error) {
	p, err := s.Authority.verify(r.Context(), r.TLS)
	if err == nil {
		_, err = s.permitted(r.Context(), p)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot find out who calls: %w", err)
	}
	return by.Unseal(r.Context(), r.Body)
}

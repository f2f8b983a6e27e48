package agent

import (
	"io"
	"net/http"
)

// The paths that the agent serves on its socket.
const (
	pathGate    = "/gate"
	pathStatus  = "/status"
	pathTrouble = "/trouble"
)

// SocketHandler answers the commands of this binary within the pod.
func (a *Agent) SocketHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathGate, a.serveGate)
	mux.HandleFunc("GET "+pathTrouble, respond(a.Hold().Trouble))
	mux.Handle("POST "+pathTool, a.ToolHandler("relation-agent"))
	mux.HandleFunc("GET "+pathStatus, func(w http.ResponseWriter, _ *http.Request) {
		_ = a.WriteStatus(w) // whoever asked has gone
	})
	return mux
}

// serveGate answers when the gate is open.
func (a *Agent) serveGate(w http.ResponseWriter, r *http.Request) {
	select {
	case <-a.gate:
		w.WriteHeader(http.StatusOK)
	case <-r.Context().Done():
	}
}

// respond serves a text.
func respond(text func() string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, text()) // the client may be gone
	}
}

// MetricsHandler serves /metrics and /healthz to the network. Health is that of
// the process and of nothing else (SAFETY.md I19).
func (a *Agent) MetricsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_ = a.WriteMetrics(w) // whoever asked has gone
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok\n"))
	})
	return mux
}

package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/component"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/state"
)

const (
	// startTimeout bounds how long a restarted component may take, also on a busy machine.
	startTimeout = 3 * time.Minute
	// headerTimeout is there since every server should have one.
	headerTimeout = 10 * time.Second
)

// serveControl answers, on the cluster's socket, what only the components'
// parent can do. The folder's rights keep others from the socket.
func (s *Supervisor) serveControl() (stop func(), err error) {
	listener, err := net.Listen("unix", s.options.Dir.Control())
	if err != nil {
		return nil, fmt.Errorf("cannot open control socket: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /components", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(s.group.Status())
	})
	mux.HandleFunc("POST /components/{name}/start", s.handle(s.group.Start))
	mux.HandleFunc("POST /components/{name}/stop", s.handle(s.signal(syscall.SIGTERM)))
	mux.HandleFunc("POST /components/{name}/kill", s.handle(s.signal(syscall.SIGKILL)))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout}
	go func() { _ = server.Serve(listener) }()
	return func() { _ = server.Close() }, nil
}

func (s *Supervisor) signal(signal syscall.Signal) func(context.Context, string) error {
	return func(ctx context.Context, name string) error { return s.group.Signal(ctx, name, signal) }
}

// handle does one thing to one component; the answer's body is the error.
func (s *Supervisor) handle(do func(context.Context, string) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), startTimeout)
		defer cancel()
		err := do(ctx, r.PathValue("name"))
		switch {
		case err == nil:
			s.step("%s %s", r.Method, r.URL.Path)
		case errors.Is(err, component.ErrUnknown):
			http.Error(w, err.Error(), http.StatusNotFound)
		default:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
}

// ErrControl says that the supervisor refused or failed.
var ErrControl = errors.New("the cluster refused")

// Control asks the supervisor of a cluster to do something to a component:
// start, stop or kill.
func Control(ctx context.Context, d state.Dir, verb, name string) error {
	_, err := ask(ctx, d, http.MethodPost, "/components/"+name+"/"+verb)
	return err
}

// Components asks the supervisor of a cluster how its components are.
func Components(ctx context.Context, d state.Dir) ([]component.Status, error) {
	data, err := ask(ctx, d, http.MethodGet, "/components")
	if err != nil {
		return nil, err
	}
	all := []component.Status{}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("cannot read status: %w", err)
	}
	return all, nil
}

func ask(ctx context.Context, d state.Dir, method, path string) ([]byte, error) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", d.Control())
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, method, "http://cluster"+path, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot ask cluster: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("cannot ask cluster in %s: %w", d, err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("cannot ask cluster in %s: %w", d, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w: %s", ErrControl, data)
	}
	return data, nil
}

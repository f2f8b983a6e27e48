package fleet

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/golang/glog"
)

const (
	// maxBody bounds what a request sends, in bytes.
	maxBody = 1 << 20
	// maxRequests bounds how many are read at a time.
	maxRequests = 16
	// Delay is the time after which a request is refused, whatever the reason: it hides how long the answer took to find.
	Delay = 300 * time.Millisecond
)

// Sets is the part of the cluster that webhooks need.
type Sets interface {
	// Token returns the secret of a set's webhook; "" for a set that has none, or does not exist.
	Token(ctx context.Context, namespace, set string) (string, error)
	// Wake has a set fetch its data, now or within seconds.
	Wake(ctx context.Context, namespace, set string) error
}

// Handler answers POST /fleet/NAMESPACE/SET.
type Handler struct {
	sets  Sets
	delay time.Duration
	// places bounds the requests that are read at a time.
	places chan struct{}
}

// New returns the handler for sets. delay is Delay outside of tests.
func New(sets Sets, delay time.Duration) *Handler {
	return &Handler{sets: sets, delay: delay, places: make(chan struct{}, maxRequests)}
}

// ServeHTTP has a set woken if the request proves its secret. All others are refused by one answer, so that it tells
// nothing about the set.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	refusal := time.NewTimer(h.delay)
	defer refusal.Stop()
	namespace, set, found := address(r.URL.Path)
	switch {
	case !found:
		http.NotFound(w, r)
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "a webhook is called with POST", http.StatusMethodNotAllowed)
		return
	}
	proven, err := h.proven(w, r, namespace, set)
	switch {
	case err != nil:
		writeError(w, err)
	case !proven:
		select {
		case <-refusal.C:
		case <-r.Context().Done():
		}
		http.Error(w, "refused: check the address, spec.data.webhook of the IntegrationSet, and the secret", http.StatusForbidden)
	default:
		h.wake(w, r, namespace, set)
	}
}

// address returns the set that a path names.
func address(path string) (namespace, set string, found bool) {
	parts := strings.Split(path, "/")
	if len(parts) != 4 || parts[0] != "" || parts[1] != "fleet" || parts[2] == "" || parts[3] == "" {
		return "", "", false
	}
	return parts[2], parts[3], true
}

// errBusy is the error of a request beyond maxRequests.
var errBusy = errors.New("too many requests at a time: try again")

// proven reports whether a request proves the secret of a set. Whether the set exists makes no other error.
func (h *Handler) proven(w http.ResponseWriter, r *http.Request, namespace, set string) (bool, error) {
	select {
	case h.places <- struct{}{}:
		defer func() { <-h.places }()
	default:
		return false, errBusy
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return false, err
	}
	token, err := h.sets.Token(r.Context(), namespace, set)
	if err != nil {
		glog.Errorf("cannot check a webhook of IntegrationSet %s/%s: %v", namespace, set, err)
		token = ""
	}
	return proves(r.Header, body, token), nil
}

// wake answers a request that has proven the secret.
func (h *Handler) wake(w http.ResponseWriter, r *http.Request, namespace, set string) {
	if err := h.sets.Wake(r.Context(), namespace, set); err != nil {
		glog.Errorf("cannot wake IntegrationSet %s/%s: %v", namespace, set, err)
		http.Error(w, "cannot have the set fetch its data: try again", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// writeError answers a request that could not be read.
func writeError(w http.ResponseWriter, err error) {
	_, large := errors.AsType[*http.MaxBytesError](err)
	switch {
	case large:
		http.Error(w, "a request has at most 1 MiB", http.StatusRequestEntityTooLarge)
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", "10")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		http.Error(w, "the request broke off", http.StatusBadRequest)
	}
}

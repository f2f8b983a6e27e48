package election

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/golang/glog"
)

// Path is the HTTP path of a replica's identity.
const Path = "/identity"

// answer is how long a holder may take to answer, and longest how long an identity may be.
const (
	answer  = time.Second
	longest = 512
)

// Identity returns the identity of a process in the Lease: its host, a text that no other process has, and the address
// at which it serves Path. Without an address, its Lease has to expire.
func Identity(host, unique, address string) string { return host + "_" + unique + "_" + address }

// addressOf returns the address in an identity.
func addressOf(identity string) (address string, ok bool) {
	address = identity[strings.LastIndexByte(identity, '_')+1:]
	host, port, err := net.SplitHostPort(address)
	return address, err == nil && host != "" && port != ""
}

// Handler serves the identity of this process.
func Handler(identity string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, identity)
	})
}

// witness asks holders of the Lease who they are.
type witness struct {
	client *http.Client
	// answered is the holder that has answered.
	answered string
}

// newWitness returns a witness that opens a connection for each request, so that a process that has ended refuses it.
func newWitness() *witness {
	return &witness{client: &http.Client{
		Timeout:   answer,
		Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}}
}

// ended reports whether the process of a holder is known to have ended: nothing listens where it answered before, or
// another process does. No answer proves nothing: a holder may be slow, or out of reach.
func (w *witness) ended(ctx context.Context, holder, own string) bool {
	address, ok := addressOf(holder)
	if !ok {
		return false
	}
	if mine, _ := addressOf(own); mine == address {
		return true // this process has its place
	}
	identity, err := w.ask(ctx, address)
	if identity == holder {
		if w.answered != holder {
			glog.Infof("%s leads", holder)
		}
		w.answered = holder
		return false
	}
	if w.answered != holder { // a network policy may refuse connections, too
		return false
	}
	at, _ := addressOf(identity)
	return errors.Is(err, syscall.ECONNREFUSED) || at == address
}

// ask returns the identity of the process at an address.
func (w *witness) ask(ctx context.Context, address string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+Path, nil)
	if err != nil {
		return "", fmt.Errorf("cannot ask %s who it is: %w", address, err)
	}
	response, err := w.client.Do(request)
	if err != nil {
		return "", fmt.Errorf("cannot ask %s who it is: %w", address, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return "", nil
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, longest))
	if err != nil {
		return "", fmt.Errorf("cannot read who %s is: %w", address, err)
	}
	return string(text), nil
}

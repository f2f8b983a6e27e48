package object

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// attempt is how long one attempt to connect may take, and pause is that between two.
const (
	attempt = 2 * time.Second
	pause   = 500 * time.Millisecond
)

// InformerClient returns a client for informers, until ctx ends. It calls watches, which must not wait, whenever a watch
// begins. Its connections wait until the API server accepts them:
// after a failure an informer pauses, in the end for a minute, even if the API server is back at once (TRUST.md A2).
func InformerClient(ctx context.Context, cfg *rest.Config, watches func()) (*http.Client, error) {
	patient := rest.CopyConfig(cfg)
	dialer := net.Dialer{Timeout: attempt, KeepAlive: 30 * time.Second}
	patient.Dial = func(dialing context.Context, network, address string) (net.Conn, error) {
		for {
			connection, err := dialer.DialContext(dialing, network, address)
			if err == nil {
				return connection, nil
			}
			select {
			case <-ctx.Done():
			case <-dialing.Done():
			case <-time.After(pause):
				continue
			}
			return nil, fmt.Errorf("cannot connect to the API server: %w", err)
		}
	}
	patient.Wrap(func(next http.RoundTripper) http.RoundTripper { return noting{next, watches} })
	client, err := rest.HTTPClientFor(patient)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client for informers: %w", err)
	}
	return client, nil
}

// noting is a transport that notes the beginnings of watches.
type noting struct {
	http.RoundTripper

	watches func()
}

// RoundTrip carries out a request.
func (n noting) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := n.RoundTripper.RoundTrip(request)
	if request.URL.Query().Get("watch") == "true" {
		n.watches()
	}
	return response, err
}

package egress

import (
	"net/http"
	"net/netip"
	"net/url"
)

const errOpen Error = "the server, or one that it names, has no TLS, and credentials are not sent without it: use https://, or " +
	"remove the credentials"

// Private returns base for requests whose credentials go over TLS, or to the machine itself (CONTENT.md X6). nil is the
// standard library's.
func Private(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return private{base}
}

type private struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper. Each redirect is a request of its own.
func (p private) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") != "" && r.URL.Scheme != "https" && !own(r.URL) {
		if r.Body != nil {
			_ = r.Body.Close() // a RoundTripper must
		}
		return nil, errOpen
	}
	return p.base.RoundTrip(r)
}

// own reports whether an address is the machine's own.
func own(address *url.URL) bool {
	at, err := netip.ParseAddr(address.Hostname())
	return address.Hostname() == "localhost" || err == nil && at.IsLoopback()
}

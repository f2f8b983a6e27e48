package egress

import (
	"net/http"
	"net/netip"
	"net/url"
)

const (
	errOpen Error = "the server, or one that it names, has no TLS, and credentials are not sent without it: use https://, or remove the " +
		"credentials"
	errOther Error = "the server redirects to another host or port, to which the credentials are not sent: use the address that it redirects to"
)

// Private carries requests, and those with credentials only to where these may go (CONTENT.md X6): over TLS, or to the
// machine itself.
type Private struct {
	// Base carries the requests; nil is the standard library's.
	Base http.RoundTripper
	// Only is the address whose host and port alone get credentials; nil where a protocol names other servers for them.
	Only *url.URL
}

// RoundTrip implements http.RoundTripper. Each redirect is a request of its own.
func (p Private) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") != "" {
		if err := p.check(r.URL); err != nil {
			if r.Body != nil {
				_ = r.Body.Close() // a RoundTripper must
			}
			return nil, err
		}
	}
	if p.Base == nil {
		return http.DefaultTransport.RoundTrip(r)
	}
	return p.Base.RoundTrip(r)
}

func (p Private) check(address *url.URL) error {
	host := address.Hostname()
	at, err := netip.ParseAddr(host)
	switch own := host == "localhost" || err == nil && at.IsLoopback(); {
	case address.Scheme != "https" && !own:
		return errOpen
	case p.Only != nil && (address.Scheme != p.Only.Scheme || address.Host != p.Only.Host):
		return errOther
	}
	return nil
}

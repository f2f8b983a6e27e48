package stream

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// transport returns what dials the controller with today's trust. It never uses
// a proxy that the pod's environment may name, nor the system's authorities.
// verified is called with each controller that was verified.
func (c *Client) transport(verified func(*peer)) (*http.Transport, error) {
	roots, err := c.roots()
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: c.Pace.Dial, KeepAliveConfig: net.KeepAliveConfig{Enable: false}}
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	return &http.Transport{
		DialContext:         dialer.DialContext,
		TLSHandshakeTimeout: c.Pace.Dial,
		TLSClientConfig: &tls.Config{
			RootCAs: roots, ServerName: c.ServerName, MinVersion: tls.VersionTLS13,
			VerifyConnection: func(state tls.ConnectionState) error { verified(&peer{state, time.Now()}); return nil },
		},
		Protocols:          protocols,
		DisableCompression: true,
		IdleConnTimeout:    time.Second, // a connection serves one conversation
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: c.Pace.Quiet,
			PingTimeout:     c.Pace.Answer,
			// A stream accepts two pieces of a databag ahead; more stays with the sender, because
			// the agent's memory is bounded (TRUST.md U2).
			MaxReceiveBufferPerConnection: 128 << 10,
			MaxReceiveBufferPerStream:     64 << 10,
		},
	}, nil
}

func httpClient(t *http.Transport) *http.Client {
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

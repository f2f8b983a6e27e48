package aggregation

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/people"
)

const (
	// fresh is how long the content of the ConfigMap is used.
	fresh = time.Minute
	// patience is how long it is used at least, if it verifies no certificate: an authority may have been replaced.
	patience = 5 * time.Second
)

// FrontProxy knows the senders of requests by the headers of the API server, whose certificate it verifies by ConfigMap
// extension-apiserver-authentication of kube-system.
type FrontProxy struct {
	// Reader reads the ConfigMap itself, not a cached copy.
	Reader client.Reader
	// Clock returns the time.
	Clock func() time.Time

	mutex sync.Mutex
	last  *trust
}

// trust has the content of the ConfigMap.
type trust struct {
	read        time.Time
	authorities *x509.CertPool
	// allowed are common names of certificates; none means any.
	allowed []string
	// users, uids and groups are names of headers, extras their beginnings.
	users, uids, groups, extras []string
}

// Identify implements people.Persons.
func (f *FrontProxy) Identify(r *http.Request) (people.Person, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return people.Person{}, unknown("the request did not come through the API server: use kubectl or orcon")
	}
	known, err := f.trusted(r.Context(), fresh)
	if err != nil {
		return people.Person{}, err
	}
	refused := known.verify(r.TLS.PeerCertificates, f.Clock())
	if refused != nil {
		if known, err = f.trusted(r.Context(), patience); err != nil {
			return people.Person{}, err
		}
		refused = known.verify(r.TLS.PeerCertificates, f.Clock())
	}
	if refused != nil {
		return people.Person{}, refused
	}
	return known.person(r.Header)
}

func unknown(why string) error { return fmt.Errorf("%w: %s", people.ErrUnknown, why) }

// trusted returns the content of the ConfigMap, at most so old.
func (f *FrontProxy) trusted(ctx context.Context, age time.Duration) (*trust, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.last != nil && f.Clock().Sub(f.last.read) < age {
		return f.last, nil
	}
	var config corev1.ConfigMap
	const namespace, name = "kube-system", "extension-apiserver-authentication"
	if err := f.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &config); err != nil {
		return nil, fmt.Errorf("cannot read how the API server identifies itself: %w: bind Role extension-apiserver-authentication-reader "+
			"of namespace kube-system to this account", err)
	}
	next, err := parse(config.Data)
	if err != nil {
		return nil, fmt.Errorf("cannot use ConfigMap %s of namespace %s: %w", name, namespace, err)
	}
	next.read = f.Clock()
	f.last = next
	return next, nil
}

// parse reads the data of the ConfigMap.
func parse(data map[string]string) (*trust, error) {
	t := &trust{authorities: x509.NewCertPool()}
	if !t.authorities.AppendCertsFromPEM([]byte(data["requestheader-client-ca-file"])) {
		return nil, errors.New("requestheader-client-ca-file has no certificate: start the API server with --requestheader-client-ca-file")
	}
	for key, list := range map[string]*[]string{
		"requestheader-allowed-names": &t.allowed, "requestheader-username-headers": &t.users, "requestheader-uid-headers": &t.uids,
		"requestheader-group-headers": &t.groups, "requestheader-extra-headers-prefix": &t.extras,
	} {
		if text := data[key]; text != "" {
			if err := json.Unmarshal([]byte(text), list); err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	if len(t.users) == 0 {
		return nil, errors.New("requestheader-username-headers names no header: start the API server with --requestheader-username-headers")
	}
	return t, nil
}

// verify returns why a certificate is not that of the API server.
func (t *trust) verify(chain []*x509.Certificate, now time.Time) error {
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{
		Roots: t.authorities, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	name := chain[0].Subject.CommonName
	switch {
	case err != nil:
		return fmt.Errorf("%w: its certificate is not that of the API server: %w", people.ErrUnknown, err)
	case len(t.allowed) > 0 && !slices.Contains(t.allowed, name):
		return unknown(fmt.Sprintf("certificate %q is not that of the API server: it is one of %s", name, strings.Join(t.allowed, ", ")))
	}
	return nil
}

// person returns the sender by the headers.
func (t *trust) person(headers http.Header) (people.Person, error) {
	p := people.Person{Name: first(headers, t.users), UID: first(headers, t.uids)}
	if p.Name == "" {
		return people.Person{}, unknown("the API server names no user")
	}
	for _, name := range t.groups {
		p.Groups = append(p.Groups, slices.DeleteFunc(slices.Clone(headers.Values(name)), func(group string) bool { return group == "" })...)
	}
	for _, prefix := range t.extras {
		for name, values := range headers {
			if len(name) > len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
				p.Extra = with(p.Extra, unescaped(strings.ToLower(name[len(prefix):])), values)
			}
		}
	}
	return p, nil
}

// with returns a map with more values of a key.
func with(all map[string][]string, key string, values []string) map[string][]string {
	next := maps.Clone(all)
	if next == nil {
		next = map[string][]string{}
	}
	next[key] = append(next[key], values...)
	return next
}

// unescaped returns the key that a header's name stands for.
func unescaped(name string) string {
	if plain, err := url.PathUnescape(name); err == nil {
		return plain
	}
	return name
}

// first returns the value of the first header that has one.
func first(headers http.Header, names []string) string {
	for _, name := range names {
		if value := headers.Get(name); value != "" {
			return value
		}
	}
	return ""
}

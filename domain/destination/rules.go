package destination

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"
)

// Rules decide which servers may be fetched from. Its zero value refuses what is refused everywhere.
type Rules struct {
	// Cluster are the networks of the cluster: of its Services, pods and nodes.
	Cluster []netip.Prefix
	Allowed Allowed
}

// RefusedError reports a server that may not be fetched from. It names the kind of address alone: a
// server that redirects chooses the address itself.
type RefusedError struct {
	// Kind completes "the server has": "a loopback address".
	Kind string
}

// Error names the kind of the address, and the cure.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the server, or one that it redirects to, has %s, which is refused: use a server outside of the cluster, or let an "+
		"administrator allow this one with -allow of the bundle controller", e.Kind)
}

// CheckName refuses a host by its name, or by its address if that is written in place of a name. Other
// names are checked by CheckAddress when they are resolved.
func (r Rules) CheckName(host string) error {
	if r.Allowed.Name(host) {
		return nil
	}
	host = canonical(host)
	if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return r.CheckAddress(a)
	}
	if a, is := number(host); is {
		return r.CheckAddress(a)
	}
	switch {
	case strings.ContainsFunc(host, func(c rune) bool { return c > unicode.MaxASCII }):
		return &RefusedError{"a name that is not ASCII, as the form xn--… is"} // it may become any other name
	case host == "localhost" || strings.HasSuffix(host, ".localhost"):
		return &RefusedError{"a loopback address"}
	case inCluster(host):
		return &RefusedError{"a name of the cluster"}
	}
	return nil
}

// CheckAddress refuses an address.
func (r Rules) CheckAddress(a netip.Addr) error {
	if !a.IsValid() {
		return &RefusedError{nowhere}
	}
	for _, a := range meant(a) {
		if contains(r.Allowed.networks, a) {
			continue
		}
		if kind := kindOf(a); kind != "" {
			return &RefusedError{kind}
		}
		if contains(r.Cluster, a) {
			return &RefusedError{"an address of the cluster"}
		}
	}
	return nil
}

// inCluster reports whether a name is one of the cluster's DNS: name.namespace.svc, with or without the
// cluster's domain.
func inCluster(host string) bool {
	return slices.Contains(strings.Split(host, "."), "svc") || strings.HasSuffix(host, ".cluster.local")
}

func canonical(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

func contains(all []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(all, func(p netip.Prefix) bool { return p.Contains(a) })
}

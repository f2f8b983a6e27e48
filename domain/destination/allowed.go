package destination

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Allowed are servers that an administrator allows although they would be refused.
type Allowed struct {
	names    []string
	networks []netip.Prefix
}

// Add allows a network (10.0.0.0/8), an address, or a host by its name, whatever address that has.
func (l *Allowed) Add(text string) error {
	if p, err := netip.ParsePrefix(text); err == nil {
		l.networks = append(l.networks, p.Masked())
		return nil
	}
	if a, err := netip.ParseAddr(text); err == nil {
		l.networks = append(l.networks, netip.PrefixFrom(a, a.BitLen()))
		return nil
	}
	if text == "" || strings.ContainsAny(text, "/:@*, ") {
		return fmt.Errorf("cannot allow %q: write a network as 10.0.0.0/8, an address, or a host without its port", text)
	}
	l.names = append(l.names, canonical(text))
	return nil
}

// Set adds entries that are joined by commas.
func (l *Allowed) Set(text string) error {
	var failed []error
	for entry := range strings.SplitSeq(text, ",") {
		if entry != "" {
			failed = append(failed, l.Add(entry))
		}
	}
	return errors.Join(failed...)
}

// AddHost allows a host, which may have a port.
func (l *Allowed) AddHost(host string) {
	if at := strings.LastIndexByte(host, ':'); at > strings.LastIndexByte(host, ']') {
		host = host[:at]
	}
	l.names = append(l.names, canonical(host))
}

// Name reports whether a host is allowed by its name.
func (l Allowed) Name(host string) bool { return slices.Contains(l.names, canonical(host)) }

// MarshalText writes what UnmarshalText reads.
func (l Allowed) MarshalText() ([]byte, error) {
	all := slices.Clone(l.names)
	for _, p := range l.networks {
		all = append(all, p.String())
	}
	return []byte(strings.Join(all, ",")), nil
}

// UnmarshalText reads entries that are joined by commas.
func (l *Allowed) UnmarshalText(text []byte) error {
	*l = Allowed{}
	return l.Set(string(text))
}

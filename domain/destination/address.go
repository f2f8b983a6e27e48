package destination

import (
	"net/netip"
	"strconv"
	"strings"
)

// nowhere is the kind of addresses at which no server is.
const nowhere = "an address that names no server"

// special are addresses that are refused in every cluster. The services for metadata of nodes are at
// link-local addresses, and with some providers at these others.
//
//nolint:gochecknoglobals // a table
var special = []struct {
	kind     string
	networks []netip.Prefix
}{
	{"a loopback address", networks("127.0.0.0/8", "::1/128")},
	{"a link-local address", networks("169.254.0.0/16", "fe80::/10", "224.0.0.0/24", "ff02::/16")},
	{"the address of a metadata service", networks("100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32")},
	{"the address of a metadata service", networks("fd00:ec2::/32", "fd20:ce::254/128")},
	{nowhere, networks("0.0.0.0/8", "::/128", "224.0.0.0/4", "ff00::/8", "240.0.0.0/4")},
}

// embeddings are networks of IPv6 whose addresses stand for one of IPv4, which begins at a byte.
//
//nolint:gochecknoglobals // a table
var embeddings = []struct {
	network netip.Prefix
	at      int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},   // NAT64 (RFC 6052)
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12}, // NAT64 of a site (RFC 8215)
	{netip.MustParsePrefix("2002::/16"), 2},       // 6to4 (RFC 3056)
	{netip.MustParsePrefix("::/96"), 12},          // IPv4-compatible (RFC 4291)
}

// meant returns the addresses that a connection to an address may reach.
func meant(a netip.Addr) []netip.Addr {
	a = a.Unmap().WithZone("")
	all := []netip.Addr{a}
	for _, e := range embeddings {
		if e.network.Contains(a) {
			bytes := a.As16()
			embedded, _ := netip.AddrFromSlice(bytes[e.at : e.at+4])
			all = append(all, embedded)
		}
	}
	return all
}

func kindOf(a netip.Addr) string {
	for _, s := range special {
		if contains(s.networks, a) {
			return s.kind
		}
	}
	return ""
}

func networks(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

// number returns the address of IPv4 that a host is for C if its last part is a number, which no domain of the Internet has:
// 127.1, 0x7f.0.0.1 and 2130706433 too. Proxies read them so. The address may be invalid.
func number(host string) (a netip.Addr, is bool) {
	parts := strings.Split(strings.TrimRight(host, "."), ".")
	last := parts[len(parts)-1]
	digits, hexadecimal := strings.CutPrefix(last, "0x")
	if last == "" || !hexadecimal && strings.Trim(digits, "0123456789") != "" || strings.Trim(digits, "0123456789abcdef") != "" {
		return a, false
	}
	var bytes [4]byte
	if len(parts) > len(bytes) {
		return a, true
	}
	for i, part := range parts {
		width := 1
		if i == len(parts)-1 {
			width = len(bytes) - i // the last part fills the rest
		}
		n, err := strconv.ParseUint(strings.TrimPrefix(part, "0x"), base(part), 8*width)
		if err != nil {
			return a, true
		}
		for j := i + width - 1; j >= i; j-- {
			bytes[j], n = byte(n), n>>8
		}
	}
	return netip.AddrFrom4(bytes), true
}

// base returns the base in which C reads a number.
func base(number string) int {
	switch {
	case strings.HasPrefix(number, "0x"):
		return 16
	case len(number) > 1 && number[0] == '0':
		return 8
	}
	return 10
}

package destination_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/destination"
)

// rules are those of a cluster whose administrator allows some servers.
func rules(t *testing.T) destination.Rules {
	t.Helper()
	r := destination.Rules{Cluster: []netip.Prefix{netip.MustParsePrefix("10.96.0.0/12"), netip.MustParsePrefix("fd00:10::/48")}}
	require.NoError(t, r.Allowed.UnmarshalText([]byte("registry.shop.svc,10.96.7.0/24,127.0.0.9")))
	return r
}

func TestCheckName(t *testing.T) {
	tests := map[string]struct{ why, host, refused string }{
		"Public":        {"a name is judged when it is resolved", "registry.example.org", ""},
		"PublicAddress": {"a server of the Internet", "203.0.113.7", ""},
		"Private":       {"a company's own network is not the cluster's", "192.168.3.4", ""},
		"Loopback":      {"the controller's own pod", "127.0.0.1", "loopback"},
		"LoopbackOther": {"all of 127.0.0.0/8 is the pod itself", "127.255.1.2", "loopback"},
		"Loopback6":     {"IPv6 has one too", "::1", "loopback"},
		"Brackets":      {"as a URL writes it", "[::1]", "loopback"},
		"Mapped":        {"IPv4 in the form of IPv6", "::ffff:127.0.0.1", "loopback"},
		"Compatible":    {"an old form", "::7f00:1", "loopback"},
		"NAT64":         {"a gateway of the node translates it", "64:ff9b::a9fe:a9fe", "link-local"},
		"6to4":          {"another translation", "2002:7f00:1::", "loopback"},
		"Localhost":     {"a name that every system has", "LocalHost.", "loopback"},
		"BelowIt":       {"RFC 6761", "a.localhost", "loopback"},
		"LinkLocal":     {"the metadata service of most providers", "169.254.169.254", "link-local"},
		"LinkLocal6":    {"with a zone", "fe80::1%eth0", "link-local"},
		"Alibaba":       {"a metadata service elsewhere", "100.100.100.200", "metadata"},
		"Azure":         {"a metadata service elsewhere", "168.63.129.16", "metadata"},
		"AWS6":          {"a metadata service over IPv6", "fd00:ec2::254", "metadata"},
		"Zero":          {"Linux takes it for loopback", "0.0.0.0", "names no server"},
		"Zero6":         {"Linux takes it for loopback", "::", "names no server"},
		"Multicast":     {"no server", "224.0.1.1", "names no server"},
		"Service":       {"a ServiceCIDR", "10.100.0.1", "address of the cluster"},
		"Service6":      {"a ServiceCIDR", "fd00:10::1", "address of the cluster"},
		"Short":         {"a proxy reads numbers as C does", "127.1", "loopback"},
		"Number":        {"a proxy reads numbers as C does", "2852039166", "link-local"},
		"Hexadecimal":   {"a proxy reads numbers as C does", "0xA9.0xfe.0251.0376", "link-local"},
		"Octal":         {"a proxy reads numbers as C does", "0177.0.0.01", "loopback"},
		"Dot":           {"a name may end in one", "169.254.169.254.", "link-local"},
		"ShortService":  {"a ServiceCIDR", "10.0x640001", "address of the cluster"},
		"NoNumber":      {"no domain of the Internet is a number", "1.2.3.4.5", "names no server"},
		"TooLarge":      {"an address has four bytes", "4294967296", "names no server"},
		"Wide":          {"for a proxy, net/http makes it 169.254.169.254", "１６９.254。169.254", "names no server"},
		"WideSvc":       {"for a proxy, net/http makes it db.shop.svc", "db.shop.ｓvc", "not ASCII"},
		"WideLocal":     {"for a proxy, net/http makes it localhost", "ⓛocalhost", "not ASCII"},
		"Digits":        {"a host may begin with a number", "127.0.0.1.nip.example.org", ""},
		"Umlaut":        {"a name of the Internet, as net/http dials it", "xn--bcher-kva.example.org", ""},
		"Svc":           {"a Service's name", "db.shop.svc", "name of the cluster"},
		"SvcDomain":     {"a Service's name with the domain", "db.shop.SVC.cluster.local.", "name of the cluster"},
		"SvcOther":      {"a cluster may have another domain", "db.shop.svc.example.org", "name of the cluster"},
		"Pod":           {"pods have names too", "10-0-0-1.shop.pod.cluster.local", "name of the cluster"},
		"Allowed":       {"by its name", "Registry.shop.svc", ""},
		"AllowedNet":    {"by its network", "10.96.7.9", ""},
		"AllowedOne":    {"by its address", "127.0.0.9", ""},
		"NextToIt":      {"no more than allowed", "127.0.0.8", "loopback"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			err := rules(t).CheckName(tc.host)
			if tc.refused == "" {
				require.NoError(t, err, tc.why)
				return
			}
			require.ErrorContains(t, err, tc.refused, tc.why)
			_, refused := errors.AsType[*destination.RefusedError](err)
			assert.True(t, refused)
		})
	}
}

func TestAllowed(t *testing.T) {
	tests := map[string]struct {
		why, entry string
		ok         bool
	}{
		"Network": {"in short", "10.0.0.0/8", true},
		"Host":    {"a name", "registry.shop.svc", true},
		"Address": {"one", "fd00::1", true},
		"Port":    {"it would be ignored", "registry:5000", false},
		"URL":     {"only the host counts", "https://registry", false},
		"Pattern": {"it would match nothing", "*.svc", false},
		"Empty":   {"a value that was forgotten", "", false},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			var l destination.Allowed
			assert.Equal(t, tc.ok, l.Add(tc.entry) == nil, tc.why)
		})
	}
}

// However an address is written, it is judged as the IPv4 address that it reaches.
func FuzzCheckName(f *testing.F) {
	for _, host := range []string{"127.0.0.1", "::ffff:169.254.169.254", "db.svc", "[::1]", "64:ff9b::7f00:1"} {
		f.Add(host)
	}
	f.Fuzz(func(t *testing.T, host string) {
		a, err := netip.ParseAddr(host)
		refused := destination.Rules{}.CheckName(host) != nil
		if err == nil && (a.Unmap().IsLoopback() || a.Unmap().IsLinkLocalUnicast() || a.IsUnspecified()) {
			assert.True(t, refused, host)
		}
	})
}

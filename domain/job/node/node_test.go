package node_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
)

// start is when stories begin.
//
//nolint:gochecknoglobals // a constant of a type that cannot be one
var start = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func TestJoin(t *testing.T) {
	fresh := node.Token{Digest: "t", Expires: start.Add(node.TokenLife)}
	used := node.Token{Digest: "t", Expires: start.Add(node.TokenLife), User: "mine"}
	tests := map[string]struct {
		why   string
		node  node.Node
		token string
		after time.Duration
		want  error
	}{
		"good":          {"the token was made for this name", node.Node{Identity: node.Identity{Token: fresh}}, "t", time.Minute, nil},
		"other token":   {"only the last token counts", node.Node{Identity: node.Identity{Token: fresh}}, "u", time.Minute, node.ErrToken},
		"no token":      {"none was made, and an empty one is none", node.Node{}, "", time.Minute, node.ErrToken},
		"late":          {"15 minutes", node.Node{Identity: node.Identity{Token: fresh}}, "t", node.TokenLife, node.ErrExpired},
		"again":         {"the answer may have been lost", node.Node{Identity: node.Identity{Token: used, Key: "mine"}}, "t", time.Minute, nil},
		"revoked":       {"for ever", node.Node{Order: node.Revoke, Identity: node.Identity{Token: fresh}}, "t", time.Minute, node.ErrRevoked},
		"used by other": {"one time", node.Node{Identity: node.Identity{Token: node.Token{Digest: "t", Expires: fresh.Expires, User: "theirs"}}}, "t", 0, node.ErrToken},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			next, err := tc.node.Join(tc.token, "mine", start.Add(tc.after))
			if tc.want != nil {
				require.ErrorIs(t, err, tc.want, tc.why)
				assert.Equal(t, tc.node.Identity, next)
				return
			}
			require.NoError(t, err, tc.why)
			assert.Equal(t, "mine", next.Key)
			assert.Equal(t, start.Add(tc.after+node.CertificateLife), next.Expires)
		})
	}
}

func TestCalls(t *testing.T) {
	ends := start.Add(node.CertificateLife)
	joined := node.Node{Name: "n", Identity: node.Identity{Key: "k", Expires: ends}}
	revoked := joined
	revoked.Order = node.Revoke
	tests := map[string]struct {
		why           string
		node          node.Node
		key           string
		after         time.Duration
		permit, renew error
	}{
		"valid":    {"all calls", joined, "k", time.Hour, nil, nil},
		"expired":  {"it renews and does nothing else", joined, "k", node.CertificateLife, node.ErrExpired, nil},
		"long ago": {"30 days are the limit", joined, "k", node.CertificateLife + node.RenewalGrace, node.ErrExpired, node.ErrExpired},
		"revoked":  {"each call", revoked, "k", time.Hour, node.ErrRevoked, node.ErrRevoked},
		"revoked and expired": {"a revoked node never renews", revoked, "k", node.CertificateLife + time.Hour, node.ErrRevoked,
			node.ErrRevoked},
		"other key": {"a node that joined anew", joined, "j", time.Hour, node.ErrUnknown, node.ErrUnknown},
		"no key":    {"nothing has joined", node.Node{Name: "n"}, "", time.Hour, node.ErrUnknown, node.ErrUnknown},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			now := start.Add(tc.after)
			require.ErrorIs(t, tc.node.Permit(tc.key, ends, now), tc.permit, tc.why)
			next, err := tc.node.Renew(tc.key, ends, now)
			require.ErrorIs(t, err, tc.renew, tc.why)
			if tc.renew == nil {
				assert.Equal(t, now.Add(node.CertificateLife), next.Expires)
			}
		})
	}
	err := joined.Permit("k", ends, ends)
	require.ErrorContains(t, err, "it has expired at 2026-11-28T12:00:00Z, and the controller's clock shows 2026-11-28T12:00:00Z")
}

func TestRenewIn(t *testing.T) {
	ends := start.Add(node.CertificateLife)
	assert.Equal(t, 16*time.Hour, node.RenewIn(ends, start), "two thirds")
	assert.Zero(t, node.RenewIn(ends, start.Add(17*time.Hour)))
}

// model is a node, and what may call as it.
type model struct {
	node   node.Node
	now    time.Time
	tokens []string
	// good are keys that used a token which was made for this node, in their order.
	good []string
}

// JOBS.md J13: whatever happens in whatever order, only the last key that joined by a token of this node is ever answered,
// and the adopted one, which no other takes the place of before a person decides so; none is once the node is revoked.
// Nothing gets work before a person has adopted its key.
func TestOnlyJoinedKeysCall(t *testing.T) {
	keys := []string{"a", "b", "c"}
	rapid.Check(t, func(t *rapid.T) {
		m := model{node: node.Node{Name: "n", Capacity: 1, Namespaces: []string{"ns"}}, now: start}
		t.Repeat(map[string]func(*rapid.T){
			"mint": func(t *rapid.T) {
				token := "token-" + string(rune('a'+len(m.tokens)))
				next, err := m.node.Mint(token, m.now)
				if err == nil {
					m.tokens = append(m.tokens, token)
				}
				m.node.Identity = next
			},
			"join": func(t *rapid.T) {
				key := rapid.SampledFrom(keys).Draw(t, "key")
				token := rapid.SampledFrom(append([]string{"", "forged"}, m.tokens...)).Draw(t, "token")
				before := m.node
				next, err := m.node.Join(token, key, m.now)
				if err == nil {
					assert.Equal(t, before.Token.Digest, token)
					assert.Contains(t, m.tokens, token)
					assert.Contains(t, []string{"", key}, before.Token.User, "one key for a token")
					m.good = append(m.good, key)
				}
				m.node.Identity = next
				if before.Permit(before.Adopted, m.now.Add(1), m.now) == nil {
					assert.NoError(t, m.node.Permit(before.Adopted, m.now.Add(1), m.now), "a person has adopted it")
					assert.Equal(t, before.Adopted, m.node.Machine())
				}
			},
			"renew": func(t *rapid.T) {
				m.node.Identity, _ = m.node.Renew(rapid.SampledFrom(keys).Draw(t, "key"), m.node.Expires, m.now)
			},
			"adopt":  func(t *rapid.T) { m.node.Adopted = rapid.SampledFrom(append(keys, m.node.Key)).Draw(t, "key") },
			"revoke": func(*rapid.T) { m.node.Order = node.Revoke },
			"call": func(t *rapid.T) {
				m.node = m.node.Called(node.Call{Caller: rapid.SampledFrom(keys).Draw(t, "key"), Seen: m.now, Proof: &node.Proof{}})
			},
			"wait": func(t *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.IntRange(0, 40*24).Draw(t, "hours")) * time.Hour)
			},
			"": func(t *rapid.T) {
				for _, key := range keys {
					if m.node.Permit(key, m.now.Add(1), m.now) != nil {
						continue
					}
					assert.NotEqual(t, node.Revoke, m.node.Order)
					assert.Contains(t, m.good, key)
					assert.Contains(t, []string{m.good[len(m.good)-1], m.node.Adopted}, key)
				}
				d := node.Demand{Target: node.Selection{Name: "n"}, Namespace: "ns"}
				if _, err := node.Choose(d, []node.Node{m.node}, nil, m.now); err == nil {
					assert.Equal(t, m.node.Adopted, m.node.Machine())
					assert.Contains(t, m.good, m.node.Adopted)
					assert.Equal(t, m.node.Adopted, m.node.Caller, "its own proof counts")
				}
			},
		})
	})
}

// A machine that joins beside an adopted one waits, and so does the next one; the adopted one goes on until a person decides.
func TestBeside(t *testing.T) {
	n := node.Node{Name: "n", Namespaces: []string{"ns"}, Capacity: 1, Adopted: "a", Identity: node.Identity{Key: "a"}}.Called(node.Call{Caller: "a", Seen: start, Proof: &node.Proof{}})
	join := func(key string) {
		var err error
		n.Identity, err = n.Mint(key, start)
		require.NoError(t, err)
		n.Identity, err = n.Join(key, key, start)
		require.NoError(t, err)
	}
	later := start.Add(time.Minute)
	permitted := func(want ...string) {
		t.Helper()
		var got []string
		for _, key := range []string{"a", "b", "c"} {
			if n.Permit(key, later, start) == nil {
				got = append(got, key)
			}
		}
		assert.Equal(t, want, got)
	}
	join("b")
	permitted("a", "b")
	assert.Equal(t, node.Standing{Phase: node.Ready, Message: "it takes runs, up to 1 at once; another machine has joined with key b: " +
		"to have it take the place of this one, orcon job node approve n --key b"}, n.Standing(start))
	assert.Equal(t, n.Standing(start), n.StandingOf("a", start))
	suspended, bare := n, n
	suspended.Order, bare.Namespaces = node.Suspend, nil
	assert.Contains(t, suspended.Standing(start).Message, "it is suspended: orcon job node approve n --key a has it take runs again; another")
	assert.Contains(t, bare.Standing(start).Message, "it takes no runs, since it permits no namespace: orcon job node approve n --key a --namespaces NAMESPACE; another")
	n.Namespaces = []string{"other"}
	_, err := node.Choose(node.Demand{Target: node.Selection{Name: "n"}, Namespace: "ns"}, []node.Node{n}, nil, start)
	require.ErrorContains(t, err, "n does not permit namespace ns: add it to its spec.namespaces")
	n.Order = node.Suspend
	_, err = node.Choose(node.Demand{Target: node.Selection{Name: "n"}, Namespace: "ns"}, []node.Node{n}, nil, start)
	require.ErrorContains(t, err, "has it take runs again")
	require.NotContains(t, err.Error(), "another machine", "that is for those who administer the node")
	n.Order = ""
	assert.Equal(t, node.Standing{Phase: node.Pending, Message: "another machine is adopted, and this one waits for a person, with key b: " +
		"to have it take the place of that one, orcon job node approve n --key b"}, n.StandingOf("b", start))
	join("c")
	permitted("a", "c")
	renewed, err := n.Renew("a", start, later)
	require.NoError(t, err)
	assert.Equal(t, n.Identity, renewed, "the end of the other's certificate is stored")
	join("a")
	permitted("a")
	assert.Empty(t, n.Former, "the machine itself has joined again")
	join("b")
	call := n.Call
	n.Adopted = "b"
	permitted("b")
	require.ErrorContains(t, n.Permit("a", later, start), "a person has adopted another machine in its place")
	n = n.Called(call)
	assert.Equal(t, node.Silent, n.Standing(start).Phase, "what another has proved does not count")
	n.Adopted = "a"
	permitted("a", "b")
	n.Order = node.Revoke
	permitted()
	assert.Equal(t, "it is revoked: delete it once its machine is gone", n.Standing(start).Message)
}

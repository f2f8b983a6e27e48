package egress_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/egress"
)

const port = 8443

func TestDenying(t *testing.T) {
	all := egress.Rule{Reaches: true}
	only := func(first, last int) egress.Rule {
		return egress.Rule{Reaches: true, Ports: []egress.Ports{{First: first, Last: last}}}
	}
	tests := map[string]struct {
		why  string
		in   []egress.Policy
		want []string
	}{
		"None":      {"without a policy all is allowed", nil, nil},
		"DenyAll":   {"a policy without rules allows nothing", []egress.Policy{{Name: "deny"}}, []string{"deny"}},
		"Another":   {"only DNS", []egress.Policy{{Name: "dns", Rules: []egress.Rule{only(53, 53)}}}, []string{"dns"}},
		"Range":     {"endPort", []egress.Policy{{Name: "range", Rules: []egress.Rule{only(8000, 9000)}}}, nil},
		"AllPorts":  {"a rule without ports", []egress.Policy{{Name: "open", Rules: []egress.Rule{all}}}, nil},
		"OtherPeer": {"the port, of others", []egress.Policy{{Name: "peer", Rules: []egress.Rule{{}}}}, []string{"peer"}},
		"AddUp":     {"policies add up", []egress.Policy{{Name: "deny"}, {Name: "agent", Rules: []egress.Rule{only(port, port)}}}, nil},
		"AllNamed":  {"each is a place for the cure", []egress.Policy{{Name: "b"}, {Name: "a"}}, []string{"a", "b"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, egress.Denying(test.in, port), test.why) })
	}
}

// Another policy never takes away what others allow, and a policy that allows all ends every denial.
func TestPoliciesAddUp(t *testing.T) {
	policy := rapid.Custom(func(t *rapid.T) egress.Policy {
		p := egress.Policy{Name: rapid.StringN(1, 3, -1).Draw(t, "name")}
		for range rapid.IntRange(0, 3).Draw(t, "rules") {
			r := egress.Rule{Reaches: rapid.Bool().Draw(t, "reaches")}
			for range rapid.IntRange(0, 2).Draw(t, "ports") {
				first := rapid.IntRange(1, 65535).Draw(t, "first")
				r.Ports = append(r.Ports, egress.Ports{First: first, Last: rapid.IntRange(first, 65535).Draw(t, "last")})
			}
			p.Rules = append(p.Rules, r)
		}
		return p
	})
	rapid.Check(t, func(t *rapid.T) {
		some, more := rapid.SliceOfN(policy, 1, 4).Draw(t, "some"), policy.Draw(t, "more")
		if len(egress.Denying(some, port)) == 0 {
			assert.Empty(t, egress.Denying(append(some, more), port))
		}
		assert.Empty(t, egress.Denying(append(some, egress.Policy{Rules: []egress.Rule{{Reaches: true}}}), port))
	})
}

package node_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/conformance"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
)

// encoded returns a report as an agent sends it.
func encoded(t testing.TB, r conformance.Report) []byte {
	text, err := json.Marshal(r)
	require.NoError(t, err)
	return text
}

// differing returns the golden report in which checks fail.
func differing(names ...string) conformance.Report {
	r := conformance.Golden()
	for i, c := range r.Checks {
		for _, name := range names {
			if c.Name == name {
				r.Checks[i] = conformance.Check{Name: name, Found: "broken"}
			}
		}
	}
	return r
}

// JOBS.md J15: a node takes runs once its report equals the golden one, but for what a person has accepted, and only of
// this report.
func TestUnproven(t *testing.T) {
	now := time.Unix(1e9, 0)
	proof := func(r conformance.Report) *node.Proof { return node.NewProof("runner and engine", encoded(t, r)) }
	tests := map[string]struct {
		why      string
		proof    *node.Proof
		accepted []string
		phase    string
		says     string
	}{
		"none":     {"nothing is known", nil, nil, node.Unproven, "has not tested yet"},
		"none but": {"nothing is known, whatever is accepted", nil, []string{"root"}, node.Unproven, "update an agent"},
		"golden":   {"it keeps the contract", proof(conformance.Golden()), nil, node.Ready, "takes runs, up to 1 at once"},
		"differs": {
			"what differs, and the cure", proof(differing("root", "user")), nil, node.Differing,
			`root: broken; user: broken: mend its engine, which is tested again every few minutes, or accept that: orcon job node approve lab --accept "root" --accept "user"`,
		},
		"accepted":      {"a person has decided", proof(differing("root", "user")), []string{"user", "root"}, node.Ready, "takes runs, up to 1 at once"},
		"one accepted":  {"the other one is not", proof(differing("root", "user")), []string{"user"}, node.Differing, ": root: broken: mend"},
		"not any more":  {"an accepted difference that is mended", proof(conformance.Golden()), []string{"user"}, node.Ready, "takes runs, up to 1 at once"},
		"older":         {"an agent that knows fewer checks", proof(conformance.Report{Contract: "1"}), nil, node.Differing, "root: it was not checked"},
		"unreadable":    {"no report", node.NewProof("x", []byte("{")), nil, node.Differing, "report: cannot read the report"},
		"next contract": {"another version", proof(conformance.Report{Contract: "2", Checks: conformance.Golden().Checks}), nil, node.Differing, `contract: it is "2" instead of "1"`},
	}
	untested := node.Node{Name: "lab", Adopted: "k", Identity: node.Identity{Key: "k"}, Call: node.Call{Seen: now, Untested: node.Untested("no image")}}
	assert.Equal(t, node.Standing{Phase: node.Unproven, Message: "its agent cannot test whether its machine carries out runs as the contract promises: " +
		"no image: correct that, and the agent tests it within seconds"}, untested.Standing(now))
	assert.Len(t, node.Untested(strings.Repeat("a", 1000)), 512)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			n := node.Node{
				Name: "lab", Capacity: 1, Namespaces: []string{"ns"}, Adopted: "k", Identity: node.Identity{Key: "k"},
				Call: node.Call{Seen: now, Contract: "v1", Proof: tc.proof}, Accepted: tc.accepted,
			}
			s := n.Standing(now)
			assert.Equal(t, tc.phase, s.Phase, tc.why)
			assert.Contains(t, s.Message, tc.says)
			_, err := node.Choose(node.Demand{Target: node.Selection{Name: "lab"}, Namespace: "ns", Contract: "v1"}, []node.Node{n}, nil, now)
			assert.Equal(t, tc.phase == node.Ready, err == nil, "it takes runs when it is ready, and never before")
			n.Adopted = ""
			assert.Equal(t, node.Pending, n.Standing(now).Phase, "a person is first")
		})
	}
}

// FuzzNewProof has whatever an agent reports fit into its RunNode.
func FuzzNewProof(f *testing.F) {
	f.Add("subject", encoded(f, differing("root")))
	f.Add(strings.Repeat("ä", 600), []byte(`{"checks":[{"name":"`+strings.Repeat("ü", 300)+`a"},{"name":"`+strings.Repeat("ü", 300)+`b"}]}`))
	f.Fuzz(func(t *testing.T, subject string, report []byte) {
		p := node.NewProof(subject, report)
		assert.LessOrEqual(t, len(p.Subject), 512)
		assert.LessOrEqual(t, len(p.Differences), 64)
		seen := map[string]bool{}
		for _, d := range p.Differences {
			assert.LessOrEqual(t, max(len(d.Check), len(d.Found)), 256)
			assert.False(t, seen[d.Check], "each check once")
			seen[d.Check] = true
		}
	})
}

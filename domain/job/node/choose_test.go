package node_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
)

// ready returns a node that takes runs, with a change.
func ready(name string, change ...func(*node.Node)) node.Node {
	n := node.Node{
		Name: name, Labels: map[string]string{"site": "a"}, Namespaces: []string{"ns"}, Capacity: 2, Adopted: "k",
		Identity: node.Identity{Key: "k"}, Call: node.Call{Seen: start, Contract: "v1", Proof: &node.Proof{}},
	}
	for _, one := range change {
		one(&n)
	}
	return n
}

func TestChoose(t *testing.T) {
	named := func(name string) node.Selection { return node.Selection{Name: name} }
	labelled := node.Selection{Labels: map[string]string{"site": "a"}}
	tests := map[string]struct {
		why    string
		target node.Selection
		nodes  []node.Node
		used   map[string]int
		want   string
		says   string
	}{
		"by name":   {"the only one", named("n"), []node.Node{ready("m"), ready("n")}, nil, "n", ""},
		"by labels": {"the first by name of equal ones", labelled, []node.Node{ready("n"), ready("m")}, nil, "m", ""},
		"most room": {"runs are spread", labelled, []node.Node{ready("m"), ready("n")}, map[string]int{"m": 1}, "n", ""},
		"no room": {"capacity is a limit", named("n"), []node.Node{ready("n")}, map[string]int{"n": 2}, "",
			"n has no room: its spec.capacity is 2, and it carries out 2"},
		"none":        {"the name may be wrong", named("x"), []node.Node{ready("n")}, nil, "", "there is no RunNode x: correct spec.target"},
		"other label": {"all labels count", node.Selection{Labels: map[string]string{"site": "a", "gpu": ""}}, []node.Node{ready("n")}, nil, "", "gpu=,site=a"},
		"empty":       {"a target that names nothing means no node", node.Selection{}, []node.Node{ready("n")}, nil, "", "there is no"},
		"namespace": {"others are not permitted", named("n"), []node.Node{ready("n", func(n *node.Node) { n.Namespaces = nil })}, nil, "",
			"n does not permit namespace ns: add it to its spec.namespaces"},
		"suspended": {"by a person", named("n"), []node.Node{ready("n", func(n *node.Node) { n.Order = node.Suspend })}, nil, "", "n: it is suspended"},
		"revoked":   {"for ever", named("n"), []node.Node{ready("n", func(n *node.Node) { n.Order = node.Revoke })}, nil, "", "n: it is revoked"},
		"pending": {"its key is another", named("n"), []node.Node{ready("n", func(n *node.Node) { n.Key = "j" })}, nil, "",
			"n: its agent waits for a person, with key j: orcon job node approve n"},
		"unjoined": {"no agent", named("n"), []node.Node{ready("n", func(n *node.Node) { n.Key = "" })}, nil, "", "orcon job node join n"},
		"silent": {"it may be off", named("n"), []node.Node{ready("n", func(n *node.Node) { n.Seen = start.Add(-node.Lost) })}, nil, "",
			"n: it does not call"},
		"contract": {"its runner is old", named("n"), []node.Node{ready("n", func(n *node.Node) { n.Contract = "v0" })}, nil, "",
			`n has contract "v0" of the runner, and the template needs "v1": update its agent`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := node.Choose(node.Demand{Target: tc.target, Namespace: "ns", Contract: "v1"}, tc.nodes, tc.used, start)
			assert.Equal(t, tc.want, got, tc.why)
			if tc.says == "" {
				require.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, tc.says, tc.why)
		})
	}
}

// The choice does not depend on the order of the nodes, and is never one without room.
func TestChoiceIsFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var nodes []node.Node
		used := map[string]int{}
		for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching("[a-z]{1,3}"), 0, 6, rapid.ID).Draw(t, "names") {
			nodes = append(nodes, ready(name, func(n *node.Node) { n.Capacity = rapid.IntRange(0, 3).Draw(t, "capacity") }))
			used[name] = rapid.IntRange(0, 3).Draw(t, "used")
		}
		d := node.Demand{Target: node.Selection{Labels: map[string]string{"site": "a"}}, Namespace: "ns", Contract: "v1"}
		got, err := node.Choose(d, nodes, used, start)
		again, _ := node.Choose(d, rapid.Permutation(nodes).Draw(t, "order"), used, start)
		assert.Equal(t, got, again)
		free := func(n node.Node) bool { return n.Capacity > used[n.Name] }
		assert.Equal(t, slices.ContainsFunc(nodes, free), err == nil)
		at := slices.IndexFunc(nodes, func(n node.Node) bool { return n.Name == got })
		assert.True(t, at < 0 || free(nodes[at]))
	})
}

func TestOffer(t *testing.T) {
	o := node.Offer{Node: "n", Key: "k", Since: start}
	accepted := o
	accepted.Accepted = true
	at := func(d time.Duration) time.Time { return start.Add(d) }
	assert.False(t, o.Silent(at(0), at(node.OfferLife-1)))
	assert.True(t, o.Silent(at(node.OfferLife), at(node.OfferLife)), "a node that calls and does not accept has it no longer")
	assert.False(t, accepted.Silent(at(time.Hour), at(time.Hour+node.Lost-1)), "it pulls an image")
	assert.True(t, accepted.Silent(at(time.Hour), at(time.Hour+node.Lost)))
	assert.True(t, o.To("n", "k"))
	assert.False(t, o.To("n", "j"), "a node that has joined anew is another one")
	assert.False(t, o.To("m", "k"))

	n := ready("n")
	assert.False(t, o.Forgotten(n, true), "it is not withdrawn")
	o.Withdrawn = true
	assert.False(t, o.Forgotten(n, true), "its node confirms that")
	assert.True(t, o.Forgotten(node.Node{}, false))
	n.Key, n.Former = "j", "k"
	assert.False(t, o.Forgotten(n, true), "its machine goes on beside one that waits")
	n.Adopted = "j"
	assert.True(t, o.Forgotten(n, true))
	n.Key, n.Order = "k", node.Revoke
	assert.True(t, o.Forgotten(n, true))
}

// Each standing has a meaning, and a ready node is the only one that takes runs.
func TestMeanings(t *testing.T) {
	seen := map[string]bool{}
	for _, change := range []func(*node.Node){
		func(*node.Node) {}, func(n *node.Node) { n.Key = "" }, func(n *node.Node) { n.Adopted = "" },
		func(n *node.Node) { n.Order = node.Suspend }, func(n *node.Node) { n.Order = node.Revoke },
		func(n *node.Node) { n.Seen = start.Add(-time.Hour) }, func(n *node.Node) { n.Proof = nil },
		func(n *node.Node) { n.Proof = node.NewProof("engine", nil) },
	} {
		for _, c := range ready("n", change).Standing(start).Conditions() {
			if c.True {
				seen[string(c.Type)+" "+c.Reason] = true
			}
		}
	}
	explained := map[string]bool{}
	for _, m := range node.Meanings() {
		explained[string(m.Type)+" "+m.Reason] = true
	}
	assert.Equal(t, explained, seen)
}

package people_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/people"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
)

// minter makes tokens for RunNodes lab and old, which is revoked.
type minter struct{}

func (minter) Mint(_ context.Context, name string) (string, error) {
	switch name {
	case "lab":
		return "word", nil
	case "old":
		return "", fmt.Errorf("cannot let RunNode old join: %w", node.ErrRevoked)
	}
	return "", people.ErrNotFound
}

// A token is a permission of its own, and one for a RunNode of the cluster.
func TestToken(t *testing.T) {
	b := newBench(t, func(a *people.API) { a.Tokens = minter{} })
	b.forbidden = map[string]bool{"low create runnodes/token /lab": true}
	tests := map[string]struct {
		why          string
		bench        *bench
		person, node string
		code         int
		says         string
	}{
		"good":      {"its maker alone sees it", b, "ann", "lab", http.StatusOK, `"token":"word"`},
		"none":      {"a name that is wrong", b, "ann", "none", http.StatusNotFound, "no such object"},
		"revoked":   {"for ever", b, "ann", "old", http.StatusConflict, "the node is revoked"},
		"forbidden": {"a permission of its own", b, "low", "lab", http.StatusForbidden, "low"},
		"unserved":  {"a controller without an address", newBench(t), "ann", "lab", http.StatusNotImplemented, "set its flag -nodeAddress"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			path := wire.ClusterPath(wire.Nodes, tc.node, wire.Tokens)
			code, text := tc.bench.send(t, request{person: tc.person, method: http.MethodPost, path: path})
			assert.Equal(t, tc.code, code, tc.why)
			assert.Contains(t, text, tc.says)
		})
	}
}

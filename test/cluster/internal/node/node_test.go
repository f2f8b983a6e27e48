package node_test

import (
	"errors"
	"testing"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/namespace"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/node"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/state"
)

func TestCablesAreApart(t *testing.T) {
	first, claim, err := node.ClaimCable()
	if err != nil {
		t.Fatal(err)
	}
	second, another, err := node.ClaimCable()
	if err != nil {
		t.Fatal(err)
	}
	if first == second {
		t.Errorf("two nodes have the same cable %v", first)
	}
	if err := errors.Join(claim.Close(), another.Close()); err != nil {
		t.Error(err)
	}
}

func TestCheckDir(t *testing.T) {
	for dir, ok := range map[state.Dir]bool{"/tmp/c": true, "/var/tmp/c": true, "/var/lib/c": false, "/run/user/0/c": false} {
		if err := namespace.CheckDir(dir); (err == nil) != ok {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

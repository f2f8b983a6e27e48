package controlplane_test

import (
	"testing"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/controlplane"
)

// TestClaimsAreApart shows that clusters that start at once never share a port,
// although none listens yet.
func TestClaimsAreApart(t *testing.T) {
	seen := map[int]bool{}
	for range 20 {
		p, claim, err := controlplane.ClaimPorts()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = claim.Close() })
		for _, port := range []int{p.EtcdClient, p.EtcdPeer, p.APIServer, p.ControllerManager, p.Scheduler} {
			if seen[port] {
				t.Errorf("port %d was claimed twice", port)
			}
			seen[port] = true
		}
	}
}

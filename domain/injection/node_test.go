package injection_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// A kubelet that leaves variables empty is known by its node (TRUST.md A5).
func TestNodeTrouble(t *testing.T) {
	tests := map[string]struct {
		why     string
		kubelet string
		labels  map[string]string
		want    string
	}{
		"Present":    {"EnvFiles is on by default since 1.35", "v1.35.0", nil, ""},
		"Newer":      {"a later one", "v1.36.3", nil, ""},
		"Next":       {"a later major one", "v2.0.1", nil, ""},
		"Old":        {"EnvFiles is alpha", "v1.34.9", nil, application.ReasonOldKubelet},
		"Older":      {"it does not know the field, and nodes may be three behind", "v1.33.0-eks-1234", nil, application.ReasonOldKubelet},
		"Provider":   {"a provider adds to the version", "v1.36.3-gke.100", nil, ""},
		"Plus":       {"and to the minor one", "v1.34+", nil, application.ReasonOldKubelet},
		"Virtual":    {"it runs no kubelet", "v1.36.0", map[string]string{"type": "virtual-kubelet"}, application.ReasonVirtualNode},
		"VirtualOld": {"known by its version", "v1.25.0-vk-azure-aci-1.6.2", nil, application.ReasonVirtualNode},
		"Unknown":    {"a guess would stop pods that work", "unknown", nil, ""},
		"Unreported": {"the node is new", "", nil, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			reason, why := injection.Node{Name: "n1", Kubelet: test.kubelet, Labels: test.labels}.Trouble()
			assert.Equal(t, test.want, reason, test.why)
			assert.Equal(t, test.want == "", why == "")
		})
	}
}

func FuzzNodeTrouble(f *testing.F) {
	for _, seed := range []string{"v1.35.0", "1.34+", "", "v", "v1", "v1.", "v-1.-2", "v1.99999999999999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, kubelet string) {
		reason, why := injection.Node{Name: "n1", Kubelet: kubelet}.Trouble()
		assert.Equal(t, reason == "", why == "")
	})
}

package settle

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// Policies are read as the API defines them, and nothing is held against one that may allow the connection
// (TRUST.md A8).
func TestEgressDenied(t *testing.T) {
	tests := map[string]struct {
		why, spec string
		denied    bool
	}{
		"DenyAll":       {"egress without rules", `{"podSelector":{},"policyTypes":["Egress"]}`, true},
		"Ingress":       {"another direction", `{"podSelector":{},"policyTypes":["Ingress"]}`, false},
		"Untyped":       {"without types, rules of egress restrict it", `{"podSelector":{},"egress":[{"ports":[{"port":53}]}]}`, true},
		"UntypedNone":   {"and without such rules it is about ingress", `{"podSelector":{}}`, false},
		"OtherPods":     {"it does not select the pod", `{"podSelector":{"matchLabels":{"app":"db"}},"policyTypes":["Egress"]}`, false},
		"Port":          {"the port", `{"podSelector":{},"policyTypes":["Egress"],"egress":[{"ports":[{"port":8443}]}]}`, false},
		"Range":         {"a range with it", `{"podSelector":{},"policyTypes":["Egress"],"egress":[{"ports":[{"port":8000,"endPort":9000}]}]}`, false},
		"Named":         {"by the name of the controller's port", `{"podSelector":{},"policyTypes":["Egress"],"egress":[{"ports":[{"port":"relations"}]}]}`, false},
		"OtherName":     {"another name", `{"podSelector":{},"policyTypes":["Egress"],"egress":[{"ports":[{"port":"https"}]}]}`, true},
		"UDP":           {"another protocol", `{"podSelector":{},"policyTypes":["Egress"],"egress":[{"ports":[{"port":8443,"protocol":"UDP"}]}]}`, true},
		"AnyPort":       {"a protocol alone", `{"podSelector":{},"policyTypes":["Egress"],"egress":[{"ports":[{"protocol":"TCP"}]}]}`, false},
		"OwnNamespace":  {"pods of the own namespace", `{"podSelector":{},"policyTypes":["Egress"],"egress":[{"to":[{"podSelector":{}}]}]}`, true},
		"Home":          {"Orcon's namespace", `{"podSelector":{},"policyTypes":["Egress"],"egress":[{"to":[{"namespaceSelector":{"matchLabels":{"name":"orcon-system"}}}]}]}`, false},
		"OtherHome":     {"another namespace", `{"podSelector":{},"policyTypes":["Egress"],"egress":[{"to":[{"namespaceSelector":{"matchLabels":{"name":"dns"}}}]}]}`, true},
		"OtherPodsHome": {"other pods there", `{"podSelector":{},"policyTypes":["Egress"],"egress":[{"to":[{"namespaceSelector":{},"podSelector":{"matchLabels":{"app":"dns"}}}]}]}`, true},
		"Addresses":     {"they may be those of the controller", `{"podSelector":{},"policyTypes":["Egress"],"egress":[{"to":[{"ipBlock":{"cidr":"10.0.0.0/8"}}]}]}`, false},
	}
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "orcon-system", Labels: map[string]string{"name": "orcon-system"}}}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p"}}
			require.NoError(t, json.Unmarshal([]byte(test.spec), &p.Spec))
			l := lister{ctx: t.Context(), reader: fake.NewClientBuilder().WithObjects(home, &p).Build(), namespace: "shop", home: "orcon-system"}
			denied := l.egressDenied(map[string]string{"app": "web"})
			require.NoError(t, l.err)
			assert.Equal(t, test.denied, denied == "p", test.why)
		})
	}
}

package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// offerOf is an Offer of the bank to two namespaces; if replaced, the first was made again.
func offerOf(name string, replaced bool) string {
	status := `{}`
	if replaced {
		status = `{"replacedNamespaces":[{"name":"shop","uid":"new"}]}`
	}
	return fmt.Sprintf(`{"apiVersion":"orcon.tengu.io/v1alpha1","kind":"Offer","metadata":{"namespace":"bank","name":%q,"resourceVersion":"5"},
		"spec":{"application":"vault","endpoint":"main","consumers":["shop","lab"],"consumerNamespaces":[{"name":"shop","uid":"old"}]},"status":%s}`, name, status)
}

// Offers are renewed by name, by namespace or all of them, if a person says so (TRUST.md T8).
func TestOfferRenew(t *testing.T) {
	const offers = group + "namespaces/bank/offers"
	list := listOf("Offer", offerOf("vault", true)+","+offerOf("safe", true)+","+offerOf("till", false))
	server := answering(t, map[string]string{
		offers: list, group + "offers": list, offers + "/vault": offerOf("vault", false), offers + "/safe": "",
	})
	const made = "Offer bank/vault: namespace shop was made again: its UID is new now\n"
	tests := map[string]struct {
		why    string
		answer string
		args   []string
		code   int
		out    string
		errs   string
	}{
		"One":         {"by name", "y\n", []string{"vault", "-n", "bank"}, 0, made + "Offer bank/vault is renewed\n", "Renew?"},
		"Declined":    {"nothing is changed before", "\n", []string{"vault", "-n", "bank"}, exitMisuse, made, "nothing was changed"},
		"Unasked":     {"in scripts", "", []string{"vault", "-n", "bank", "--yes"}, 0, made + "Offer bank/vault is renewed\n", ""},
		"NotReplaced": {"it is as it was", "", []string{"till", "-n", "bank"}, 0, "no Offer waits to be renewed\n", ""},
		"Unknown":     {"the cure", "", []string{"valt", "-n", "bank"}, exitMisuse, "", "cannot renew Offer bank/valt: it does not exist: orcon status -n bank lists Offers"},
		"All": {
			"one that is refused does not hold back the rest", "", []string{"-A", "-y"}, exitMisuse,
			made + "Offer bank/safe: namespace shop was made again: its UID is new now\nOffer bank/vault is renewed\n", "cannot renew Offer bank/safe",
		},
		"AllAndOne": {"which is meant is unknown", "", []string{"vault", "-A"}, exitMisuse, "", "--all-namespaces takes no NAME"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			code, out, errs := call(test.answer, append(append([]string{"offer", "renew"}, test.args...), server...)...)
			assert.Equal(t, test.code, code, test.why)
			assert.Equal(t, test.out, out, test.why)
			if test.errs == "" {
				assert.Empty(t, errs, test.why)
			}
			assert.Contains(t, errs, test.errs, test.why)
		})
	}
}

// An Offer that is renewed is for the namespaces that were shown, and for the others as before.
func TestRenewed(t *testing.T) {
	o := v1alpha1.Offer{
		Spec: v1alpha1.OfferSpec{ConsumerNamespaces: []v1alpha1.NamespaceIdentity{{Name: "lab", UID: "1"}, {Name: "shop", UID: "old"}}},
		Status: v1alpha1.OfferStatus{ReplacedNamespaces: []v1alpha1.NamespaceIdentity{
			{Name: "shop", UID: "new"}, {Name: "taken-off-meanwhile", UID: "3"},
		}},
	}
	renewed(&o)
	assert.Equal(t, []v1alpha1.NamespaceIdentity{{Name: "lab", UID: "1"}, {Name: "shop", UID: "new"}}, o.Spec.ConsumerNamespaces)
}

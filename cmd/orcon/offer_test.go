package main

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

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

// Orcon writes to an Offer too. That fails no renewal, unless other namespaces are meant than a person has seen.
func TestRenewMeanwhile(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	tests := map[string]struct {
		why       string
		meanwhile func(*v1alpha1.Offer)
		want      string
		says      string
	}{
		"Marked":  {"it is what it was", func(o *v1alpha1.Offer) { o.Labels = map[string]string{"a": "b"} }, "new", ""},
		"Another": {"made again twice", func(o *v1alpha1.Offer) { o.Status.ReplacedNamespaces[0].UID = "newer" }, "old", "have changed meanwhile: run this again"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			o := &v1alpha1.Offer{}
			require.NoError(t, json.Unmarshal([]byte(offerOf("vault", true)), o))
			o.ResourceVersion = ""
			writes := 0
			kinds := fake.NewClientBuilder().WithScheme(scheme).WithObjects(o).WithInterceptorFuncs(interceptor.Funcs{
				Patch: func(ctx context.Context, c client.WithWatch, patched client.Object, patch client.Patch, options ...client.PatchOption) error {
					if writes++; writes == 1 {
						var stored v1alpha1.Offer
						require.NoError(t, c.Get(ctx, client.ObjectKeyFromObject(patched), &stored))
						tc.meanwhile(&stored)
						require.NoError(t, c.Update(ctx, &stored))
					}
					return c.Patch(ctx, patched, patch, options...)
				},
			}).Build()
			require.NoError(t, kinds.Get(t.Context(), client.ObjectKeyFromObject(o), o))
			err := renew(t.Context(), kinds, o)
			if tc.says == "" {
				require.NoError(t, err, tc.why)
			} else {
				require.ErrorContains(t, err, tc.says, tc.why)
			}
			require.NoError(t, kinds.Get(t.Context(), client.ObjectKeyFromObject(o), o))
			assert.Equal(t, tc.want, o.Spec.ConsumerNamespaces[0].UID, tc.why)
		})
	}
}

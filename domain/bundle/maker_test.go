package bundle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// What makes a Secret that a workload reads comes before workloads, with all that it is made of, since the workload does
// not start without it; and not where that would wait for the workload (CONTENT.md X7).
func TestOrderMakers(t *testing.T) {
	made := func(named, secret, issuer string, marks ...any) bundle.Object {
		return object(named, append(marks, map[string]any{"apiVersion": "cert-manager.io/v1", "spec": map[string]any{
			"secretName": secret, "issuerRef": map[string]any{"kind": "Issuer", "name": issuer},
		}})...)
	}
	issuer := func(name, secret string) bundle.Object {
		return object("Issuer "+name, map[string]any{"apiVersion": "cert-manager.io/v1", "spec": map[string]any{"ca": map[string]any{"secretName": secret}}})
	}
	own := object("CustomResourceDefinition certificates.cert-manager.io", map[string]any{"spec": map[string]any{
		"group": "cert-manager.io", "names": map[string]any{"kind": "Certificate"},
	}})
	tests := map[string]struct {
		why     string
		objects []bundle.Object
		want    []string
	}{
		"Read": {
			"an operator reads its certificate, which its authority signs",
			[]bundle.Object{pods(t, readsDB), made("Certificate web", "db", "signer"), issuer("signer", "root"), made("Certificate root", "root", "own"), issuer("own", "")},
			[]string{"Certificate root", "Certificate web", "Issuer own", "Issuer signer", "Deployment web"},
		},
		"Unread": {
			"what only an Ingress shows may wait for it",
			[]bundle.Object{pods(t, readsDB), made("Certificate site", "site", "own"), issuer("own", "")},
			[]string{"Deployment web", "Certificate site", "Issuer own"},
		},
		"Own": {
			"the workload may be what makes it",
			[]bundle.Object{pods(t, readsDB), made("Certificate web", "db", "own"), own},
			[]string{"CustomResourceDefinition certificates.cert-manager.io", "Deployment web", "Certificate web"},
		},
		"Said": {
			"the author knows better",
			[]bundle.Object{pods(t, readsDB), made("Certificate web", "db", "own", "phase=jobs")},
			[]string{"Deployment web", "Certificate web"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, names(order(t, tc.objects...)), tc.why)
		})
	}
}

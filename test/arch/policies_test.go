package arch

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/secrets"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// Policies hold the account that the controller runs as, in whichever namespace (TRUST.md R1), and name the
// Secrets and keys that the code has.
func TestPoliciesHoldTheController(t *testing.T) {
	for label, v := range variants(t) {
		t.Run(label, func(t *testing.T) {
			bindings := objects[admissionv1.ValidatingAdmissionPolicyBinding](t, v.all, "ValidatingAdmissionPolicyBinding")
			text := ""
			for _, p := range objects[admissionv1.ValidatingAdmissionPolicy](t, v.all, "ValidatingAdmissionPolicy") {
				i := slices.IndexFunc(bindings, func(b admissionv1.ValidatingAdmissionPolicyBinding) bool { return b.Spec.PolicyName == p.Name })
				require.GreaterOrEqual(t, i, 0, "%s is not bound", p.Name)
				if !strings.HasPrefix(p.Name, "orcon-controller-") {
					continue
				}
				assert.Equal(t, []admissionv1.ValidationAction{admissionv1.Deny}, bindings[i].Spec.ValidationActions)
				assert.Equal(t, admissionv1.Fail, *p.Spec.FailurePolicy)
				assert.Equal(t, "request.userInfo.username == 'system:serviceaccount:"+v.namespace+":relations-controller'",
					p.Spec.MatchConditions[0].Expression)
				for _, validation := range p.Spec.Validations {
					text += validation.Expression
				}
				for _, variable := range p.Spec.Variables {
					text += variable.Expression
				}
			}
			assert.Contains(t, text, "orcon-secrets-[0-7]$", "the names of the Secrets of contents")
			assert.Equal(t, "orcon-secrets-7", slices.Max(secrets.ContentSecrets()))
			for _, key := range []string{
				application.KeyDataVersion, application.KeyCopied, application.KeyInject, application.KeyApplication, application.KeyConsumes,
				application.KeyEnv, application.KeyGate, application.KeyPeers, application.LabelOptIn,
			} {
				assert.Contains(t, text, "'"+key+"'")
			}
		})
	}
}

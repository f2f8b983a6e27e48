package injection_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// Where OpenShift has chosen the user of each container from the range of the namespace, it chooses that of the handlers'
// container too, and refuses a pod that names another one (INJECTION.md I4).
func TestHandlersHaveAUserOfTheNamespace(t *testing.T) {
	tests := map[string]struct {
		why, constraint, container string
		fixed                      bool
	}{
		"Range":  {"65532 is in no range of OpenShift's", ", openshift.io/scc: restricted-v2", ", securityContext: {runAsUser: 1000660000}", false},
		"Any":    {"the constraint chooses none, and an image of root would not start", ", openshift.io/scc: anyuid", "", true},
		"Author": {"one image says nothing of another", "", ", securityContext: {runAsUser: 1000}", true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			manifest := toJSON(t, `{metadata: {annotations: {tengu.io/provides: "main:pg", tengu.io/handlers: /handlers,
				injector.tengu.io/handler-image: "example.org/pg:15"`+tc.constraint+`}}, spec: {containers: [{name: db`+tc.container+`}]}}`)
			pod := shape(t, string(manifest))
			d := injection.For(plain(), "shop", pod)
			require.NotNil(t, d.Injection, d.Refused)
			added := shape(t, string(applied(t, manifest, injection.Operations("", pod, d.Injection)))).Spec.InitContainers
			require.Equal(t, injection.HandlerContainer, added[1].Name)
			if user := added[1].SecurityContext.RunAsUser; tc.fixed {
				require.NotNil(t, user, tc.why)
				assert.Equal(t, int64(65532), *user, tc.why)
			} else {
				assert.Nil(t, user, tc.why)
			}
		})
	}
}

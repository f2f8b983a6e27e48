package injection_test

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// Wherever the author wants the files, the container can start: no mount of Orcon's is at the path of another one, hides one, or
// lies in one that is read-only, as the container runtime sees paths; and what is left out is told (INJECTION.md I14, SAFETY.md
// I28).
func TestMountsFitTogether(t *testing.T) {
	tests := map[string]struct{ why, root, own string }{
		"Image":      {"the whole image would be hidden", "/./", "/data"},
		"Slashes":    {"the author's volume would be hidden", "/srv//files", "/srv/files"},
		"Dots":       {"the same", "/srv/./files", "/srv/files"},
		"Inside":     {"the author's mount would be in a read-only one", "/srv//", "/srv/files"},
		"ToolsAbove": {"the tools would be in a read-only mount", "/orcon", "/data"},
		"Tools":      {"the API server refuses two mounts of one path", "/orcon/tools", "/data"},
		"ToolsBelow": {"the files would be in a read-only mount", "/orcon/socket/files", "/data"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			manifest := toJSON(t, `{metadata: {annotations: {tengu.io/consumes: db, tengu.io/relations: x, injector.tengu.io/tools: "true"}},
				spec: {volumes: [{name: own}], containers: [{name: a, env: [{name: SERVICE_BINDING_ROOT, value: "`+tc.root+`"}],
				volumeMounts: [{name: own, mountPath: "`+tc.own+`"}]}]}}`)
			pod := shape(t, string(manifest))
			d := injection.For(plain(), "shop", pod)
			require.NotNil(t, d.Injection, d.Refused)
			assert.NotEmpty(t, d.Told, tc.why)
			mounts := shape(t, string(applied(t, manifest, injection.Operations("", pod, d.Injection)))).Spec.Containers[0].VolumeMounts
			for i, m := range mounts {
				at := path.Clean(m.MountPath)
				assert.NotEqual(t, "/", at, tc.why)
				for j, other := range mounts {
					inside := strings.HasPrefix(path.Clean(other.MountPath)+"/", at+"/")
					assert.False(t, i != j && inside, "%s: %s lies in %s", tc.why, other.MountPath, m.MountPath)
				}
			}
		})
	}
}

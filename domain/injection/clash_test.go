package injection_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// What the API server would refuse after the injection is refused with the author's own line: it would name containers and
// mounts that the author has not written (INJECTION.md I11, SAFETY.md I27).
func TestInitContainersWithReservedNames(t *testing.T) {
	for _, name := range []string{injection.HandlerContainer, injection.CanaryContainer} {
		pod := shape(t, `{metadata: {annotations: {tengu.io/consumes: db, tengu.io/relations: x}},
			spec: {initContainers: [{name: first}, {name: `+name+`}], containers: [{name: a}]}}`)
		d := injection.For(plain(), "shop", pod)
		require.ErrorIs(t, d.Refused, injection.ErrTaken, name)
		assert.ErrorContains(t, d.Refused, `spec.initContainers[1].name: "`+name+`"`)
	}
}

// The mounts of the handlers' container have paths of their own, whatever the author has it mount.
func TestHandlerVolumesAtOnePath(t *testing.T) {
	for name, list := range map[string]string{
		"Twice": "code=/code,data=/code", "Slash": "code=/code,data=/code/", "Bindings": "code=/bindings", "Tools": "code=/orcon/tools",
		"Socket": "code=/orcon/socket", "Temporary": "code=/tmp", "Token": "code=/var/run/secrets/kubernetes.io/serviceaccount",
		"AboveTools": "code=/orcon", "AboveToken": "code=/var/run/secrets",
	} {
		t.Run(name, func(t *testing.T) {
			pod := shape(t, `{metadata: {annotations: {tengu.io/consumes: db, tengu.io/relations: x, tengu.io/handlers: /h,
				injector.tengu.io/handler-image: a, injector.tengu.io/handler-volumes: "`+list+`"}},
				spec: {volumes: [{name: code}, {name: data}], containers: [{name: a}]}}`)
			d := injection.For(plain(), "shop", pod)
			require.NotNil(t, d.Injection, d.Refused)
			assert.NotEmpty(t, d.Told, "the author learns what is left out")
			paths := map[string]bool{}
			for _, o := range injection.Operations("", pod, d.Injection) {
				if o.Path != "/spec/initContainers" {
					continue
				}
				var added []struct {
					Name         string
					VolumeMounts []struct{ MountPath string }
				}
				require.NoError(t, json.Unmarshal(o.Value, &added))
				for _, m := range added[1].VolumeMounts {
					require.False(t, paths[m.MountPath], "%s is mounted twice in %s", m.MountPath, added[1].Name)
					paths[m.MountPath] = true
				}
			}
			assert.NotEmpty(t, paths)
		})
	}
}

// A container with options of Windows alone makes its pod one of Windows, as the API server sees it too (INJECTION.md I11).
func TestWindowsByContainer(t *testing.T) {
	for name, spec := range map[string]string{
		"Container":     `{containers: [{name: a}, {name: b, securityContext: {windowsOptions: {hostProcess: true}}}]}`,
		"InitContainer": `{initContainers: [{name: b, securityContext: {windowsOptions: {}}}], containers: [{name: a}]}`,
	} {
		pod := shape(t, `{metadata: {annotations: {tengu.io/consumes: db, tengu.io/relations: x}}, spec: `+spec+`}`)
		assert.Equal(t, injection.WindowsPod, injection.For(plain(), "shop", pod).Skip.Reason, name)
	}
}

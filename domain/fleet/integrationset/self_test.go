package integrationset

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSelf(t *testing.T) {
	self := Self{Integration: "integrations-manager", Namespace: "tools"}
	for name, c := range map[string]struct {
		self                   Self
		integration, namespace string
		is                     bool
	}{
		"Itself":             {self, "integrations-manager", "tools", true},
		"InAnotherNamespace": {self, "integrations-manager", "stage", false},
		"AnotherIntegration": {self, "terraform", "tools", false},
		"NotInTheData":       {Self{Namespace: "tools"}, "", "tools", false},
	} {
		assert.Equal(t, c.is, c.self.Is(c.integration, c.namespace), name)
	}
	assert.True(t, self.Alone([]string{"integrations-manager"}))
	assert.False(t, self.Alone(nil), "a set without integrations selects all")
	assert.False(t, self.Alone([]string{"integrations-manager", "terraform"}))
}

// Another program under the controller's name stops a set, and the message names it and the cure (FLEET.md O6).
func TestRival(t *testing.T) {
	self := Self{Integration: "integrations-manager", Namespace: "tools", Images: []string{"fluentd:1", "registry:5000/orcon/bundle-controller:v1"}}
	for name, c := range map[string]struct {
		images []string
		rival  string
	}{
		"None":               {},
		"ItsOwn":             {images: []string{"registry:5000/orcon/bundle-controller:v1"}},
		"ItsOwnNextVersion":  {images: []string{"registry:5000/orcon/bundle-controller:v2"}},
		"ItsOwnByDigest":     {images: []string{"registry:5000/orcon/bundle-controller@sha256:12ab"}},
		"ItsOwnByTagDigest":  {images: []string{"registry:5000/orcon/bundle-controller:v1@sha256:12ab"}},
		"Another":            {images: []string{"quay.io/app-sre/qontract-reconcile:1"}, rival: "quay.io/app-sre/qontract-reconcile:1"},
		"FromAnotherPort":    {images: []string{"registry:6000/orcon/bundle-controller:v1"}, rival: "registry:6000/orcon/bundle-controller:v1"},
		"WithALongerName":    {images: []string{"registry:5000/orcon/bundle-controller-fork:v1"}, rival: "registry:5000/orcon/bundle-controller-fork:v1"},
		"AnotherBesideIt":    {images: []string{"registry:5000/orcon/bundle-controller:v1", "other"}, rival: "other"},
		"AnotherWithoutAtag": {images: []string{"registry:5000/orcon"}, rival: "registry:5000/orcon"},
	} {
		t.Run(name, func(t *testing.T) {
			running := map[string]string{}
			for i, image := range c.images {
				running["Deployment "+string(rune('a'+i))] = image
			}
			stop := self.Rival("tools", running)
			if c.rival == "" {
				assert.Nil(t, stop)
				return
			}
			require.NotNil(t, stop)
			assert.True(t, stop.Person)
			assert.Contains(t, stop.Message, " in namespace tools runs as integrations-manager too, with image "+c.rival+", ")
			assert.Contains(t, stop.Message, "integrations: [integrations-manager] and conflicts: Take")
		})
	}
	require.NotNil(t, Self{Integration: "x"}.Rival("tools", map[string]string{"Deployment a": "any"}), "an unknown own image is no excuse")
}

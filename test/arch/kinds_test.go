package arch

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// property is the schema of a field, as far as it is checked.
type property struct {
	Type                 string
	Description          string
	Enum                 []string
	Properties           map[string]property
	Items                *property
	AdditionalProperties *property
}

// words are the enum values that are words of Juju, or names of formats.
const words = `provides requires peers
	joining joined suspending suspended broken error
	maintenance blocked waiting active
	never hourly daily weekly monthly quarterly yearly
	add set remove grant revoke
	plain helm registry-v1 kustomize openshift-template`

// Faults of a kind's fields: kubectl explain has a text for each; a choice is an enum, since a bool leaves no
// room for a third value, and its values have the case of Kubernetes.
func TestKindsAreExplained(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(repository, "deployment/crd/orcon.tengu.io_*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var crd struct {
			Spec struct {
				Versions []struct {
					Schema struct{ OpenAPIV3Schema property }
				}
			}
		}
		require.NoError(t, yaml.Unmarshal(text, &crd), file)
		require.NotEmpty(t, crd.Spec.Versions, file)
		for _, version := range crd.Spec.Versions {
			delete(version.Schema.OpenAPIV3Schema.Properties, "metadata") // explained by the API server
			assert.Empty(t, faultsOf("", version.Schema.OpenAPIV3Schema), file)
		}
	}
}

// A checker that cannot fail proves nothing.
func TestKindsCanBeUnexplained(t *testing.T) {
	kind := property{Description: "d", Properties: map[string]property{
		"paused": {Type: "boolean", Description: "d"},
		"spec": {Description: "d", Properties: map[string]property{
			"enabled": {Type: "boolean", Description: "d"},
			"list":    {Description: "d", Items: &property{Properties: map[string]property{"name": {}}}},
			"map":     {Description: "d", AdditionalProperties: &property{Properties: map[string]property{"name": {}}}},
			"mode":    {Description: "d", Enum: []string{"Auto", "registry-v1", "byHand"}},
		}},
	}}
	assert.Equal(t, []string{
		".spec.enabled is a bool", ".spec.list[].name has no description", ".spec.map{}.name has no description", ".spec.mode has value byHand",
	}, faultsOf("", kind))
}

// faultsOf lists the faults of a field and of the fields below it.
func faultsOf(path string, p property) []string {
	var faults []string
	if p.Description == "" && !strings.HasSuffix(path, "[]") && !strings.HasSuffix(path, "{}") {
		faults = append(faults, path+" has no description")
	}
	if p.Type == "boolean" && !strings.HasSuffix(path, ".paused") {
		faults = append(faults, path+" is a bool")
	}
	for _, value := range p.Enum {
		if !regexp.MustCompile(`^[A-Z][A-Za-z]*$`).MatchString(value) && !slices.Contains(strings.Fields(words), value) {
			faults = append(faults, path+" has value "+value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Properties)) {
		faults = append(faults, faultsOf(path+"."+name, p.Properties[name])...)
	}
	if p.Items != nil {
		faults = append(faults, faultsOf(path+"[]", *p.Items)...)
	}
	if p.AdditionalProperties != nil {
		faults = append(faults, faultsOf(path+"{}", *p.AdditionalProperties)...)
	}
	return faults
}

package arch

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// kubectl shows the age of a date: one that is to come reads <invalid>.
func TestDateColumnsShowThePast(t *testing.T) {
	past := []string{".metadata.creationTimestamp", ".status.holdTime", ".state.end.time", ".status.seen"}
	files, err := filepath.Glob(filepath.Join(repository, "deployment/crd/orcon.tengu.io_*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var crd struct {
			Spec struct {
				Versions []struct {
					AdditionalPrinterColumns []struct{ Name, Type, JSONPath string }
				}
			}
		}
		require.NoError(t, yaml.Unmarshal(text, &crd), file)
		require.NotEmpty(t, crd.Spec.Versions, file)
		for _, version := range crd.Spec.Versions {
			for _, column := range version.AdditionalPrinterColumns {
				if column.Type == "date" {
					assert.Contains(t, past, column.JSONPath, "%s: column %s", file, column.Name)
				}
			}
		}
	}
}

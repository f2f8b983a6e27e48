package helm

import (
	"bytes"
	"fmt"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"
)

// Values merges the texts of values files, later ones over earlier ones, and over them
// settings as --set of Helm has them: a.b=c,d[0]=e.
func Values(files [][]byte, settings []string) (map[string]any, error) {
	all := map[string]any{}
	for i, text := range files {
		values, err := loader.LoadValues(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("cannot read values file %d: %w", i+1, err)
		}
		all = loader.MergeMaps(all, values)
	}
	for _, setting := range settings {
		if err := strvals.ParseInto(setting, all); err != nil {
			return nil, fmt.Errorf("cannot read setting %q: %w: write name=value", setting, err)
		}
	}
	return all, nil
}

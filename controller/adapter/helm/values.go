package helm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// ValuesFile is a file of values for a chart.
type ValuesFile struct {
	// Name locates it for a user: a path, or a field.
	Name string
	Text []byte
	// Secret reports that the text is a Secret's: errors do not quote it.
	Secret bool
}

// Values merges values files, later ones over earlier ones, and over them settings as --set of Helm has
// them: a.b=c,d[0]=e.
func Values(files []ValuesFile, settings []string) (map[string]any, error) {
	all := map[string]any{}
	for _, f := range files {
		values, err := loader.LoadValues(bytes.NewReader(f.Text))
		if _, other := errors.AsType[*json.UnmarshalTypeError](err); other {
			err = errors.New("it is not a map of values: write name: value")
		}
		if err != nil {
			return nil, bundle.Located(fmt.Sprintf("cannot read the values of %s", f.Name), err)
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

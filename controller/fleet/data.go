package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	bundlev1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/supply"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/destination"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/fleet"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
)

// memory holds the data of a set, so that a replica reads them again only when they may differ.
type memory struct {
	input supply.Digest
	// at is the time of the last fetch, and fetched of the last that succeeded.
	at, fetched time.Time
	// annotations are the set's when that fetch began, and ordered when the one under way did.
	annotations, ordered map[string]string
	fetching             bool
	resolved             []string
	// failed is the error of the last fetch; "" for none.
	failed string
	known
	images map[domain.ImageRef]built
}

// known are the data, and the schema of the chart's values.
type known struct {
	data   data.Data
	schema domain.Schema
}

// memories are those of all sets.
type memories struct {
	mu  sync.Mutex
	all map[types.NamespacedName]*memory
}

func (m *memories) of(name types.NamespacedName) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[types.NamespacedName]*memory{}
	}
	if m.all[name] == nil {
		m.all[name] = &memory{}
	}
	return m.all[name]
}

func (m *memories) forget(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, name)
}

// feed is the way of a set to its data.
type feed struct {
	*Reconciler

	set    *v1alpha1.IntegrationSet
	memory *memory
	// stale is the error for which data of before are used; "" for none.
	stale string
	// early reports that a fetch was asked for after the one that has just ended had begun.
	early bool
}

func (f *feed) name() types.NamespacedName {
	return types.NamespacedName{Namespace: f.set.Namespace, Name: f.set.Name}
}

// owner identifies the set in requests of its account.
func (f *feed) owner() string { return f.set.Namespace + "/" + f.set.Name }

// account returns the user name of the set's ServiceAccount.
func (f *feed) account() string {
	return "system:serviceaccount:" + f.set.Namespace + ":" + cmp.Or(f.set.Spec.ServiceAccountName, "default")
}

// data returns the data, or the stop that prevents them. Data that were read once stay known while their sources fail.
func (f *feed) data(ctx context.Context) (known, *integrationset.Stop) {
	sources, files, err := f.sources(ctx)
	if invalidErr, wrong := errors.AsType[*fieldError](err); wrong {
		return known{}, invalid(invalidErr)
	}
	if err != nil {
		return known{}, unfetched(err)
	}
	spec := f.set.Spec
	input := supply.Sum(sources, f.account(), spec.Data.Path, spec.Chart.Path)
	if f.memory.input == input && !f.outdated(sources) {
		f.stale = f.memory.failed
		return f.memory.known, nil
	}
	if !f.memory.fetching {
		f.memory.fetching, f.memory.ordered = true, f.set.Annotations
	}
	r, pending, err := f.pool.Order(ctx, f.name(), supply.Work{
		Input: input, Source: input,
		Fetch: func(ctx context.Context) (*content.Fetched, error) { return f.Contents.Fetch(ctx, sources, files) },
		Render: func(_ context.Context, got *content.Fetched) (content.Output, error) {
			objects, err := pack(got, spec.Data.Path, spec.Chart.Path)
			return content.Output{Objects: objects}, err
		},
	}, f.Now())
	f.memory.fetching = err == nil && !pending.IsZero()
	if err == nil && pending.IsZero() {
		err = f.remember(input, r)
	}
	if f.memory.input == input { // those read now, or the last good ones
		if err != nil {
			f.memory.at, f.memory.annotations, f.memory.failed = f.Now(), f.memory.ordered, err.Error()
		}
		f.stale = f.memory.failed
		return f.memory.known, nil
	}
	if err != nil {
		return known{}, unfetched(err)
	}
	return known{}, &integrationset.Stop{Reason: integrationset.Fetching, Message: "still fetching " + references(spec.Data.Sources)}
}

// outdated reports that sources may have other content by now, or that a changed annotation asks for a fetch.
func (f *feed) outdated(sources []content.Source) bool {
	tracked := slices.ContainsFunc(sources, func(s content.Source) bool { return s.Digest == "" })
	return tracked && (f.Now().Sub(f.memory.at) >= f.Resync || !maps.Equal(f.memory.annotations, f.set.Annotations))
}

// remember keeps data that were fetched.
func (f *feed) remember(input supply.Digest, r supply.Result) error {
	var p packed
	if err := json.Unmarshal(r.Objects, &p); err != nil {
		return fmt.Errorf("cannot read what was fetched: %w", err)
	}
	schema, err := domain.ParseSchema(p.Schema)
	if err != nil {
		return fmt.Errorf("cannot use the chart: %w", err)
	}
	var resolved []string
	for _, one := range r.Resolved[:min(len(r.Resolved), len(f.set.Spec.Data.Sources))] {
		resolved = append(resolved, one.String())
	}
	*f.memory = memory{
		input: input, at: f.Now(), fetched: f.Now(), annotations: f.memory.ordered, resolved: resolved, images: f.memory.images,
		known: known{data.Read(p.Files, data.Options{SpecFields: schema.SpecFields()}), schema},
	}
	f.early = !maps.Equal(f.memory.annotations, f.set.Annotations)
	return nil
}

// packed are the data files, and the chart's values.schema.json.
type packed struct {
	Files  map[string][]byte
	Schema []byte
}

// The folders into which the data and the chart are fetched.
const (
	dataFolder  = "data"
	chartFolder = "chart"
)

// pack returns the data files below a folder, and the schema of a chart in another, as JSON.
func pack(f *content.Fetched, files, chart string) ([]byte, error) {
	tree, err := f.Tree()
	if err != nil {
		return nil, err
	}
	declared, err := below(tree, dataFolder, files)
	if err != nil {
		return nil, fmt.Errorf("spec.data.path: %w", err)
	}
	if err := declared.Unlinked(); err != nil {
		return nil, fmt.Errorf("spec.data.path: %w", err)
	}
	var p packed
	if p.Files, err = data.Files(declared.Contents()); err != nil {
		return nil, err
	}
	folder, err := below(tree, chartFolder, chart)
	if err != nil {
		return nil, fmt.Errorf("spec.chart.path: %w", err)
	}
	if at, isChart := bundle.ChartFolder(&folder); isChart {
		schema, _ := folder.File(path.Join(at, "values.schema.json"))
		p.Schema = schema.Content
	}
	return json.Marshal(p)
}

// below returns the files at a path in a folder of a tree. A folder without files has none.
func below(tree bundle.Tree, folder, at string) (bundle.Tree, error) {
	all, err := tree.Sub(folder)
	if err != nil {
		all = bundle.Tree{}
	}
	return all.Sub(strings.TrimPrefix(path.Clean("/"+at), "/"))
}

// fieldError is an error of a field of the set.
type fieldError struct {
	field string
	err   error
}

// Error implements error.
func (e *fieldError) Error() string { return e.field + ": " + e.err.Error() }

// sources returns what is fetched, the data before the chart, with the credentials that the account may read, and what
// reads ConfigMaps. The error is a fieldError for a source that is wrong in itself.
func (f *feed) sources(ctx context.Context) ([]content.Source, func(context.Context, []string) (bundle.Tree, error), error) {
	if err := f.check(); err != nil {
		return nil, nil, err
	}
	inputs, err := f.Connect(f.account(), f.owner())
	if err != nil {
		return nil, nil, err
	}
	data, err := sourcesIn(ctx, inputs, "spec.data", dataFolder, f.set.Spec.Data.Sources)
	if err != nil {
		return nil, nil, err
	}
	chart, err := sourcesIn(ctx, inputs, "spec.chart", chartFolder, f.set.Spec.Chart.Sources)
	return append(data, chart...), inputs.Files, err
}

// check returns what is wrong with the sources in themselves.
func (f *feed) check() error {
	for i, s := range f.set.Spec.Data.Sources {
		if field, err := convert.ToSource(s).Check(); err != nil {
			return &fieldError{fmt.Sprintf("spec.data.sources[%d].%s", i, field), err}
		}
	}
	for i, s := range f.set.Spec.Chart.Sources {
		field, err := convert.ToSource(s).Check()
		if r, failed := bundle.ParseReference(s.Reference); err == nil && failed == nil {
			field, err = "reference", r.Deployable()
		}
		if err != nil {
			return &fieldError{fmt.Sprintf("spec.chart.sources[%d].%s", i, field), err}
		}
	}
	return nil
}

// sourcesIn returns sources that are fetched into a folder.
func sourcesIn(ctx context.Context, inputs Inputs, field, folder string, sources []bundlev1alpha1.BundleSource) ([]content.Source, error) {
	var all []content.Source
	for i, s := range sources {
		r, err := bundle.ParseReference(s.Reference)
		if err != nil {
			return nil, err // checked before
		}
		source := content.Source{Reference: r, Destination: path.Join(folder, s.Destination)}
		if s.Auth != nil {
			if source.Credentials, err = inputs.Credentials(ctx, s.Auth.SecretRef.Name); err != nil {
				return nil, fmt.Errorf("%s.sources[%d].auth.secretRef: %w", field, i, err)
			}
		}
		all = append(all, source)
	}
	return all, nil
}

// references returns the references of sources, joined by commas.
func references(sources []bundlev1alpha1.BundleSource) string {
	var all []string
	for _, s := range sources {
		all = append(all, s.Reference)
	}
	return strings.Join(all, ", ")
}

// unfetched returns the stop of data that cannot be read.
func unfetched(err error) *integrationset.Stop {
	if _, refused := errors.AsType[*destination.RefusedError](err); refused {
		return &integrationset.Stop{Reason: integrationset.SourceRefused, Message: err.Error(), Person: true}
	}
	return &integrationset.Stop{Reason: integrationset.FetchFailed, Message: err.Error()}
}

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
	data   data.Data
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
func (f *feed) data(ctx context.Context) (data.Data, *integrationset.Stop) {
	if err := f.check(); err != nil {
		return data.Data{}, invalid(err)
	}
	inputs, err := f.Connect(f.account(), f.owner())
	if err != nil {
		return data.Data{}, unfetched(err)
	}
	sources, err := f.sources(ctx, inputs)
	if err != nil {
		return data.Data{}, unfetched(err)
	}
	input := supply.Sum(sources, f.account(), f.set.Spec.Data.Path)
	if f.memory.input == input && !f.outdated(sources) {
		f.stale = f.memory.failed
		return f.memory.data, nil
	}
	if !f.memory.fetching {
		f.memory.fetching, f.memory.ordered = true, f.set.Annotations
	}
	r, pending, err := f.pool.Order(ctx, f.name(), supply.Work{
		Input: input, Source: input,
		Fetch: func(ctx context.Context) (*content.Fetched, error) {
			return f.Contents.Fetch(ctx, sources, inputs.Files)
		},
		Render: func(_ context.Context, got *content.Fetched) ([]byte, error) {
			return packed(got, f.set.Spec.Data.Path)
		},
	}, f.Now())
	f.memory.fetching = err == nil && !pending.IsZero()
	if err == nil && pending.IsZero() {
		return f.remember(input, r)
	}
	if f.memory.input == input { // the last good data are kept
		if err != nil {
			f.memory.at, f.memory.annotations, f.memory.failed = f.Now(), f.memory.ordered, err.Error()
		}
		f.stale = f.memory.failed
		return f.memory.data, nil
	}
	if err != nil {
		return data.Data{}, unfetched(err)
	}
	return data.Data{}, &integrationset.Stop{Reason: integrationset.Fetching, Message: "still fetching " + references(f.set.Spec.Data.Sources)}
}

// outdated reports that sources may have other content by now, or that a changed annotation asks for a fetch.
func (f *feed) outdated(sources []content.Source) bool {
	tracked := slices.ContainsFunc(sources, func(s content.Source) bool { return s.Digest == "" })
	return tracked && (f.Now().Sub(f.memory.at) >= f.Resync || !maps.Equal(f.memory.annotations, f.set.Annotations))
}

// remember keeps data that were fetched.
func (f *feed) remember(input supply.Digest, r supply.Result) (data.Data, *integrationset.Stop) {
	var files map[string][]byte
	if err := json.Unmarshal(r.Objects, &files); err != nil {
		return data.Data{}, unfetched(err)
	}
	var resolved []string
	for _, one := range r.Resolved {
		resolved = append(resolved, one.String())
	}
	*f.memory = memory{
		input: input, at: f.Now(), fetched: f.Now(), annotations: f.memory.ordered, resolved: resolved,
		data: data.Read(files, data.Options{}),
	}
	f.early = !maps.Equal(f.memory.annotations, f.set.Annotations)
	return f.memory.data, nil
}

// packed returns the files below a folder as JSON.
func packed(f *content.Fetched, folder string) ([]byte, error) {
	tree, err := f.Tree()
	if err == nil {
		tree, err = tree.Sub(strings.TrimPrefix(path.Clean("/"+folder), "/"))
	}
	if err != nil {
		return nil, err
	}
	files, err := data.Files(tree.Contents())
	if err != nil {
		return nil, err
	}
	return json.Marshal(files)
}

// check returns what is wrong with the sources in themselves.
func (f *feed) check() error {
	for i, s := range f.set.Spec.Data.Sources {
		if field, err := convert.ToSource(s).Check(); err != nil {
			return fmt.Errorf("spec.data.sources[%d].%s: %w", i, field, err)
		}
	}
	return nil
}

// sources returns what is fetched, with the credentials that the account may read.
func (f *feed) sources(ctx context.Context, inputs Inputs) ([]content.Source, error) {
	var all []content.Source
	for i, s := range f.set.Spec.Data.Sources {
		r, err := bundle.ParseReference(s.Reference)
		if err != nil {
			return nil, err // checked before
		}
		source := content.Source{Reference: r, Destination: s.Destination}
		if s.Auth != nil {
			if source.Credentials, err = inputs.Credentials(ctx, s.Auth.SecretRef.Name); err != nil {
				return nil, fmt.Errorf("spec.data.sources[%d].auth.secretRef: %w", i, err)
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

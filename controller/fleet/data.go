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

func (l *look) name() types.NamespacedName {
	return types.NamespacedName{Namespace: l.set.Namespace, Name: l.set.Name}
}

// owner identifies the set in requests of its account.
func (l *look) owner() string { return l.set.Namespace + "/" + l.set.Name }

// account returns the user name of the set's ServiceAccount.
func (l *look) account() string {
	return "system:serviceaccount:" + l.set.Namespace + ":" + cmp.Or(l.set.Spec.ServiceAccountName, "default")
}

// data returns the data, or the stop that prevents them. Data that were read once stay known while their sources fail.
func (l *look) data(ctx context.Context) (data.Data, *integrationset.Stop) {
	if err := l.check(); err != nil {
		return data.Data{}, invalid(err)
	}
	inputs, err := l.Connect(l.account(), l.owner())
	if err != nil {
		return data.Data{}, unfetched(err)
	}
	sources, err := l.sources(ctx, inputs)
	if err != nil {
		return data.Data{}, unfetched(err)
	}
	input := supply.Sum(sources, l.account(), l.set.Spec.Data.Path)
	if l.memory.input == input && !l.stale(sources) {
		l.result.Stale = l.memory.failed
		return l.memory.data, nil
	}
	if !l.memory.fetching {
		l.memory.fetching, l.memory.ordered = true, l.set.Annotations
	}
	r, pending, err := l.pool.Order(ctx, l.name(), supply.Work{
		Input: input, Source: input,
		Fetch: func(ctx context.Context) (*content.Fetched, error) {
			return l.Contents.Fetch(ctx, sources, inputs.Files)
		},
		Render: func(_ context.Context, f *content.Fetched) ([]byte, error) { return packed(f, l.set.Spec.Data.Path) },
	}, l.Now())
	l.memory.fetching = err == nil && !pending.IsZero()
	if err == nil && pending.IsZero() {
		return l.remember(input, r)
	}
	if l.memory.input == input { // the last good data are kept
		if err != nil {
			l.memory.at, l.memory.annotations, l.memory.failed = l.Now(), l.memory.ordered, err.Error()
		}
		l.result.Stale = l.memory.failed
		return l.memory.data, nil
	}
	if err != nil {
		return data.Data{}, unfetched(err)
	}
	return data.Data{}, &integrationset.Stop{Reason: integrationset.Fetching, Message: "still fetching " + references(l.set.Spec.Data.Sources)}
}

// stale reports that sources may have other content by now, or that a changed annotation asks for a fetch.
func (l *look) stale(sources []content.Source) bool {
	tracked := slices.ContainsFunc(sources, func(s content.Source) bool { return s.Digest == "" })
	return tracked && (l.Now().Sub(l.memory.at) >= l.Resync || !maps.Equal(l.memory.annotations, l.set.Annotations))
}

// remember keeps data that were fetched.
func (l *look) remember(input supply.Digest, r supply.Result) (data.Data, *integrationset.Stop) {
	var files map[string][]byte
	if err := json.Unmarshal(r.Objects, &files); err != nil {
		return data.Data{}, unfetched(err)
	}
	var resolved []string
	for _, one := range r.Resolved {
		resolved = append(resolved, one.String())
	}
	*l.memory = memory{
		input: input, at: l.Now(), fetched: l.Now(), annotations: l.memory.ordered, resolved: resolved,
		data: data.Read(files, data.Options{}),
	}
	l.early = !maps.Equal(l.memory.annotations, l.set.Annotations)
	return l.memory.data, nil
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
func (l *look) check() error {
	for i, s := range l.set.Spec.Data.Sources {
		if field, err := convert.ToSource(s).Check(); err != nil {
			return fmt.Errorf("spec.data.sources[%d].%s: %w", i, field, err)
		}
	}
	return nil
}

// sources returns what is fetched, with the credentials that the account may read.
func (l *look) sources(ctx context.Context, inputs Inputs) ([]content.Source, error) {
	var all []content.Source
	for i, s := range l.set.Spec.Data.Sources {
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

package bundledeployment

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// contents are the objects that the sources stand for.
type contents struct {
	// manifest is the digest of the objects.
	manifest string
	// resolved are the references with the digests that they have turned out to mean.
	resolved []string
	// sequence is nil where it is not needed.
	sequence domain.Sequence
}

// sourcing has the contents of a deployment fetched and rendered.
type sourcing struct{ *job }

// pending reports whether the contents are still being fetched or rendered.
func (j *job) pending() bool { return !j.since.IsZero() }

// source returns the contents, or the stop that prevents them; neither while they are pending. They
// are not rendered again from the same input while nothing has to be planned for them.
func (j sourcing) source(ctx context.Context) (contents, *domain.Stop) {
	options, err := j.options(ctx)
	if err != nil {
		return contents{}, &domain.Stop{Stage: domain.Rendered, Reason: "ValuesMissing", Message: err.Error(), Person: apierrors.IsForbidden(err)}
	}
	sources, err := j.sources(ctx)
	if err != nil {
		return contents{}, stopAt(domain.Sourced, "FetchFailed", err)
	}
	fetch := work{input: sum(sources, options), source: j.shared(sources)}
	if j.remembered(fetch.input, sources) {
		return j.memory.contents, nil
	}
	fetch.fetch = func(ctx context.Context) (f fetched, err error) {
		fetcher := j.Fetcher
		fetcher.ConfigMaps, fetcher.Track = j.world.Files, true // the spec says what need not be pinned
		f.tree, f.resolved, err = fetcher.Fetch(ctx, sources...)
		return f, err
	}
	fetch.render = func(ctx context.Context, f fetched) (contents, *domain.Stop) { return j.render(ctx, f, options) }
	var c contents
	var stop *domain.Stop
	if c, stop, j.since = j.pool.order(ctx, j.name(), fetch, j.Now()); stop != nil || j.pending() {
		return contents{}, stop
	}
	j.memory.contents, j.memory.input, j.memory.at, j.memory.annotations = c, fetch.input, j.Now(), j.deployment.Annotations
	j.memory.contents.sequence = nil // a thousand deployments would fill the memory
	return c, nil
}

// remembered reports whether the contents are known, and nothing has to be planned for them.
func (j sourcing) remembered(input digest, sources []content.Source) bool {
	c := j.memory.contents
	tracked := slices.ContainsFunc(sources, func(s content.Source) bool { return s.Digest == "" })
	stale := j.Now().Sub(j.memory.at) >= j.Resync || !maps.Equal(j.memory.annotations, j.deployment.Annotations)
	if j.memory.input != input || tracked && stale {
		return false
	}
	d := deploying{j.job, c}
	underWay := j.engine.Unfinished() && !d.supersedes()
	return underWay || d.isThere() || d.quarantined() != nil && !j.retried()
}

// sources returns what is fetched, with the credentials that the account may read.
func (j sourcing) sources(ctx context.Context) ([]content.Source, error) {
	var all []content.Source
	for i, s := range j.deployment.Spec.Sources {
		r, err := domain.ParseReference(s.Reference)
		if err != nil {
			return nil, err
		}
		source := content.Source{Reference: r, Destination: s.Destination}
		if s.Auth != nil {
			if source.Credentials, err = j.world.Credentials(ctx, s.Auth.SecretRef.Name); err != nil {
				return nil, fmt.Errorf("spec.sources[%d].auth.secretRef: %w", i, err)
			}
		}
		all = append(all, source)
	}
	return all, nil
}

// shared identifies a fetch: deployments share it that fetch the same with the same credentials.
// ConfigMaps are read by an account, and shared by its own deployments alone.
func (j sourcing) shared(sources []content.Source) digest {
	if slices.ContainsFunc(sources, func(s content.Source) bool { return s.Origin == domain.ConfigMaps }) {
		return sum(sources, convert.Account(j.deployment))
	}
	return sum(sources)
}

// sum returns the digest of values.
func sum(values ...any) digest {
	text, err := json.Marshal(values)
	if err != nil { // nothing of it can fail: they are strings, numbers and bytes
		panic(err)
	}
	return sha256.Sum256(text)
}

// meanwhile returns the stop that is published while the contents are pending: the one before,
// unless they take long.
func (j sourcing) meanwhile() *domain.Stop {
	if j.Now().Sub(j.since) >= j.Resync {
		return j.fetching()
	}
	if j.memory.generation == j.deployment.Generation {
		return j.memory.stop
	}
	ready := meta.FindStatusCondition(j.deployment.Status.Conditions, string(condition.Ready))
	if ready == nil || ready.ObservedGeneration != j.deployment.Generation {
		return j.fetching() // the run under way is of an earlier generation
	}
	return nil
}

// options returns all that rendering needs besides the content.
func (j sourcing) options(ctx context.Context) (content.Options, error) {
	d := j.deployment
	o := content.Options{
		Path: d.Spec.Render.Path, Format: d.Spec.Format, Name: d.Name, Namespace: j.target(), Watch: d.Spec.Render.WatchNamespaces,
		ConfigChecksum: convert.Restarts(d.Spec.Render),
	}
	var faults []error
	for i, v := range d.Spec.Render.ValuesFrom {
		key := cmp.Or(v.Key, "values.yaml")
		text, err := j.world.Text(ctx, v.Kind, v.Name, key)
		if err != nil {
			faults = append(faults, fmt.Errorf("spec.render.valuesFrom[%d]: %w", i, err))
		}
		o.Values = append(o.Values, content.ValuesFile{Name: fmt.Sprintf("%s %s, key %s", v.Kind, v.Name, key), Text: text})
	}
	if d.Spec.Render.Values != nil {
		o.Values = append(o.Values, content.ValuesFile{Name: "spec.render.values", Text: d.Spec.Render.Values.Raw})
	}
	return o, errors.Join(faults...)
}

// target returns the namespace of objects that name none.
func (j sourcing) target() string {
	return cmp.Or(j.deployment.Spec.Render.InstallNamespace, j.deployment.Namespace)
}

// fetching returns the stop of sources that take long. One that was published for them stays, so
// that a source that fails slowly has one reason and not two by turns.
func (j sourcing) fetching() *domain.Stop {
	d, stop := j.deployment, &domain.Stop{Stage: domain.Sourced}
	said := meta.FindStatusCondition(d.Status.Conditions, string(domain.Sourced))
	if said != nil && said.Status == metav1.ConditionFalse && said.ObservedGeneration == d.Generation {
		stop.Reason, stop.Message = said.Reason, said.Message
		return stop
	}
	var all []string
	for _, s := range d.Spec.Sources {
		all = append(all, s.Reference)
	}
	stop.Reason, stop.Message = "Fetching", "still fetching "+strings.Join(all, ", ")+": if this lasts, check whether the server answers"
	return stop
}

// render returns the objects of a tree in their order, or what stops that.
func (j sourcing) render(ctx context.Context, f fetched, o content.Options) (contents, *domain.Stop) {
	c := contents{}
	rendered, err := content.Render(ctx, f.tree, o)
	if err != nil {
		return c, stopAt(domain.Rendered, "RenderFailed", err)
	}
	placed, err := domain.Place(rendered.Objects, o.Namespace, j.world.Namespaced)
	if err != nil {
		return c, stopAt(domain.Rendered, "RenderFailed", err)
	}
	if c.sequence, err = domain.Order(placed); err != nil {
		return c, stopAt(domain.Rendered, "RenderFailed", err)
	}
	c.manifest = c.sequence.Digest()
	for _, r := range f.resolved {
		c.resolved = append(c.resolved, r.String())
	}
	return c, nil
}

// stopAt returns the stop of a stage that an error ends. What the content or a permission has
// wrong waits for a person.
func stopAt(stage condition.Type, reason string, err error) *domain.Stop {
	return &domain.Stop{Stage: stage, Reason: reason, Message: err.Error(), Person: stage == domain.Rendered || apierrors.IsForbidden(err)}
}

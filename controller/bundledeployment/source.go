package bundledeployment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/supply"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/destination"
)

// contents are the objects that the sources stand for.
type contents struct {
	// manifest is the digest of the objects.
	manifest string
	// resolved are the references with the digests that they have turned out to mean.
	resolved []string
	// notes are those of the content.
	notes []string
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
	fetch := supply.Work{Input: supply.Sum(sources, options), Source: j.shared(sources)}
	if j.memory.input == fetch.Input && j.settled() {
		if !j.stale(sources) {
			return j.memory.contents, nil
		}
		fetch.Known = j.memory.content
	}
	fetch.Fetch = func(ctx context.Context) (*content.Fetched, error) {
		return j.Contents.Fetch(ctx, sources, j.world.Files)
	}
	fetch.Render = func(ctx context.Context, f *content.Fetched) (content.Output, error) {
		return j.Contents.Render(ctx, f, options)
	}
	var r supply.Result
	if r, j.since, err = j.pool.Order(ctx, j.name(), fetch, j.Now()); err != nil || j.pending() {
		return contents{}, unsupplied(err)
	}
	c := j.memory.contents
	switch {
	case r.Objects == nil && !j.settled(): // it was when the content was asked for
		j.memory.content = supply.Digest{}
		return j.source(ctx)
	case r.Objects != nil:
		if c, err = j.arrange(r.Objects, options.Secret()); err != nil {
			return contents{}, stopAt(domain.Rendered, "RenderFailed", err)
		}
		c.notes = r.Notes
	}
	c.resolved = nil
	for _, one := range r.Resolved {
		c.resolved = append(c.resolved, one.String())
	}
	j.memory.contents, j.memory.content, j.memory.input = c, r.Content, fetch.Input
	j.memory.at, j.memory.annotations = j.Now(), j.deployment.Annotations
	j.memory.contents.sequence = nil // a thousand deployments would fill the memory
	return c, nil
}

// settled reports that nothing has to be planned for the contents that are remembered.
func (j sourcing) settled() bool {
	d := deploying{j.job, j.memory.contents}
	underWay := j.engine.Unfinished() && !d.supersedes()
	return underWay || d.isThere() || d.quarantined() != nil && !j.retried()
}

// stale reports that sources may have other content by now.
func (j sourcing) stale(sources []content.Source) bool {
	tracked := slices.ContainsFunc(sources, func(s content.Source) bool { return s.Digest == "" })
	return tracked && (j.Now().Sub(j.memory.at) >= j.Resync || !maps.Equal(j.memory.annotations, j.deployment.Annotations))
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
func (j sourcing) shared(sources []content.Source) supply.Digest {
	if slices.ContainsFunc(sources, func(s content.Source) bool { return s.Origin == domain.ConfigMaps }) {
		return supply.Sum(sources, convert.Account(j.deployment))
	}
	return supply.Sum(sources)
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
		ConfigChecksum: convert.Restarts(d.Spec.Render), Parameters: convert.ToParameters(d.Spec.Render),
		SkipHooks: d.Spec.Render.SkipHooks,
		Tolerated: content.Tolerated{
			IgnoreUnknown: convert.IgnoresUnknown(d.Spec.Render), Empty: d.Spec.Render.EmptyContent == v1alpha1.EmptyContentAllow,
		},
	}
	var faults []error
	for i, v := range d.Spec.Render.ValuesFrom {
		key := cmp.Or(v.Key, "values.yaml")
		text, err := j.world.Text(ctx, v.Kind, v.Name, key)
		if err != nil {
			faults = append(faults, fmt.Errorf("spec.render.valuesFrom[%d]: %w", i, err))
		}
		o.Values = append(o.Values, content.ValuesFile{Name: fmt.Sprintf("%s %s, key %s", v.Kind, v.Name, key), Text: text,
			Secret: v.Kind == "Secret"})
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

// fetching returns the stop of sources that take long. One that was published for them or for what they
// render to stays, so that a source that fails slowly has one reason and not two by turns.
func (j sourcing) fetching() *domain.Stop {
	d, stop := j.deployment, &domain.Stop{Stage: domain.Sourced}
	for _, stage := range []condition.Type{domain.Sourced, domain.Rendered} {
		said := meta.FindStatusCondition(d.Status.Conditions, string(stage))
		if said != nil && said.Status == metav1.ConditionFalse && said.ObservedGeneration == d.Generation {
			return &domain.Stop{Stage: stage, Reason: said.Reason, Message: said.Message}
		}
	}
	var all []string
	for _, s := range d.Spec.Sources {
		all = append(all, s.Reference)
	}
	stop.Reason, stop.Message = "Fetching", "still fetching "+strings.Join(all, ", ")+": if this lasts, check whether the server answers"
	return stop
}

// arrange returns what was rendered in its order. An error quotes no value of a Secret.
func (j sourcing) arrange(text []byte, secret bool) (contents, error) {
	c := contents{}
	objects, err := content.Decode(text)
	if err == nil {
		objects, err = domain.Place(objects, j.target(), j.world.Namespaced)
	}
	if err == nil {
		c.sequence, err = domain.Order(objects, j.deployment.Spec.Canaries...)
	}
	if err != nil && secret {
		err = domain.Unquoted(err)
	}
	if err != nil {
		return contents{}, err
	}
	if c.sequence == nil { // no objects are contents too
		c.sequence = domain.Sequence{}
	}
	c.manifest = c.sequence.Digest()
	return c, nil
}

// unsupplied returns the stop of contents that could not be fetched or rendered; nil without an error.
func unsupplied(err error) *domain.Stop {
	fetch, unfetched := errors.AsType[*supply.FetchError](err)
	_, refused := errors.AsType[*destination.RefusedError](err)
	switch {
	case err == nil:
		return nil
	case refused:
		return &domain.Stop{Stage: domain.Sourced, Reason: "SourceRefused", Message: err.Error(), Person: true}
	case unfetched:
		stop := stopAt(domain.Sourced, "FetchFailed", fetch.Err)
		stop.Person = stop.Person || content.Exceeded(err)
		return stop
	}
	stop := stopAt(domain.Rendered, "RenderFailed", err)
	stop.Person = !errors.Is(err, content.ErrProcess)
	return stop
}

// stopAt returns the stop of a stage that an error ends. What the content or a permission has
// wrong waits for a person.
func stopAt(stage condition.Type, reason string, err error) *domain.Stop {
	return &domain.Stop{Stage: stage, Reason: reason, Message: err.Error(), Person: stage == domain.Rendered || apierrors.IsForbidden(err)}
}

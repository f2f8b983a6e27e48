package bundledeployment

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/golang/glog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// wanted is what the sources mean now.
type wanted struct {
	// manifest is the digest of the objects.
	manifest string
	// resolved are the references with what they have turned out to mean.
	resolved []string
	// sequence is nil where it was carried out before.
	sequence domain.Sequence
}

// rendered remembers what came of which input, so that a resync renders nothing anew.
type rendered struct {
	mu    sync.Mutex
	known map[types.NamespacedName]memory
}

type memory struct {
	input [sha256.Size]byte
	wanted
}

func (r *rendered) recall(key types.NamespacedName, input [sha256.Size]byte) (wanted, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, known := r.known[key]
	return m.wanted, known && m.input == input
}

func (r *rendered) remember(key types.NamespacedName, input [sha256.Size]byte, w wanted) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = map[types.NamespacedName]memory{}
	}
	w.sequence = nil // a thousand deployments would fill the memory
	r.known[key] = memory{input, w}
}

func (r *rendered) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, key)
}

// source returns what is wanted. What was rendered before from the same input is not
// rendered again, as long as it is what is there.
func (j *job) source(ctx context.Context) (wanted, *domain.Stop) {
	options, err := j.options(ctx)
	if err != nil {
		return wanted{}, &domain.Stop{Stage: domain.Rendered, Reason: "ValuesMissing", Message: err.Error(), Person: apierrors.IsForbidden(err)}
	}
	key := types.NamespacedName{Namespace: j.deployment.Namespace, Name: j.deployment.Name}
	pinned, input := j.input(options)
	if w, known := j.rendered.recall(key, input); known && pinned && j.isThere(w) {
		return w, nil
	}
	tree, resolved, err := j.fetchSlowly(ctx)
	if err != nil {
		return wanted{}, stopAt(domain.Sourced, "FetchFailed", err)
	}
	w, err := j.render(ctx, tree, options)
	if err != nil {
		return wanted{}, stopAt(domain.Rendered, "RenderFailed", err)
	}
	for _, r := range resolved {
		w.resolved = append(w.resolved, r.String())
	}
	j.rendered.remember(key, input, w)
	return w, nil
}

// options reads all that rendering needs besides the content.
func (j *job) options(ctx context.Context) (content.Options, error) {
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

// target is the namespace of objects that name none.
func (j *job) target() string {
	return cmp.Or(j.deployment.Spec.Render.InstallNamespace, j.deployment.Namespace)
}

// input is all that the objects depend on, and whether that is the same tomorrow.
func (j *job) input(o content.Options) (pinned bool, sum [sha256.Size]byte) {
	pinned = true
	for _, s := range j.deployment.Spec.Sources {
		r, err := domain.ParseReference(s.Reference)
		pinned = pinned && err == nil && r.Digest != ""
	}
	text, err := json.Marshal(struct {
		Sources any
		Options content.Options
	}{j.deployment.Spec.Sources, o})
	return pinned && err == nil, sha256.Sum256(text)
}

// fetchSlowly fetches for as long as the servers need: what stands is kept meanwhile, each
// Resync, and it is said what is waited for (BUNDLES.md 1).
func (j *job) fetchSlowly(ctx context.Context) (domain.Tree, []domain.Reference, error) {
	var keeping sync.WaitGroup
	fetched := make(chan struct{})
	defer func() {
		close(fetched)
		keeping.Wait()
		j.standing = domain.Standing{}
	}()
	keeping.Go(func() {
		again := time.NewTicker(j.Resync)
		defer again.Stop()
		for {
			select {
			case <-fetched:
				return
			case <-again.C:
				j.keepMeanwhile(ctx)
			}
		}
	})
	return j.fetch(ctx)
}

// keepMeanwhile keeps what stands while the sources are fetched. That it cannot stops nothing.
func (j *job) keepMeanwhile(ctx context.Context) {
	_, err := j.correct(ctx, j.fetching())
	if err == nil {
		err = j.publish(ctx)
	}
	if err != nil && ctx.Err() == nil {
		glog.Errorf("BundleDeployment %s: %v", convert.Owner(j.deployment), err)
	}
}

// fetching says that the sources are waited for; what was said of them before stays said,
// so that a source that fails slowly is not told in two ways by turns.
func (j *job) fetching() *domain.Stop {
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

// fetch returns the content of all sources, laid over each other.
func (j *job) fetch(ctx context.Context) (domain.Tree, []domain.Reference, error) {
	fetcher := j.Fetcher
	fetcher.ConfigMaps = j.world.Files
	fetcher.Track = true // what has to be pinned was checked before
	var sources []content.Source
	for i, s := range j.deployment.Spec.Sources {
		r, err := domain.ParseReference(s.Reference)
		if err != nil {
			return domain.Tree{}, nil, err
		}
		source := content.Source{Reference: r, Destination: s.Destination}
		if s.Auth != nil {
			if source.Credentials, err = j.world.Credentials(ctx, s.Auth.SecretRef.Name); err != nil {
				return domain.Tree{}, nil, fmt.Errorf("spec.sources[%d].auth.secretRef: %w", i, err)
			}
		}
		sources = append(sources, source)
	}
	return fetcher.Fetch(ctx, sources...)
}

// render returns the objects of a tree in their order.
func (j *job) render(ctx context.Context, tree domain.Tree, o content.Options) (wanted, error) {
	rendered, err := content.Render(ctx, tree, o)
	if err != nil {
		return wanted{}, err
	}
	placed, err := domain.Place(rendered.Objects, o.Namespace, j.world.Namespaced)
	if err != nil {
		return wanted{}, err
	}
	sequence, err := domain.Order(placed)
	if err != nil {
		return wanted{}, err
	}
	return wanted{manifest: sequence.Digest(), sequence: sequence}, nil
}

// stopAt says which stage an error stops, and whether it may pass by itself.
func stopAt(stage condition.Type, reason string, err error) *domain.Stop {
	return &domain.Stop{Stage: stage, Reason: reason, Message: err.Error(), Person: stage == domain.Rendered || apierrors.IsForbidden(err)}
}

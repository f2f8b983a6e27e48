package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/supply"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/fleet"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
)

// built is the commit of a ref from which images are built. It has neither a commit nor an error while the first lookup is
// under way.
type built struct {
	at     time.Time
	commit string
	// failed is the error of the last lookup; nil for none.
	failed error
}

// images looks up the refs of images in one reconcile, each once.
type images struct {
	*feed
	domain.Images

	// used are the refs that members have.
	used map[domain.ImageRef]built
}

// lookups returns what looks refs up in one reconcile.
func (f *feed) lookups() *images {
	i := &images{feed: f, Images: domain.Images{Refs: map[string]string{}}, used: map[domain.ImageRef]built{}}
	maps.Copy(i.Refs, f.ImageRefs)
	if t := f.set.Spec.Chart.ImageTag; t != nil {
		maps.Copy(i.Refs, t.Refs)
		i.Digits = int(t.Digits)
	}
	return i
}

// of returns the tag of a member's image, the first digits of a commit, or what is wrong; "" for an image without a ref. A
// member whose image is not known yet waits.
func (i *images) of(ctx context.Context, m domain.Member) (tag string, wrong []data.Problem, waits string) {
	if i.Self.Is(m.Integration, m.Namespace.Name) {
		return "", nil, "" // its image is not that of the integrations
	}
	ref, wrong := m.ImageRef(i.Images, domain.Parameters{Set: i.set.Spec.Chart.Parameters})
	if len(wrong) > 0 || ref == (domain.ImageRef{}) {
		return "", wrong, ""
	}
	found, known := i.used[ref]
	if !known {
		found = i.lookup(ctx, ref)
		i.used[ref] = found
	}
	switch {
	case found.commit == "" && found.failed == nil:
		return "", nil, "still looking up " + ref.String()
	case found.commit == "":
		return "", []data.Problem{ref.Unknown(m, found.failed)}, ""
	case found.failed != nil:
		i.stale = cmp.Or(i.stale, found.failed.Error())
	}
	return i.Tag(found.commit), nil, ""
}

// lookup returns the commit of a ref, which is looked up as often as data are fetched; the last one that is known while that
// fails.
func (i *images) lookup(ctx context.Context, ref domain.ImageRef) built {
	last, known := i.memory.images[ref]
	if known && !last.at.Before(i.memory.at) && i.Now().Sub(last.at) < i.Resync {
		return last
	}
	if !known {
		last.commit = i.recorded(ref)
	}
	commit, pending, err := i.order(ctx, ref)
	if pending {
		return last
	}
	last = built{at: i.Now(), commit: cmp.Or(commit, last.commit), failed: err}
	if i.memory.images == nil {
		i.memory.images = map[domain.ImageRef]built{}
	}
	i.memory.images[ref] = last
	return last
}

// order has the pool look a ref up.
func (i *images) order(ctx context.Context, ref domain.ImageRef) (commit string, pending bool, err error) {
	source, err := i.source(ctx, ref)
	if err != nil {
		return "", false, err
	}
	if source.Digest != "" {
		return source.Digest, false, nil // it is a commit
	}
	input := supply.Sum(source, i.account())
	name := types.NamespacedName{Namespace: i.set.Namespace, Name: i.set.Name + "/" + ref.String()}
	found, began, err := i.pool.Order(ctx, name, supply.Work{
		Input: input, Source: input,
		Fetch: func(ctx context.Context) (*content.Fetched, error) {
			return i.Contents.Fetch(ctx, []content.Source{source}, nil)
		},
		Render: func(_ context.Context, got *content.Fetched) (content.Output, error) {
			return content.Output{Objects: []byte(got.Resolved[0].Digest)}, nil
		},
	}, i.Now())
	return string(found.Objects), !began.IsZero(), err
}

// source returns the source of a ref, with the credentials that the set names.
func (i *images) source(ctx context.Context, ref domain.ImageRef) (content.Source, error) {
	r, err := bundle.ParseReference(ref.String())
	if err == nil {
		err = r.Deployable()
	}
	if err != nil {
		return content.Source{}, err
	}
	s := content.Source{Reference: r, Bare: true}
	if t := i.set.Spec.Chart.ImageTag; t != nil && t.Auth != nil {
		inputs, err := i.Connect(i.account(), i.owner())
		if err != nil {
			return s, err
		}
		if s.Credentials, err = inputs.Credentials(ctx, t.Auth.SecretRef.Name); err != nil {
			return s, fmt.Errorf("spec.chart.imageTag.auth.secretRef: %w", err)
		}
	}
	return s, nil
}

// recorded returns the commit that the status has for a ref; "" for none.
func (i *images) recorded(ref domain.ImageRef) string {
	for _, one := range i.set.Status.Images {
		if one.Reference == ref.String() {
			return one.Commit
		}
	}
	return ""
}

// record returns the commits of refs in use, each since it is known.
func (i *images) record() []v1alpha1.IntegrationCommit {
	var all []v1alpha1.IntegrationCommit
	for ref, one := range i.used {
		if one.commit == "" {
			continue
		}
		commit := v1alpha1.IntegrationCommit{Reference: ref.String(), Commit: one.commit, Since: metav1.NewTime(i.Now()).Rfc3339Copy()}
		for _, before := range i.set.Status.Images {
			if before.Reference == commit.Reference && before.Commit == commit.Commit {
				commit.Since = before.Since
			}
		}
		all = append(all, commit)
	}
	slices.SortFunc(all, func(a, b v1alpha1.IntegrationCommit) int { return cmp.Compare(a.Reference, b.Reference) })
	return all[:min(len(all), maxImages)]
}

// maxImages bounds the commits that a status lists.
const maxImages = 64

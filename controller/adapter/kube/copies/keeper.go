// Package copies keeps the copies of data with which pods may start while Orcon is away (TRUST.md A1), in ConfigMaps.
//
// What must not come in: what is in a copy, which the negotiation decides, and objects of other kinds.
package copies

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/stale"
)

// settler observes and settles namespaces.
type settler interface {
	Observe(ctx context.Context, namespace string) (relation.Snapshot, error)
	Apply(ctx context.Context, namespace string, decision relation.Decision) error
	Referrers(namespace, application string) []string
}

// The label of the ConfigMaps that have copies: no other is read or written.
const (
	partOf = "app.kubernetes.io/part-of"
	orcon  = "orcon"
)

// Keeper is a settler that observes and settles copies too. A namespace keeps them in few ConfigMaps, which its
// applications share: each has a key.
type Keeper struct {
	settler

	// reader reads from the API server itself: a cache would have to list ConfigMaps.
	reader client.Reader
	writer client.Client

	mu sync.Mutex
	// last are the copies of each namespace as they were read or written last.
	last map[string]*observed
}

// observed has the copies of one namespace.
type observed struct {
	now    time.Time
	shards map[string]shard
	copies map[string]stale.Copy
	// refused are the writes that the API server has refused, by application.
	refused map[string]refusal
}

// shard is a ConfigMap with the copies of several applications.
type shard struct {
	// revision is empty if there is no such ConfigMap.
	revision string
	data     map[string]string
	// refused is why it is not read; empty if it is.
	refused string
}

// refusal is the reason why a copy was not written, and when that was.
type refusal struct {
	why string
	at  time.Time
}

// NewKeeper returns a keeper over a settler of the rest.
func NewKeeper(rest settler, reader client.Reader, writer client.Client) *Keeper {
	return &Keeper{settler: rest, reader: reader, writer: writer, last: map[string]*observed{}}
}

// Observe returns the namespace with its copies: of applications that allow one, and of those whose record names one.
func (k *Keeper) Observe(ctx context.Context, namespace string) (relation.Snapshot, error) {
	s, err := k.settler.Observe(ctx, namespace)
	if err != nil {
		return s, err
	}
	found := &observed{now: s.Now, shards: map[string]shard{}, copies: map[string]stale.Copy{}, refused: k.refusedIn(namespace, s.Now)}
	for _, app := range concerned(s) {
		in := application.StaleCopy(app)
		is, read := found.shards[in]
		if !read {
			if is, err = k.read(ctx, namespace, in); err != nil {
				return s, err
			}
			found.shards[in] = is
		}
		one := is.copyOf(app)
		one.Refused = cmp.Or(one.Refused, found.refused[app].why)
		found.copies[app], s.Copies = one.Copy, append(s.Copies, one)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last[namespace] = found; len(found.copies) == 0 {
		delete(k.last, namespace)
	}
	return s, nil
}

// concerned returns the applications that allow a copy, or have one, in order.
func concerned(s relation.Snapshot) []string {
	names := map[string]bool{}
	for _, a := range s.Applications {
		names[a.Name] = a.Stale
	}
	for _, r := range s.Records {
		names[r.Name] = names[r.Name] || r.Copied
	}
	maps.DeleteFunc(names, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(names))
}

// refusedIn returns the latest refusals in a namespace.
func (k *Keeper) refusedIn(namespace string, now time.Time) map[string]refusal {
	latest := map[string]refusal{}
	k.mu.Lock()
	defer k.mu.Unlock()
	if last := k.last[namespace]; last != nil {
		maps.Copy(latest, last.refused)
	}
	maps.DeleteFunc(latest, func(_ string, r refusal) bool { return now.Sub(r.at) >= relation.CopyRetry })
	return latest
}

// read reads a ConfigMap of copies.
func (k *Keeper) read(ctx context.Context, namespace, name string) (shard, error) {
	m := object.Named(&corev1.ConfigMap{}, namespace, name)
	err := k.reader.Get(ctx, client.ObjectKeyFromObject(m), m)
	switch {
	case apierrors.IsNotFound(err):
		return shard{}, nil
	case apierrors.IsForbidden(err):
		return shard{refused: err.Error()}, nil
	case err != nil:
		return shard{}, fmt.Errorf("cannot read ConfigMap %s: %w", name, err)
	case m.Labels[partOf] != orcon:
		return shard{refused: fmt.Sprintf("ConfigMap %s lacks label %s: %s, so that Orcon's controller does not write it: rename or delete it",
			name, partOf, orcon)}, nil
	}
	return shard{revision: m.ResourceVersion, data: m.Data}, nil
}

// copyOf returns the copy of an application. An invalid text is an empty copy, and is written anew.
func (s shard) copyOf(app string) relation.StoredCopy {
	text, stored := s.data[app]
	one := relation.StoredCopy{Application: app, Stored: stored, Refused: s.refused}
	one.Copy, _ = stale.Parse(text)
	return one
}

// Apply carries out one decision. It fails if that ends or suspends a relation which a copy still holds: the end is
// published after that (TRUST.md A1).
func (k *Keeper) Apply(ctx context.Context, namespace string, decision relation.Decision) error {
	if d, is := decision.(relation.Copy); is {
		return k.keep(ctx, namespace, d)
	}
	identity, requirer, closes := relation.Closes(decision)
	if closes && k.holds(requirer, identity) {
		return fmt.Errorf("cannot close relation %s: ConfigMap %s of namespace %s still holds it", identity,
			application.StaleCopy(requirer.Application), requirer.Namespace)
	}
	return k.settler.Apply(ctx, namespace, decision)
}

func (k *Keeper) holds(requirer relation.End, identity string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	last := k.last[requirer.Namespace]
	return last != nil && last.copies[requirer.Application].Holds(identity)
}

// keep stores or removes a copy, and remembers that, or why it was refused. What fails is repeated with the next pass.
func (k *Keeper) keep(ctx context.Context, namespace string, d relation.Copy) error {
	in := application.StaleCopy(d.Application)
	revision, err := k.write(ctx, namespace, k.revision(namespace, in), d)
	k.mu.Lock()
	defer k.mu.Unlock()
	last := k.last[namespace]
	switch {
	case last == nil:
	case err == nil:
		last.shards[in] = shard{revision: revision} // for the next write of this pass
		last.copies[d.Application] = d.Next
	case apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err):
		last.refused[d.Application] = refusal{fmt.Sprintf("ConfigMap %s: %v", in, err), last.now}
	}
	if err != nil {
		return fmt.Errorf("cannot write ConfigMap %s: %w", in, err)
	}
	return nil
}

// revision returns the revision of a ConfigMap as it was read or written last; empty if there is none.
func (k *Keeper) revision(namespace, name string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if last := k.last[namespace]; last != nil {
		return last.shards[name].revision
	}
	return ""
}

// write changes one key of a ConfigMap in a revision, and returns the next: unless another process has written the
// ConfigMap since it was observed.
func (k *Keeper) write(ctx context.Context, namespace, revision string, d relation.Copy) (string, error) {
	var value *string // a merge removes the key
	if !d.Next.Empty() {
		text, err := d.Next.Text()
		if err != nil {
			return "", err
		}
		value = &text
	}
	m := object.Named(&corev1.ConfigMap{}, namespace, application.StaleCopy(d.Application))
	if revision == "" {
		if value == nil {
			return "", nil
		}
		if err := k.create(ctx, m); err != nil {
			return "", err
		}
		revision = m.ResourceVersion
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]string{"resourceVersion": revision}, "data": map[string]*string{d.Application: value},
	})
	if err != nil {
		return "", err
	}
	if err = k.writer.Patch(ctx, m, client.RawPatch(types.MergePatchType, patch)); value == nil && apierrors.IsNotFound(err) {
		return "", nil
	}
	return m.ResourceVersion, err
}

// create makes an empty ConfigMap and reads it: by an apply, since only the request of an apply that creates an object
// names it, as the role needs.
func (k *Keeper) create(ctx context.Context, m *corev1.ConfigMap) error {
	made := applycorev1.ConfigMap(m.Name, m.Namespace).WithLabels(map[string]string{partOf: orcon})
	if err := k.writer.Apply(ctx, made, client.FieldOwner("relations-controller"), client.ForceOwnership); err != nil {
		return err
	}
	return k.reader.Get(ctx, client.ObjectKeyFromObject(m), m)
}

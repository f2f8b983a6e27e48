package interfaces

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/golang/glog"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// Catalogue knows the interfaces of a cluster, built-in and published, and the schema modes of its
// namespaces. It reads from memory only.
type Catalogue struct {
	// Writer writes to the API server; nil where no conditions are written.
	Writer client.Client
	// Now is the clock of the conditions.
	Now func() time.Time

	builtIn schema.Catalog

	mu     sync.Mutex
	reader client.Reader
	judged map[types.UID]judged
	known  schema.Catalog
}

// judged is the judgement of an object when it was first seen. Its spec cannot change (SAFETY.md S5); the
// generation shows if it did.
type judged struct {
	generation int64
	parsed     schema.Interface
	conditions []condition.Condition
	inForce    bool
}

// New returns a catalogue of the built-in interfaces and, unless reader is nil, of those that it reads.
func New(reader client.Reader) (*Catalogue, error) {
	library, err := schema.Library()
	if err != nil {
		return nil, err
	}
	catalog := schema.NewCatalog(library...)
	return &Catalogue{Now: time.Now, builtIn: catalog, known: catalog, reader: reader}, nil
}

// retryFollow is how long to wait for a kind that the cluster does not have.
const retryFollow = 10 * time.Second

// Follow reads the interfaces from informers as soon as those have synced, and returns then. A cluster in which
// they cannot is served with the interfaces of Orcon: a missing kind must keep no pod from starting.
func (i *Catalogue) Follow(ctx context.Context, informers cache.Cache) error {
	for _, o := range []client.Object{&corev1.Namespace{}, &v1alpha1.Interface{}} {
		err := wait.PollUntilContextCancel(ctx, retryFollow, true, func(ctx context.Context) (bool, error) {
			_, err := informers.GetInformer(ctx, o)
			if err != nil {
				glog.Warningf("cannot watch %T: %v", o, err)
			}
			return err == nil, nil
		})
		if err != nil {
			return fmt.Errorf("cannot follow %T: %w", o, err)
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.reader = informers
	return nil
}

// Find returns an interface; version 0 is an endpoint's that names none.
func (i *Catalogue) Find(ctx context.Context, name string, version int) (schema.Interface, bool) {
	return i.Catalog(ctx).Find(name, version)
}

// Fields returns the keys that a consumer's endpoint may read, by the interfaces in force now.
func (i *Catalogue) Fields(e application.Endpoint) []string {
	return i.Catalog(context.Background()).Fields(e)
}

// Catalog returns the interfaces that are in force now; the last known ones if they cannot be read.
func (i *Catalogue) Catalog(ctx context.Context) schema.Catalog {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.reader == nil {
		return i.known
	}
	var list v1alpha1.InterfaceList
	if err := i.reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		glog.Warningf("cannot list interfaces: %v", err)
		return i.known
	}
	if i.remember(list.Items) {
		i.known = i.builtIn
		for _, j := range i.judged {
			if j.inForce {
				i.known = i.known.With(j.parsed)
			}
		}
	}
	return i.known
}

// remember judges new interfaces and forgets deleted ones; it reports whether there were any.
func (i *Catalogue) remember(all []v1alpha1.Interface) (differs bool) {
	now := make(map[types.UID]judged, len(all))
	for k := range all {
		o := &all[k]
		j, seen := i.judged[o.UID]
		if !seen || j.generation != o.Generation {
			j, differs = i.judge(o), true
		}
		now[o.UID] = j
	}
	differs = differs || len(now) != len(i.judged)
	i.judged = now
	return differs
}

// judgement returns the judgement of an object, and makes it if there is none yet.
func (i *Catalogue) judgement(o *v1alpha1.Interface) judged {
	i.mu.Lock()
	defer i.mu.Unlock()
	if j, seen := i.judged[o.UID]; seen && j.generation == o.Generation {
		return j
	}
	return i.judge(o)
}

func (i *Catalogue) judge(o *v1alpha1.Interface) judged {
	j := judged{generation: o.Generation}
	published, err := convert.ToPublished(o)
	if err != nil {
		j.conditions = condition.Stuck(schema.ReasonInvalid, err.Error())
		return j
	}
	j.parsed, j.conditions, j.inForce = i.builtIn.Admit(published)
	return j
}

// Mode returns the schema mode of a namespace; Warn if it cannot be read.
func (i *Catalogue) Mode(ctx context.Context, namespace string) schema.Mode {
	i.mu.Lock()
	reader := i.reader
	i.mu.Unlock()
	var ns corev1.Namespace
	if reader == nil || reader.Get(ctx, client.ObjectKey{Name: namespace}, &ns, client.UnsafeDisableDeepCopy) != nil {
		return schema.Warn
	}
	return object.SchemaMode(&ns)
}

// Judge writes into the conditions of a published interface whether it is in force, or why not. It does nothing
// if the interface is gone.
func (i *Catalogue) Judge(ctx context.Context, name string) error {
	known := i.Catalog(ctx)
	var o v1alpha1.Interface
	if err := i.reader.Get(ctx, client.ObjectKey{Name: name}, &o); err != nil {
		return client.IgnoreNotFound(err)
	}
	j := i.judgement(&o)
	before := o.Status.DeepCopy()
	conditions := j.conditions
	if j.inForce {
		conditions = slices.Concat(conditions, known.Breaks(j.parsed))
	}
	convert.SetInterface(&o, conditions, i.Now())
	if reflect.DeepEqual(*before, o.Status) {
		return nil
	}
	if err := i.Writer.Status().Update(ctx, &o); err != nil {
		return fmt.Errorf("cannot write the status of interface %s: %w", name, err)
	}
	return nil
}

// Versions returns the names of the objects that publish versions of an interface: the conditions of one may
// depend on another.
func (i *Catalogue) Versions(ctx context.Context, of string) []string {
	var list v1alpha1.InterfaceList
	if err := i.reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var names []string
	for k := range list.Items {
		if list.Items[k].Spec.Name == of {
			names = append(names, list.Items[k].Name)
		}
	}
	return names
}

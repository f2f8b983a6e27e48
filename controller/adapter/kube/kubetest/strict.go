package kubetest

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// Strict is an API server that refuses a write or a deletion without the stored UID and revision.
type Strict struct {
	client.Client

	// Kept are the objects.
	Kept Memory
	// Writes counts the writes.
	Writes int
	// Refuses returns why no object like it may be stored; nil for a server that refuses none.
	Refuses func(client.Object) error
	// Most is the number of writes before the server is out of reach; 0 for no limit.
	Most int

	// one is held by the request that is carried out: an executor sends several at the same time.
	one sync.Mutex
}

// ErrGone is the error of a server that is out of reach.
var ErrGone = errors.New("the API server is out of reach")

// Get implements client.Reader.
func (s *Strict) Get(ctx context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	s.one.Lock()
	defer s.one.Unlock()
	return s.Kept.Get(ctx, key, into)
}

// List refuses to list Secrets: the roles do not allow it (SAFETY.md S2).
func (s *Strict) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	if _, secrets := into.(*corev1.SecretList); secrets {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("the roles do not allow it"))
	}
	s.one.Lock()
	defer s.one.Unlock()
	return s.Kept.List(ctx, into, opts...)
}

// Create drops the status, as for any kind with a status of its own.
func (s *Strict) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	var options client.CreateOptions
	options.ApplyOptions(opts)
	s.one.Lock()
	defer s.one.Unlock()
	dry := len(options.DryRun) > 0
	if err := s.judge(o, dry); err != nil {
		return err
	}
	if there, _ := o.DeepCopyObject().(client.Object); s.Kept.Get(ctx, client.ObjectKeyFromObject(o), there) == nil {
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "things"}, o.GetName())
	}
	if dry {
		return nil
	}
	if bag, is := o.(*v1alpha1.Databag); is {
		bag.Status = v1alpha1.DatabagStatus{}
	}
	s.Writes++
	o.SetResourceVersion(strconv.Itoa(100 + s.Writes))
	o.SetUID(types.UID("uid-" + o.GetName()))
	s.Keep(o)
	return nil
}

// judge returns why a write is not made.
func (s *Strict) judge(o client.Object, dry bool) error {
	if !dry && s.Most > 0 && s.Writes >= s.Most {
		return ErrGone
	}
	if s.Refuses != nil {
		return s.Refuses(o)
	}
	return nil
}

// Keep stores a copy of an object.
func (s *Strict) Keep(o client.Object) {
	kept, _ := o.DeepCopyObject().(client.Object)
	s.Kept.Put(kept)
}

// Status implements client.Client.
func (s *Strict) Status() client.SubResourceWriter { return statusOf{server: s} }

// statusOf writes the status as strictly as the rest.
type statusOf struct {
	client.SubResourceWriter
	server *Strict
}

// Update implements client.SubResourceWriter. It writes the status alone.
func (s statusOf) Update(_ context.Context, o client.Object, opts ...client.SubResourceUpdateOption) error {
	var options client.SubResourceUpdateOptions
	options.ApplyOptions(opts)
	return s.server.update(o, len(options.DryRun) > 0, func(stored client.Object) client.Object {
		copyStatus(stored, o)
		return stored
	})
}

// copyStatus sets the status of an object whose kind has one to that of another.
func copyStatus(to, from client.Object) {
	if status := reflect.ValueOf(to).Elem().FieldByName("Status"); status.IsValid() {
		status.Set(reflect.ValueOf(from).Elem().FieldByName("Status"))
	}
}

func conflict(o client.Object, why string) error {
	return apierrors.NewConflict(schema.GroupResource{Resource: "things"}, o.GetName(), errors.New(why))
}

// Update implements client.Writer. It writes all but the status.
func (s *Strict) Update(_ context.Context, o client.Object, opts ...client.UpdateOption) error {
	var options client.UpdateOptions
	options.ApplyOptions(opts)
	return s.update(o, len(options.DryRun) > 0, func(stored client.Object) client.Object {
		wanted, _ := o.DeepCopyObject().(client.Object)
		copyStatus(wanted, stored)
		return wanted
	})
}

// update writes what wanted returns of the stored object, if o has the stored revision, and returns it in o.
func (s *Strict) update(o client.Object, dry bool, wanted func(stored client.Object) client.Object) error {
	s.one.Lock()
	defer s.one.Unlock()
	if err := s.judge(o, dry); err != nil {
		return err
	}
	stored, _ := o.DeepCopyObject().(client.Object)
	if err := s.Kept.Get(context.Background(), client.ObjectKeyFromObject(o), stored); err != nil {
		return err
	}
	if o.GetResourceVersion() == "" || o.GetResourceVersion() != stored.GetResourceVersion() || o.GetUID() != stored.GetUID() {
		return conflict(o, "the object has been modified")
	}
	if dry {
		return nil
	}
	kept := wanted(stored)
	kept.SetResourceVersion(strconv.FormatUint(object.Revision(o)+1, 10))
	s.Keep(kept)
	reflect.ValueOf(o).Elem().Set(reflect.ValueOf(kept).Elem())
	s.Writes++
	return nil
}

// Delete implements client.Writer.
func (s *Strict) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	var options client.DeleteOptions
	options.ApplyOptions(opts)
	s.one.Lock()
	defer s.one.Unlock()
	stored, _ := o.DeepCopyObject().(client.Object)
	if err := s.Kept.Get(ctx, client.ObjectKeyFromObject(o), stored); err != nil {
		return err
	}
	unchanged := object.Unchanged(stored)
	want := &metav1.Preconditions{UID: unchanged.UID, ResourceVersion: unchanged.ResourceVersion}
	if !equality.Semantic.DeepEqual(options.Preconditions, want) {
		return conflict(o, "the object has been modified")
	}
	if len(options.DryRun) > 0 {
		return nil
	}
	s.Writes++
	delete(s.Kept[reflect.TypeOf(o)], client.ObjectKeyFromObject(o))
	return nil
}

// Apply creates a Secret that the roles name, as a server-side apply does.
func (s *Strict) Apply(ctx context.Context, o runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	made, ok := o.(*applycorev1.SecretApplyConfiguration)
	if !ok || !strings.HasPrefix(*made.Name, "orcon-secrets-") {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", errors.New("the roles do not name it"))
	}
	err := s.Create(ctx, object.Named(&corev1.Secret{}, *made.Namespace, *made.Name))
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

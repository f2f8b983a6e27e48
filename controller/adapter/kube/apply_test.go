package kube

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// strict is an API server that refuses what it would have to take on trust: a
// write without the revision that is stored, a deletion without the UID.
type strict struct {
	client.Client
	kept   memory
	writes int
	// most is how many writes it takes before it is out of reach; 0 for no limit.
	most int
}

// errGone is what a client hears of a server that is out of reach.
var errGone = errors.New("the API server is out of reach")

func (s *strict) Get(ctx context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	return s.kept.Get(ctx, key, into)
}

// List refuses to list Secrets: the roles do not allow it (SAFETY.md S2).
func (s *strict) List(ctx context.Context, into client.ObjectList, opts ...client.ListOption) error {
	if _, secrets := into.(*corev1.SecretList); secrets {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("nobody lists Secrets"))
	}
	return s.kept.List(ctx, into, opts...)
}

// Create drops the status, as for any kind with a status of its own.
func (s *strict) Create(ctx context.Context, o client.Object, _ ...client.CreateOption) error {
	if s.most > 0 && s.writes >= s.most {
		return errGone
	}
	if there, _ := o.DeepCopyObject().(client.Object); s.kept.Get(ctx, client.ObjectKeyFromObject(o), there) == nil {
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "things"}, o.GetName())
	}
	switch typed := o.(type) {
	case *v1alpha1.Databag:
		typed.Status = v1alpha1.DatabagStatus{}
	case *v1alpha1.RelatedSecret:
		typed.Status = v1alpha1.RelatedSecretStatus{}
	}
	s.writes++
	o.SetResourceVersion(strconv.Itoa(100 + s.writes))
	o.SetUID(types.UID("uid-" + o.GetName()))
	s.keep(o)
	return nil
}

// keep stores a copy: what the client does to its own is its affair.
func (s *strict) keep(o client.Object) {
	kept, _ := o.DeepCopyObject().(client.Object)
	s.kept.put(kept)
}

func (s *strict) Status() client.SubResourceWriter { return statusOf{server: s} }

// statusOf writes the status as strictly as the rest.
type statusOf struct {
	client.SubResourceWriter
	server *strict
}

func (s statusOf) Update(ctx context.Context, o client.Object, _ ...client.SubResourceUpdateOption) error {
	return s.server.Update(ctx, o)
}

func conflict(o client.Object, why string) error {
	return apierrors.NewConflict(schema.GroupResource{Resource: "things"}, o.GetName(), errors.New(why))
}

func (s *strict) Update(ctx context.Context, o client.Object, _ ...client.UpdateOption) error {
	if s.most > 0 && s.writes >= s.most {
		return errGone
	}
	stored, _ := o.DeepCopyObject().(client.Object)
	if err := s.kept.Get(ctx, client.ObjectKeyFromObject(o), stored); err != nil {
		return err
	}
	if o.GetResourceVersion() == "" || o.GetResourceVersion() != stored.GetResourceVersion() || o.GetUID() != stored.GetUID() {
		return conflict(o, "the object has been modified")
	}
	o.SetResourceVersion(strconv.FormatUint(revision(o)+1, 10))
	s.keep(o)
	s.writes++
	return nil
}

func (s *strict) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	var options client.DeleteOptions
	options.ApplyOptions(opts)
	stored, _ := o.DeepCopyObject().(client.Object)
	if err := s.kept.Get(ctx, client.ObjectKeyFromObject(o), stored); err != nil {
		return err
	}
	if options.Preconditions == nil || options.Preconditions.UID == nil || *options.Preconditions.UID != stored.GetUID() {
		return conflict(o, "the UID is another")
	}
	s.writes++
	delete(s.kept[reflect.TypeOf(o)], client.ObjectKeyFromObject(o))
	return nil
}

// Apply makes a Secret, as a server-side apply does whose name the roles allow.
func (s *strict) Apply(ctx context.Context, o runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	made, ok := o.(*applycorev1.SecretApplyConfiguration)
	if !ok || !slices.Contains(ContentSecrets(), *made.Name) {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", errors.New("the roles do not name it"))
	}
	err := s.Create(ctx, named(&corev1.Secret{}, *made.Namespace, *made.Name))
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// conditional has one object of each generated kind, the Relation being deleted
// or not.
func conditional(version, uid string, deleted bool) memory {
	r := relationBetween("shop", "blog", "shop", "db")
	if deleted {
		r.DeletionTimestamp = &metav1.Time{Time: epoch()}
	}
	m := memory{}
	for _, o := range []client.Object{r, endpointBag("shop", "db", map[string]string{"host": "old"}), named(&v1alpha1.RelatedApplication{}, "shop", "blog")} {
		o.SetResourceVersion(version)
		o.SetUID(types.UID(uid))
		m.put(o)
	}
	return m
}

// What Orcon alone writes goes with the revision that was read, and is deleted
// with the UID that was read: who changed it, or made it anew, in the meantime
// loses nothing (SAFETY.md D11).
func TestApplyIsConditional(t *testing.T) {
	r, err := relationBetween("shop", "blog", "shop", "db").ToDomain()
	require.NoError(t, err)
	r.UID = "first"
	bag := relation.Databag{Application: "db", Endpoint: "db", Data: map[string]string{"host": "new"}}
	record := relation.Record{Name: "blog", UID: "first"}
	tests := map[string]struct {
		decision relation.Decision
		deleted  bool
	}{
		"Publish":  {decision: relation.Publish{Databag: bag}},
		"Remember": {decision: relation.Remember{Record: record}},
		"Relate":   {decision: relation.Relate{Pair: relation.Pair{Key: r.Key, Interface: "db"}}},
		"Update":   {decision: relation.Update{Relation: r}},
		"Finish":   {decision: relation.Finish{Relation: r}},
		"Release":  {decision: relation.Release{Relation: r}, deleted: true},
		"Withdraw": {decision: relation.Withdraw{Databag: bag}},
		"Forget":   {decision: relation.Forget{Record: record}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			apply := func(server *strict) error {
				w := World{Reader: conditional("7", "first", test.deleted), Live: server, Writer: server, Events: events.NewFakeRecorder(10), Now: epoch}
				return w.Apply(t.Context(), "shop", test.decision)
			}
			same := &strict{kept: conditional("7", "first", test.deleted)}
			require.NoError(t, apply(same))
			assert.Equal(t, 1, same.writes, "what was read is what is stored")

			anew := &strict{kept: conditional("9", "second", test.deleted)}
			err := apply(anew)
			require.True(t, apierrors.IsConflict(err), "%v", err)
			assert.Zero(t, anew.writes, "an object made anew is another")
		})
	}
	for _, name := range []string{"Publish", "Remember", "Relate", "Update", "Release"} {
		t.Run(name+"Changed", func(t *testing.T) {
			test := tests[name]
			server := &strict{kept: conditional("8", "first", test.deleted)}
			w := World{Reader: conditional("7", "first", test.deleted), Live: server, Writer: server, Events: events.NewFakeRecorder(10), Now: epoch}
			err := w.Apply(t.Context(), "shop", test.decision)
			require.True(t, apierrors.IsConflict(err), "%v", err)
			assert.Zero(t, server.writes, "what somebody changed meanwhile stays")
		})
	}
}

package kube

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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
	stored, _ := o.DeepCopyObject().(client.Object)
	if err := s.kept.Get(ctx, client.ObjectKeyFromObject(o), stored); err != nil {
		return err
	}
	if o.GetResourceVersion() == "" || o.GetResourceVersion() != stored.GetResourceVersion() || o.GetUID() != stored.GetUID() {
		return conflict(o, "the object has been modified")
	}
	o.SetResourceVersion(strconv.FormatUint(revision(o)+1, 10))
	s.kept.put(o)
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
	return nil
}

// conditional has one object of each generated kind, the Relation being deleted
// or not.
func conditional(version, uid string, deleted bool) memory {
	r := relationBetween("shop", "blog", "shop", "db")
	if deleted {
		r.DeletionTimestamp = &metav1.Time{Time: epoch()}
	}
	m := memory{}
	for _, o := range []client.Object{r, databag("shop", "db", map[string]string{"host": "old"}), named(&v1alpha1.RelatedApplication{}, "shop", "blog")} {
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
				w := World{Reader: conditional("7", "first", test.deleted), Writer: server, Events: events.NewFakeRecorder(10), Now: epoch}
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
			w := World{Reader: conditional("7", "first", test.deleted), Writer: server, Events: events.NewFakeRecorder(10), Now: epoch}
			err := w.Apply(t.Context(), "shop", test.decision)
			require.True(t, apierrors.IsConflict(err), "%v", err)
			assert.Zero(t, server.writes, "what somebody changed meanwhile stays")
		})
	}
}

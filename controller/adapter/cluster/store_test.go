package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// secrets is an API server that has Secrets alone. It deletes what belongs to a Secret that is gone when collect is
// called, as the garbage collector does.
type secrets struct {
	client.Client

	kept map[string]corev1.Secret
	made int
}

func missing(name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, name)
}

// Get implements client.Reader.
func (s *secrets) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kept, there := s.kept[key.Name]
	if !there {
		return missing(key.Name)
	}
	kept.DeepCopyInto(into.(*corev1.Secret)) //nolint:forcetypeassert // nothing else is read
	return nil
}

// Create implements client.Writer.
func (s *secrets) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	if _, there := s.kept[o.GetName()]; there {
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "secrets"}, o.GetName())
	}
	if err := oversized(o); err != nil {
		return err
	}
	s.made++
	o.SetUID(types.UID(fmt.Sprint("uid-", s.made)))
	o.SetResourceVersion(fmt.Sprint(s.made))
	s.kept[o.GetName()] = *o.(*corev1.Secret).DeepCopy() //nolint:forcetypeassert // nothing else is written
	return nil
}

// Update implements client.Writer.
func (s *secrets) Update(_ context.Context, o client.Object, _ ...client.UpdateOption) error {
	if err := oversized(o); err != nil {
		return err
	}
	s.made++
	o.SetResourceVersion(fmt.Sprint(s.made))
	s.kept[o.GetName()] = *o.(*corev1.Secret).DeepCopy() //nolint:forcetypeassert // nothing else is written
	return nil
}

// oversized returns the refusal of a Secret that is too large.
func oversized(o client.Object) error {
	size := 0
	for _, value := range o.(*corev1.Secret).Data { //nolint:forcetypeassert // nothing else is written
		size += len(value)
	}
	if size > corev1.MaxSecretSize {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, o.GetName(), nil)
	}
	return nil
}

// Delete implements client.Writer.
func (s *secrets) Delete(_ context.Context, o client.Object, opts ...client.DeleteOption) error {
	kept, there := s.kept[o.GetName()]
	var options client.DeleteOptions
	options.ApplyOptions(opts)
	switch p := options.Preconditions; {
	case !there:
		return missing(o.GetName())
	case p != nil && p.UID != nil && *p.UID != kept.UID:
		return apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, o.GetName(), nil)
	}
	delete(s.kept, o.GetName())
	return nil
}

func (s *secrets) collect() {
	live := map[types.UID]bool{}
	for _, one := range s.kept {
		live[one.UID] = true
	}
	for name, one := range s.kept {
		for _, owner := range one.OwnerReferences {
			if !live[owner.UID] {
				delete(s.kept, name)
			}
		}
	}
}

// What is installed again with the same content, before the cluster has collected that of before, keeps its content.
func TestStoreInstalledAgain(t *testing.T) {
	server := &secrets{kept: map[string]corev1.Secret{}}
	w := &World{client: server, owner: "shop/store"}
	p := bundle.Plan{Owner: "shop/store", Sequence: bundle.Sequence{{Object: bundle.Object{"kind": "ConfigMap"}}}}
	record := bundle.Record{Revisions: []bundle.Revision{{Number: 1}}}
	require.NoError(t, NewStore(w).Save(t.Context(), record, &p))
	require.NoError(t, NewStore(w).Remove(t.Context()))
	require.NoError(t, NewStore(w).Save(t.Context(), record, &p))
	server.collect()
	again := NewStore(w)
	_, err := again.Load(t.Context())
	require.NoError(t, err)
	got, err := again.Plan(t.Context(), 1)
	require.NoError(t, err)
	assert.Equal(t, p.Sequence, got.Sequence)
}

// A record of many objects, or of the Jobs of years, fits into its Secret. A usual one is readable.
func TestStoreOfMany(t *testing.T) {
	server := &secrets{kept: map[string]corev1.Secret{}}
	w := &World{client: server, owner: "shop/store"}
	record := bundle.Record{Revisions: []bundle.Revision{{Number: 1}}}
	for i := range 30_000 {
		id := bundle.ID{Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprint("config-", i)}
		record.Inventory = append(record.Inventory, bundle.Entry{ID: id, Origin: id, Phase: bundle.Configuration})
		record.Completed = append(record.Completed, bundle.ID{Group: "batch", Kind: "Job", Namespace: "shop", Name: fmt.Sprintf("migrate-%x", sha256.Sum256([]byte(id.Name)))[:18]})
	}
	require.NoError(t, NewStore(w).Save(t.Context(), record, nil))
	got, err := NewStore(w).Load(t.Context())
	require.NoError(t, err)
	assert.Equal(t, record, got)

	record.Inventory, record.Completed = record.Inventory[:1], nil
	again := NewStore(w)
	_, err = again.Load(t.Context())
	require.NoError(t, err)
	require.NoError(t, again.Save(t.Context(), record, nil))
	assert.True(t, json.Valid(server.kept["orcon-bundle-store"].Data["data"]))
}

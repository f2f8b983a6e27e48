package object

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
)

// led returns an application that pod-1 leads.
func led(name, revision string, until time.Time) *v1alpha1.RelatedApplication {
	app := Named(&v1alpha1.RelatedApplication{}, "shop", name)
	app.ResourceVersion = revision
	convert.SetLeader(app, leadership.Leader{Unit: 1, PodUID: "pod-1", Term: 3, Expires: until})
	return app
}

// What is known of a lease is its stored end without a memory, and with one what was seen of it.
func TestLeases(t *testing.T) {
	began := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	clock := began
	now := func() time.Time { return clock }
	reader := applications{"db": led("db", "5", began.Add(24*time.Hour))}
	read := func(l *Leases, name string) leadership.Observation {
		seen, err := l.Read(t.Context(), reader, Named(&v1alpha1.RelatedApplication{}, "shop", name), now)
		require.NoError(t, err)
		return seen
	}
	_, err := (&Leases{}).Read(t.Context(), reader, Named(&v1alpha1.RelatedApplication{}, "shop", "none"), now)
	require.ErrorContains(t, err, "not found")

	all := &Leases{}
	read(all, "db")
	clock = clock.Add(time.Minute)
	assert.True(t, read(nil, "db").Leads("pod-1", clock), "the clock of its writer counts")
	assert.False(t, read(all, "db").Leads("pod-1", clock), "it was not renewed for a minute")
	reader["db"] = led("db", "6", began.Add(25*time.Hour))
	assert.True(t, read(all, "db").Leads("pod-1", clock), "it was renewed")
}

// Leases that are not read any more are forgotten, and others are not.
func TestLeasesAreForgotten(t *testing.T) {
	clock := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	now := func() time.Time { return clock }
	reader, all := applications{}, &Leases{}
	read := func(name string) {
		reader[name] = led(name, "5", clock)
		_, err := all.Read(t.Context(), reader, Named(&v1alpha1.RelatedApplication{}, "shop", name), now)
		require.NoError(t, err)
	}
	for i := range 10 * fewLeases {
		read(fmt.Sprint("app-", i))
		if i%100 == 0 {
			read("db")
			clock = clock.Add(time.Minute)
		}
	}
	assert.Less(t, len(all.seen), 2*fewLeases+1)
	assert.Contains(t, all.seen, client.ObjectKey{Namespace: "shop", Name: "db"})
}

// applications is a reader of applications by their names.
type applications map[string]*v1alpha1.RelatedApplication

func (a applications) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	stored, there := a[key.Name]
	if !there {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "relatedapplications"}, key.Name)
	}
	stored.DeepCopyInto(into.(*v1alpha1.RelatedApplication))
	return nil
}

func (applications) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

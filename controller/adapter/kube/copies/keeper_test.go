package copies_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/copies"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/stale"
)

// rest settles what is no copy.
type rest struct {
	seen    relation.Snapshot
	applied []relation.Decision
}

func (r *rest) Observe(context.Context, string) (relation.Snapshot, error) { return r.seen, nil }
func (r *rest) Referrers(string, string) []string                          { return nil }
func (r *rest) Apply(_ context.Context, _ string, d relation.Decision) error {
	r.applied = append(r.applied, d)
	return nil
}

// maps is an API server that serves ConfigMaps as the controller's role does, and fails if it has an error.
type maps struct {
	client.Client

	stored         map[string]*corev1.ConfigMap
	reads, writes  int
	failed, denied error
}

func (m *maps) revise(c *corev1.ConfigMap) {
	m.writes++
	c.ResourceVersion = strconv.Itoa(m.writes)
}

// named returns what is stored.
func (m *maps) named(name string) (*corev1.ConfigMap, error) {
	if is := m.stored[name]; is != nil {
		return is, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, name)
}

func (m *maps) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if m.reads++; m.failed != nil {
		return m.failed
	}
	is, err := m.named(key.Name)
	if err == nil {
		is.DeepCopyInto(o.(*corev1.ConfigMap)) //nolint:forcetypeassert // nothing else is read
	}
	return err
}

func (m *maps) Apply(_ context.Context, o runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	made, _ := o.(*applycorev1.ConfigMapApplyConfiguration)
	if m.stored[*made.Name] == nil {
		m.stored[*made.Name] = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: *made.Name, Labels: made.Labels}}
		m.revise(m.stored[*made.Name])
	}
	return nil
}

func (m *maps) Patch(_ context.Context, o client.Object, patch client.Patch, _ ...client.PatchOption) error {
	is, err := m.named(o.GetName())
	if err != nil {
		return err
	}
	text, err := patch.Data(o)
	if err != nil {
		return err
	}
	var change struct {
		Metadata struct{ ResourceVersion string }
		Data     map[string]*string
	}
	if err := json.Unmarshal(text, &change); err != nil {
		return err
	}
	switch {
	case m.denied != nil:
		return m.denied
	case change.Metadata.ResourceVersion != is.ResourceVersion:
		return apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, o.GetName(), errors.New("it has changed"))
	case is.Data == nil:
		is.Data = map[string]string{}
	}
	for key, value := range change.Data {
		if delete(is.Data, key); value != nil {
			is.Data[key] = *value
		}
	}
	m.revise(is)
	is.DeepCopyInto(o.(*corev1.ConfigMap)) //nolint:forcetypeassert // nothing else is written
	return nil
}

func of(relation string) stale.Copy {
	return stale.Of([]stale.Item{{Relation: relation, ID: 1, Endpoint: "db", Data: map[string]string{"host": "h"}}})
}

// shop is a keeper of the copies of one namespace, in a test.
type shop struct {
	*copies.Keeper

	t       *testing.T
	settler *rest
	server  *maps
}

func newShop(t *testing.T, apps ...application.Application) *shop {
	settler, server := &rest{}, &maps{stored: map[string]*corev1.ConfigMap{}}
	settler.seen.Applications, settler.seen.Now = apps, time.Unix(1, 0)
	return &shop{copies.NewKeeper(settler, server, server), t, settler, server}
}

func (s *shop) observe() []relation.StoredCopy {
	seen, err := s.Observe(s.t.Context(), "shop")
	require.NoError(s.t, err)
	return seen.Copies
}

func (s *shop) apply(d relation.Decision) error { return s.Apply(s.t.Context(), "shop", d) }

// A copy is written in the revision that was observed, and no end is stored before the copy lets go of the relation
// (TRUST.md A1).
func TestKeeper(t *testing.T) {
	s := newShop(t, application.Application{Name: "web", Stale: true}, application.Application{Name: "api"})
	end := relation.Update{Relation: relation.Relation{
		UID: "r", Key: relation.Key{Requirer: relation.End{Namespace: "shop", Application: "web", Endpoint: "db"}},
		State: relation.State{EndReason: relation.EndDeleted},
	}}

	none := s.observe()
	assert.Equal(t, []relation.StoredCopy{{Application: "web"}}, none)
	require.NoError(t, s.apply(relation.Copy{StoredCopy: none[0]}), "nothing is left to remove")
	require.NoError(t, s.apply(relation.Copy{StoredCopy: none[0], Next: of("r")}))
	assert.Equal(t, map[string]string{"app.kubernetes.io/part-of": "orcon"}, s.server.stored["orcon-stale-1"].Labels)
	require.ErrorContains(t, s.apply(end), "ConfigMap orcon-stale-1 of namespace shop still holds it")
	other := end
	other.UID = "other"
	require.NoError(t, s.apply(other), "another relation")
	alive := end
	alive.State.EndReason = ""
	require.NoError(t, s.apply(alive), "it does not end")
	suspended := alive
	suspended.State.SuspendedSince = time.Unix(1, 0)
	require.ErrorContains(t, s.apply(suspended), "still holds it")

	held := s.observe()[0]
	assert.True(t, held.Stored && held.Equal(of("r")))
	require.NoError(t, s.apply(relation.Copy{StoredCopy: held, Next: of("s")}))
	require.NoError(t, s.apply(end))

	s.settler.seen.Applications, s.settler.seen.Records = nil, []relation.Record{{Name: "web", Copied: true}, {Name: "api"}}
	require.NoError(t, s.apply(relation.Copy{StoredCopy: s.observe()[0]}), "also if the application does not allow it any more")
	assert.Empty(t, s.server.stored["orcon-stale-1"].Data)
	assert.Equal(t, none, s.observe())
	delete(s.server.stored, "orcon-stale-1")
	require.NoError(t, s.apply(relation.Copy{StoredCopy: held}), "a person has deleted the ConfigMap")

	s.server.failed = errors.New("the API server is out of reach")
	_, err := s.Observe(t.Context(), "shop")
	require.ErrorContains(t, err, "cannot read ConfigMap orcon-stale-1")
}

// Applications that share a ConfigMap do not disturb each other. It is read once, and if another process writes it, nothing is
// written until it was read again (TRUST.md A1).
func TestKeeperShares(t *testing.T) {
	s := newShop(t, application.Application{Name: "shop", Stale: true}, application.Application{Name: "web", Stale: true})
	stored := func() []string {
		var all []string
		for _, c := range s.observe() {
			for _, i := range c.Items {
				all = append(all, c.Application+"="+i.Relation)
			}
		}
		return all
	}
	both := s.observe()
	assert.Equal(t, 1, s.server.reads)
	for _, c := range both {
		require.NoError(t, s.apply(relation.Copy{StoredCopy: c, Next: of("r")}), "both in one pass")
	}
	assert.Equal(t, []string{"shop=r", "web=r"}, stored())
	both = s.observe()
	require.NoError(t, s.apply(relation.Copy{StoredCopy: both[0]}))
	require.NoError(t, s.apply(relation.Copy{StoredCopy: both[1], Next: of("s")}))
	assert.Equal(t, []string{"web=s"}, stored())

	other := newShop(t, s.settler.seen.Applications...)
	other.server = s.server
	other.Keeper = copies.NewKeeper(other.settler, s.server, s.server)
	require.NoError(t, other.apply(relation.Copy{StoredCopy: other.observe()[0], Next: of("t")}))
	for _, c := range both {
		assert.True(t, apierrors.IsConflict(errors.Unwrap(s.apply(relation.Copy{StoredCopy: c, Next: of("late")}))), "another process has written")
	}
	assert.Equal(t, []string{"shop=t", "web=s"}, stored())
	require.Empty(t, s.observe()[0].Refused, "which no user sees")
	require.NoError(t, s.apply(relation.Copy{StoredCopy: s.observe()[1], Next: of("late")}))
	assert.Equal(t, []string{"shop=t", "web=late"}, stored())
}

// What the API server refuses, and a ConfigMap that is not Orcon's, is reported for the application alone, and tried again.
func TestKeeperReportsRefusals(t *testing.T) {
	s := newShop(t, application.Application{Name: "front", Stale: true}, application.Application{Name: "web", Stale: true})
	refused := func() []string {
		var all []string
		for _, c := range s.observe() {
			all = append(all, c.Refused)
		}
		return all
	}
	configMaps := schema.GroupResource{Resource: "configmaps"}
	for name, denied := range map[string]error{
		"Quota":    apierrors.NewForbidden(configMaps, "orcon-stale-1", errors.New("exceeded quota")),
		"Invalid":  apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "orcon-stale-1", nil),
		"TooLarge": apierrors.NewRequestEntityTooLargeError("limit is 3145728"),
	} {
		t.Run(name, func(t *testing.T) {
			web := s.observe()[1]
			s.server.denied = denied
			require.ErrorIs(t, s.apply(relation.Copy{StoredCopy: web, Next: of(name)}), denied)
			s.server.denied = nil
			assert.Equal(t, []string{"", "ConfigMap orcon-stale-1: " + denied.Error()}, refused())
			s.settler.seen.Now = s.settler.seen.Now.Add(relation.CopyRetry)
			assert.Equal(t, []string{"", ""}, refused())
			require.NoError(t, s.apply(relation.Copy{StoredCopy: web, Next: of(name)}))
		})
	}
	s.server.stored["orcon-stale-0"] = &corev1.ConfigMap{Data: map[string]string{"front": "a user's"}}
	assert.Equal(t, []string{"ConfigMap orcon-stale-0 lacks label app.kubernetes.io/part-of: orcon, so that Orcon's controller does not " +
		"write it: rename or delete it", ""}, refused())
	s.server.failed = apierrors.NewForbidden(configMaps, "orcon-stale-0", errors.New("no role"))
	assert.Contains(t, refused()[0], "no role")
}

// What a person writes into a ConfigMap of copies is replaced if it is the application's key, and stays otherwise.
func TestKeeperReplacesWhatIsInvalid(t *testing.T) {
	s := newShop(t, application.Application{Name: "web", Stale: true})
	s.server.stored["orcon-stale-1"] = &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "orcon-stale-1", Labels: map[string]string{"app.kubernetes.io/part-of": "orcon"}, ResourceVersion: "7"},
		Data:       map[string]string{"web": "{", "other": "a person's"},
	}
	found := s.observe()
	assert.Equal(t, []relation.StoredCopy{{Application: "web", Stored: true}}, found)
	require.NoError(t, s.apply(relation.Copy{StoredCopy: found[0], Next: of("r")}))
	assert.True(t, s.observe()[0].Equal(of("r")))
	assert.Equal(t, "a person's", s.server.stored["orcon-stale-1"].Data["other"])
}

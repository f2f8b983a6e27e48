package settle

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// A granted Secret is read by its name when it is first named, and then from time to time. A failed read changes
// nothing (SAFETY.md S1, S2, E13).
func TestSecretsAreLookedAtNowAndThen(t *testing.T) {
	live, now := &kubetest.Door{Memory: kubetest.Memory{}}, kubetest.Epoch()
	live.Put(kubetest.Consenting("7"))
	w := granted{live, &sights{}, lookEvery, func() time.Time { return now }}
	look := func(after time.Duration) (relation.Snapshot, error) {
		now = now.Add(after)
		s := relation.Snapshot{Namespace: "shop", Now: now}
		s.Applications = []application.Application{{Name: "db", Secrets: map[string]string{"db": "admin"}}}
		s.Records = []relation.Record{{Name: "held", State: relation.ApplicationState{Grants: []relation.Grant{{Endpoint: "db", Secret: "gone"}}}}}
		err := w.observe(t.Context(), &s)
		return s, err
	}
	unavailable := apierrors.NewServiceUnavailable("a moment")
	live.Err = unavailable
	_, err := look(0)
	require.ErrorIs(t, err, unavailable, "nothing is known yet")
	live.Err = nil
	first, err := look(0)
	require.NoError(t, err)
	assert.Equal(t, []secret.Source{
		{Namespace: "shop", Name: "admin", Sight: secret.Open, Type: "Opaque", GrantTo: "db", Version: "7"},
		{Namespace: "shop", Name: "gone", Sight: secret.Missing},
	}, first.Secrets)
	assert.WithinRange(t, first.LookAgain, now.Add(3*time.Second), now.Add(5*time.Second), "what is missing may come any moment")
	looks := live.Looks
	_, err = look(time.Second)
	require.NoError(t, err)
	assert.Equal(t, looks, live.Looks, "however much else happens")
	live.Put(kubetest.Consenting("8"))
	gone := object.Named(&corev1.Secret{}, "shop", "gone")
	live.Put(gone)
	silent, err := look(20 * time.Second)
	require.NoError(t, err)
	assert.WithinRange(t, silent.LookAgain, now.Add(3*time.Second), now.Add(5*time.Second), "it may consent any moment")
	gone.Annotations = map[string]string{secret.KeyGrantTo: "db"}
	live.Put(gone)
	later, err := look(20 * time.Second)
	require.NoError(t, err)
	assert.WithinRange(t, later.LookAgain, now.Add(20*time.Second), now.Add(30*time.Second))
	assert.Equal(t, "8", later.Secrets[0].Version)
	live.Err = unavailable
	kept, err := look(20 * time.Second)
	require.NoError(t, err)
	assert.Equal(t, later.Secrets, kept.Secrets, "no answer is no news")
	live.Err = apierrors.NewForbidden(corev1.Resource("secrets"), "admin", errors.New("closed"))
	closed, err := look(20 * time.Second)
	require.NoError(t, err)
	assert.Equal(t, secret.Source{Namespace: "shop", Name: "admin", Sight: secret.Closed}, closed.Secrets[0])
}

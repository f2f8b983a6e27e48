package kube

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// door counts who looks at Secrets, and may be shut.
type door struct {
	kubetest.Memory

	looks int
	err   error
}

func (d *door) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if _, is := into.(*corev1.Secret); is {
		d.looks++
		if d.err != nil {
			return d.err
		}
	}
	return d.Memory.Get(ctx, key, into, opts...)
}

// admin is a Secret of somebody's that consents.
func admin(version string) *corev1.Secret {
	s := object.Named(&corev1.Secret{}, "shop", "admin")
	s.ResourceVersion, s.Type, s.Annotations = version, corev1.SecretTypeOpaque, map[string]string{secret.KeyGrantTo: "db"}
	s.Data = map[string][]byte{"password": []byte("hunter2")}
	return s
}

// A Secret that is granted is looked at by its name, now and then, and when it is first
// named; of a moment without an answer nothing is concluded (SAFETY.md S1, S2, E13).
func TestSecretsAreLookedAtNowAndThen(t *testing.T) {
	live, now := &door{Memory: kubetest.Memory{}}, kubetest.Epoch()
	live.Put(admin("7"))
	w := &World{Live: live, Now: func() time.Time { return now }}
	look := func(after time.Duration) (relation.Snapshot, error) {
		now = now.Add(after)
		s := relation.Snapshot{Namespace: "shop", Now: now}
		s.Applications = []application.Application{{Name: "db", Secrets: map[string]string{"db": "admin"}}}
		s.Records = []relation.Record{{Name: "held", State: relation.ApplicationState{Grants: []relation.Grant{{Endpoint: "db", Secret: "gone"}}}}}
		err := w.observeSecrets(t.Context(), &s)
		return s, err
	}
	unavailable := apierrors.NewServiceUnavailable("a moment")
	live.err = unavailable
	_, err := look(0)
	require.ErrorIs(t, err, unavailable, "nothing is known yet")
	live.err = nil
	first, err := look(0)
	require.NoError(t, err)
	assert.Equal(t, []secret.Source{
		{Namespace: "shop", Name: "admin", Sight: secret.Open, Type: "Opaque", GrantTo: "db", Version: "7"},
		{Namespace: "shop", Name: "gone", Sight: secret.Missing},
	}, first.Secrets)
	assert.WithinRange(t, first.LookAgain, now.Add(3*time.Second), now.Add(5*time.Second), "what is missing may come any moment")
	looks := live.looks
	_, err = look(time.Second)
	require.NoError(t, err)
	assert.Equal(t, looks, live.looks, "however much else happens")
	live.Put(admin("8"))
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
	live.err = unavailable
	kept, err := look(20 * time.Second)
	require.NoError(t, err)
	assert.Equal(t, later.Secrets, kept.Secrets, "no answer is no news")
	live.err = apierrors.NewForbidden(corev1.Resource("secrets"), "admin", errors.New("closed"))
	closed, err := look(20 * time.Second)
	require.NoError(t, err)
	assert.Equal(t, secret.Source{Namespace: "shop", Name: "admin", Sight: secret.Closed}, closed.Secrets[0])
}

// Whoever reads is asked about each time, and hears the same whatever is missing; an ID
// by which something may be granted is no unit's secret (SAFETY.md S1, M7).
func TestReadingWhatIsGranted(t *testing.T) {
	server, _, secrets := vault()
	live := &door{Memory: server.Kept}
	secrets.Reader = live
	app := object.Named(&v1alpha1.RelatedApplication{}, "shop", "db")
	app.Status.Grants = []v1alpha1.Grant{{Endpoint: "db", Secret: "admin", Key: "secret", Consent: v1alpha1.ConsentGiven, Revision: 3}}
	server.Kept.Put(app, admin("7"))
	id := secret.GrantedID("shop", "db", "db")
	r := kubetest.Related("shop", "blog", "shop", "db")
	by := asks("0", "db")
	by[0].Ties = []secret.Tie{{Relation: "one", Name: r.Name, Home: "shop", Application: "db", Endpoint: "db"}}
	read := func(by []secret.Visitor, q secret.Query) (secret.Reading, error) {
		return secrets.Secret(t.Context(), by, id, q)
	}
	reading, err := read(by, secret.Query{})
	require.NoError(t, err)
	assert.Equal(t, secret.Reading{ID: id, Revision: 3, Content: map[string][]byte{"password": []byte("hunter2")}}, reading)
	_, err = read(by, secret.Query{Label: "mine"})
	assert.Equal(t, conversation.Invalid, conversation.RefusalOf(err))
	_, err = read(asks("0", "db"), secret.Query{})
	assert.Equal(t, conversation.Gone, conversation.RefusalOf(err), "without a relation to that endpoint")

	impostor := object.Named(&v1alpha1.RelatedSecret{}, "shop", id)
	server.Kept.Put(impostor)
	for why, change := range map[string]func(*corev1.Secret){
		"consent is taken back":       func(s *corev1.Secret) { s.Annotations = nil },
		"it became a token":           func(s *corev1.Secret) { s.Type = corev1.SecretTypeServiceAccountToken },
		"it consents to another only": func(s *corev1.Secret) { s.Annotations[secret.KeyGrantTo] = "cache:db" },
	} {
		s := admin("8")
		change(s)
		server.Kept.Put(s)
		_, err = read(by, secret.Query{})
		require.EqualError(t, err, secret.NotGranted(id, "db").Error(), why)
	}
	live.err = apierrors.NewForbidden(corev1.Resource("secrets"), "admin", errors.New("closed"))
	_, err = read(by, secret.Query{})
	require.EqualError(t, err, secret.NotGranted(id, "db").Error())
	live.err = apierrors.NewServiceUnavailable("of admin")
	_, err = read(by, secret.Query{})
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "admin", "the Secret's name is not for who asks")
	assert.Empty(t, conversation.RefusalOf(err), "it is asked again")
}

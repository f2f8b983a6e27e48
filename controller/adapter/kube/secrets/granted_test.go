package secrets

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// Every read checks all consents, and fails alike whichever is missing. An ID by which a Secret may be granted
// never names a unit's secret (SAFETY.md S1, M7).
func TestReadingWhatIsGranted(t *testing.T) {
	server, _, secrets := vault()
	live := &kubetest.Door{Memory: server.Kept}
	secrets.Reader = live
	app := object.Named(&v1alpha1.RelatedApplication{}, "shop", "db")
	app.State.Grants = []v1alpha1.Grant{{Endpoint: "db", Secret: "admin", Key: "secret", Consent: v1alpha1.ConsentGiven, Revision: 3}}
	server.Kept.Put(app, kubetest.Consenting("7"))
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
		s := kubetest.Consenting("8")
		change(s)
		server.Kept.Put(s)
		_, err = read(by, secret.Query{})
		require.EqualError(t, err, secret.NotGranted(id, "db").Error(), why)
	}
	live.Err = apierrors.NewForbidden(corev1.Resource("secrets"), "admin", errors.New("closed"))
	_, err = read(by, secret.Query{})
	require.EqualError(t, err, secret.NotGranted(id, "db").Error())
	live.Err = apierrors.NewServiceUnavailable("of admin")
	_, err = read(by, secret.Query{})
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "admin", "the Secret's name is not for who asks")
	assert.Empty(t, conversation.RefusalOf(err), "it is asked again")
}

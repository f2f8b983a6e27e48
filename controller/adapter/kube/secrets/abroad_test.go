package secrets

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// A secret that is granted for a relation across namespaces is read while an Offer covers the relation, whatever
// the Relation's status says (RELATIONS.md P5, SAFETY.md M7).
func TestSecretsAcrossNamespaces(t *testing.T) {
	server, commits, secrets := vault()
	r := kubetest.Borrowed()
	server.Kept.Put(r, kubetest.OfferTo("office"))
	grant := secret.Draft{Write: secret.Write{Kind: secret.Grant, ID: secretID, Access: secret.Access{
		Relation: "abroad", Name: r.Name, Namespace: "office", Application: "blog.office",
	}}}
	_, err := commits.Commit(t.Context(), kubetest.Commit(), drafts(adds(secretID, "hunter2"), grant))
	require.NoError(t, err)
	reads := func() conversation.Refusal {
		reading, err := secrets.Secret(t.Context(), []secret.Visitor{
			{Unit: secret.Unit{Application: "blog", Number: "0"}, Namespace: "office"},
			{Unit: secret.Unit{Application: "blog.office", Number: "0"}, Namespace: "shop", Related: []string{"db"}},
		}, secretID, secret.Query{Label: "admin"})
		if err == nil {
			assert.Equal(t, "hunter2", string(reading.Content["password"]))
		}
		return conversation.RefusalOf(err)
	}
	assert.Empty(t, reads())
	assert.Empty(t, reads(), "found by its label")
	server.Kept.Put(kubetest.OfferTo("lab"))
	assert.Equal(t, conversation.NotYet, reads(), "withdrawn, whatever the Relation still says")
	server.Kept.Put(kubetest.OfferTo("office"))
	assert.Empty(t, reads(), "given back, with what was granted")
	earlier := kubetest.OfferTo("office")
	earlier.Spec.ConsumerNamespaces = []v1alpha1.NamespaceIdentity{{Name: "office", UID: "another"}}
	server.Kept.Put(kubetest.OptedIn("office"), earlier)
	assert.Equal(t, conversation.NotYet, reads(), "TRUST.md T8: the namespace was made again")
	earlier.Spec.ConsumerNamespaces[0].UID = string(kubetest.NamespaceUID("office"))
	server.Kept.Put(earlier)
	assert.Empty(t, reads(), "renewed")
	_, err = secrets.Secret(t.Context(), asks("0", "db"), secretID, secret.Query{})
	assert.Equal(t, conversation.NotYet, conversation.RefusalOf(err), "the shop's own blog is another, and was granted nothing")

	v := &Vault{Contents: secrets.Contents, Cached: server}
	app := object.Named(&v1alpha1.RelatedApplication{}, "office", "blog")
	app.State.NextUnit, app.State.Units = 1, []v1alpha1.Unit{{Number: 0, PodUID: "b0"}}
	server.Kept.Put(app)
	sweep := func() []secret.Decision {
		snapshot, err := v.Observe(t.Context(), "shop")
		require.NoError(t, err)
		return secret.Sweep(snapshot)
	}
	assert.Empty(t, sweep(), "neither the grant nor its reader has gone")
	app.State.Units[0].DepartureReason = "replaced"
	server.Kept.Put(app)
	r.UID = "another"
	server.Kept.Put(r)
	assert.Equal(t, []secret.Decision{secret.LetGo{ID: secretID, Relations: []string{"abroad"}, Readers: []secret.Reader{
		{Application: "blog.office", Unit: "0", Revision: 1, Label: "admin", Since: kubetest.Epoch()},
	}}}, sweep())
	assert.Equal(t, conversation.Gone, reads())
}

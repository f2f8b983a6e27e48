package secrets

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// A secret is restored before the relations for which it is granted, and swept in between: its grants stay, since
// nothing is known of those relations (TRUST.md T5).
func TestGrantsRestoredBeforeTheirRelations(t *testing.T) {
	tests := map[string]struct {
		why               string
		secret, relations time.Duration
		kept              bool
	}{
		"Secret":    {why: "the secret is restored, and its relations may follow", secret: -time.Minute, relations: -time.Hour * 48, kept: true},
		"Relations": {why: "their definition was made again", secret: -time.Hour * 48, relations: -time.Minute, kept: true},
		"Over":      {why: "both have been there for long", secret: -time.Hour * 48, relations: -time.Hour * 48},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server, secrets, v := grantedVault(t)
			since := func(d time.Duration) metav1.Time { return metav1.NewTime(kubetest.Epoch().Add(d)) }
			for _, plural := range []string{"relations", "relationsides"} {
				server.Kept.Put(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
					Name: plural + ".orcon.tengu.io", CreationTimestamp: since(test.relations),
				}})
			}
			var s v1alpha1.RelatedSecret
			require.NoError(t, server.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: secretID}, &s))
			s.CreationTimestamp = since(test.secret)
			server.Keep(&s)
			kind := reflect.TypeFor[*v1alpha1.Relation]()
			relations := server.Kept[kind]
			delete(server.Kept, kind)
			snapshot, err := v.Observe(t.Context(), "shop")
			require.NoError(t, err)
			for _, d := range secret.Sweep(snapshot) {
				require.NoError(t, v.Apply(t.Context(), "shop", d))
			}
			server.Kept[kind] = relations
			_, err = secrets.Secret(t.Context(), asks("0", "db"), secretID, secret.Query{})
			assert.Equal(t, test.kept, err == nil, "%s: %v", test.why, err)
		})
	}
}

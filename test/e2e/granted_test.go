package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A pod without any code gets the user and the password that an administrator keeps in a
// Secret: as files, and as the variable that it asks for. They follow the Secret, and go
// when that consents no more; the pod goes on (SAFETY.md S1, P7).
func TestGrantedSecret(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	const account = "orcon-system:relations-controller"
	w.kubectl("create", "rolebinding", "orcon-granted-secrets", "--clusterrole=orcon-granted-secrets", "--serviceaccount="+account)
	w.prints("yes", "auth", "can-i", "get", "secret/orders-db-admin", "--as=system:serviceaccount:"+account) // the API server knows the binding
	w.kubectl("apply", "-f", deployment(t, "examples/granted/granted.yaml"))
	web := w.running("web", 1)[0]
	w.prints("postgresql://db.example.org:5432 as orders", "logs", web.Name, "-c", "main")
	assert.Equal(t, "db.example.org orders change-me orders-db", w.sh(web.Name, "cd /bindings/store && echo $(cat host) $(cat username) $(cat password) $(cat type)"))
	assert.Equal(t, "change-me no", w.sh(web.Name, "echo $STORE_PASSWORD ${STORE_USERNAME:-no}"))

	t.Log("another password")
	w.kubectl("patch", "secret", "orders-db-admin", "-p", `{"stringData":{"password":"changed"}}`)
	w.reads("changed", web.Name, "/bindings/store/password")

	t.Log("consent is taken back")
	w.kubectl("annotate", "secret", "orders-db-admin", "tengu.io/grant-to-")
	w.eventually(func() string {
		return w.sh(web.Name, "cat /bindings/store/username /bindings/store/password 2>/dev/null || true")
	})
	assert.Equal(t, "db.example.org", w.sh(web.Name, "cat /bindings/store/host"), "the relation is there")
	w.contains("kubectl annotate secret orders-db-admin -n "+w.namespace+" --overwrite tengu.io/grant-to=main", "describe", "service", "orders-db")
	assert.True(t, ready(&w.running("web", 1)[0]))
	assert.NotContains(t, w.kubectl("get", "rapp,rel,databags,events", "-o", "yaml"), "change-me", "what is granted stands nowhere else")
}

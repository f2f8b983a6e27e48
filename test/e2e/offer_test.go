package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A shop asks a database of another namespace. Its pod waits until that namespace
// consents, and goes on with what it has when consent is taken back: the
// database's handlers hear that nothing is final (RELATIONS.md M6, SAFETY.md E14).
func TestOffer(t *testing.T) {
	t.Parallel()
	shop, bank := withOrcon(t), withOrcon(t)
	bank.apply(databaseHandlers)
	database := workload{kind: "StatefulSet", name: "db", annotations: `tengu.io/provides: "main:shopdb"`, podAnnotations: handled}.yaml()
	bank.apply(strings.Replace(database, "restartPolicy: Always", "restartPolicy: Always\n      volumes: [{name: handlers, configMap: {name: db-handlers, defaultMode: 0755}}]", 1))
	asks := fmt.Sprintf(`tengu.io/consumes: "store:shopdb", tengu.io/relations: db.%s, data.tengu.io/store: "database: orders"`, bank.namespace)
	shop.apply(workload{kind: "Deployment", name: "web", annotations: asks}.yaml())
	web := shop.waiting("web", 1)[0]
	shop.contains("namespace "+bank.namespace+" offers no application db to this namespace", "describe", "pod", web.Name)
	db := bank.running("db", 1)[0]

	t.Log("consent")
	offer := fmt.Sprintf("apiVersion: orcon.tengu.io/v1alpha1\nkind: Offer\nmetadata: {name: db}\nspec: {application: db, endpoint: main, consumers: [%s]}\n", shop.namespace)
	bank.apply(offer)
	shop.running("web", 1)
	shop.reads("user-orders", web.Name, "/bindings/store/username")
	bank.prints("1", "get", "offer", "db", "-o", "jsonpath={.status.relations}")
	id := shop.kubectl("get", "relations", "-o", "jsonpath={.items[0].state.id}")
	member := "web." + shop.namespace + "/0"
	hears := func(what string) {
		bank.eventually(func() string {
			if out := bank.heard(db.Name); strings.Contains(out, what) {
				return ""
			}
			return "the handlers have not heard " + what
		})
	}
	hears("joined " + member)

	t.Log("taken back")
	bank.kubectl("delete", "offer", "db")
	hears("departed " + member + "\nbroken final=false")
	shop.prints("Suspended", "get", "relations", "-o", `jsonpath={.items[0].status.conditions[?(@.type=="Ready")].reason}`)
	shop.reads("user-orders", web.Name, "/bindings/store/username")
	assert.True(t, ready(&shop.running("web", 1)[0]), "no running pod loses its data")

	t.Log("given again")
	bank.apply(offer)
	hears("broken final=false\ncreated\n")
	shop.prints("Complete "+id, "get", "relations", "-o", `jsonpath={.items[0].status.conditions[?(@.type=="Ready")].reason} {.items[0].state.id}`)
	assert.NotContains(t, bank.heard(db.Name), "final=true")
}

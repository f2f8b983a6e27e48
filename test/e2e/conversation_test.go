package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

const withTools = `injector.tengu.io/tools: "true"`

// types runs a tool in the main container of a pod.
func (w *world) types(pod, line string) string {
	w.t.Helper()
	return w.kubectl("exec", pod, "-c", "main", "--", "sh", "-c", "/orcon/tools/"+line)
}

// A shop asks for a database of a name and is answered, by Juju's tools from plain
// shell, and neither side is restarted. The shop's second container waits for
// nothing: its gate opened when the answer came (RELATIONS.md P, L2, E11; SAFETY.md
// P1, V4, I28).
func TestConversation(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	w.apply(workload{kind: "Deployment", name: "db", annotations: `tengu.io/provides: "main:shopdb"`, podAnnotations: withTools}.yaml())
	w.apply(workload{kind: "Deployment", name: "web", annotations: `tengu.io/consumes: "store:shopdb?", tengu.io/relations: db`, podAnnotations: withTools, replicas: 2}.yaml())
	db, webs := w.running("db", 1)[0], w.running("web", 2)
	web := webs[0].Name

	t.Log("each side sees the other's units and their addresses")
	id := strings.TrimSpace(w.types(web, "relation-ids store"))
	assert.Regexp(t, `^store:\d+$`, id)
	w.eventually(func() string {
		if out := w.types(db.Name, "relation-list -r "+strings.Replace(id, "store", "main", 1)); strings.Count(out, "web/") == 2 {
			return ""
		}
		return "the database does not see both units"
	})
	assert.Equal(t, db.Status.PodIP, strings.TrimSpace(w.types(web, "relation-get -r "+id+" ingress-address db/0")))

	t.Log("one unit leads, the other may not speak for the shop")
	assert.Equal(t, "True", strings.TrimSpace(w.types(web, "is-leader")))
	assert.Equal(t, "False", strings.TrimSpace(w.types(webs[1].Name, "is-leader")))
	out, err := w.try("exec", webs[1].Name, "-c", "main", "--", "/orcon/tools/relation-set", "-r", id, "--app", "database=evil")
	assert.Error(t, err)
	assert.Contains(t, out, "ERROR forbidden: ")

	t.Log("the shop asks, the database answers")
	main := "main:" + strings.TrimPrefix(id, "store:")
	w.types(web, "relation-set -r "+id+" --app database=orders && /orcon/tools/relation-set -r "+id+" version=9")
	w.eventually(func() string {
		if w.types(db.Name, "relation-get -r "+main+" --app database") == "orders" {
			return ""
		}
		return "the database has not heard the question"
	})
	began := time.Now()
	w.types(db.Name, "relation-set -r "+main+" --app username=orders-1 host=db")
	w.reads("orders-1", web, "/bindings/store/username")
	t.Logf("from the command to the file in the other pod: %s", time.Since(began).Round(time.Millisecond))
	w.contains("orders-1", "exec", webs[1].Name, "-c", "main", "--", "/orcon/tools/relation-get", "-r", id, "--app", "username")
	assert.Equal(t, "True", w.kubectl("get", "relations", "-o", `jsonpath={.items[0].status.conditions[?(@.type=="Ready")].status}`))

	t.Log("the password goes by a secret, which the shop alone may read (RELATIONS.md P5)")
	secret := strings.TrimSpace(w.types(db.Name, "secret-add --label orders password#file=- </etc/hostname"))
	assert.Regexp(t, `^secret:[0-9a-z]{20}$`, secret)
	out, err = w.try("exec", web, "-c", "main", "--", "/orcon/tools/secret-get", secret)
	assert.Error(t, err)
	assert.Contains(t, out, "ERROR not-yet: ")
	w.types(db.Name, "secret-grant "+secret+" -r "+main+" && /orcon/tools/relation-set -r "+main+" --app password="+secret)
	w.reads(secret, web, "/bindings/store/password")
	assert.Equal(t, db.Name, strings.TrimSpace(w.types(web, "secret-get "+secret+" password --format smart")))
	w.types(db.Name, "secret-set "+secret+" password=rotated")
	assert.Equal(t, db.Name, strings.TrimSpace(w.types(web, "secret-get "+secret+" password --format smart")), "it keeps to what it has")
	assert.Equal(t, "rotated", strings.TrimSpace(w.types(web, "secret-get "+secret+" password --format smart --refresh")))
	assert.Contains(t, w.types(db.Name, "secret-info-get "+secret), "scope: "+main)
	w.types(db.Name, "secret-revoke "+secret+" -r "+main)
	out, err = w.try("exec", web, "-c", "main", "--", "/orcon/tools/secret-get", secret)
	assert.Error(t, err)
	assert.Contains(t, out, "ERROR forbidden: ")

	t.Log("the leader goes, and the other unit leads at once")
	w.kubectl("delete", "pod", web, "--wait=false")
	w.eventually(func() string {
		if strings.TrimSpace(w.types(webs[1].Name, "is-leader")) == "True" {
			return ""
		}
		return "nobody leads"
	})
	for _, pod := range w.running("db", 1) {
		assert.Equal(t, db.UID, pod.UID, "the database was not restarted")
	}
}

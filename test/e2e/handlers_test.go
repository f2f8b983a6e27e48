package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// databaseHandlers are a small provider in plain shell: it notes what it hears,
// and its leader answers each question with a user of that name.
const databaseHandlers = `
apiVersion: v1
kind: ConfigMap
metadata: {name: db-handlers}
data:
  main-relation-changed: |
    #!/bin/sh
    set -eu
    echo "changed ${JUJU_REMOTE_UNIT:-$JUJU_REMOTE_APP}" >> /tmp/heard
    [ "$(is-leader)" = True ] || exit 0
    token=$(relation-get --app token "$JUJU_REMOTE_APP")
    [ -z "$token" ] || secret-get "$token" --label token > /tmp/token
    database=$(relation-get --app database "$JUJU_REMOTE_APP")
    [ -n "$database" ] || exit 0
    if [ "$database" = broken ] && [ ! -e /tmp/mended ]; then
      relation-set --app username=half
      status-set -r "$JUJU_RELATION_ID" --code NoRoom --resolution "make room" blocked "there is none for $database"
      echo "cannot make database $database" >&2
      exit 4
    fi
    if [ "$database" = slow ]; then
      relation-set --app username=half
      sleep 3
    fi
    relation-set --app username="user-$database" host=db
    status-set -r "$JUJU_RELATION_ID" active
  secret-changed: |
    #!/bin/sh
    echo "$(basename "$0") $JUJU_SECRET_LABEL $JUJU_SECRET_REVISION" >> /tmp/heard
    secret-get "$JUJU_SECRET_ID" --refresh > /tmp/token
  main-relation-created: |
    #!/bin/sh
    echo created >> /tmp/heard
  main-relation-joined: |
    #!/bin/sh
    echo "joined $JUJU_REMOTE_UNIT" >> /tmp/heard
  main-relation-departed: |
    #!/bin/sh
    echo "departed $JUJU_DEPARTING_UNIT" >> /tmp/heard
  main-relation-broken: |
    #!/bin/sh
    echo "broken final=$ORCON_FINAL" >> /tmp/heard
`

// handled is the pod of the database with these handlers.
const handled = `tengu.io/handlers: /handlers, injector.tengu.io/handler-image: "busybox:stable", injector.tengu.io/handler-volumes: "handlers=/handlers"`

// heard is what the handlers of a pod have noted.
func (w *world) heard(pod string) string {
	out, _ := w.try("exec", pod, "-c", "relation-handlers", "--", "cat", "/tmp/heard")
	return out
}

// handlersHearOfASecret has a shop give a database a secret by reference, and change it.
func (w *world) handlersHearOfASecret(shop, database string) {
	w.t.Helper()
	id := strings.TrimSpace(w.types(shop, "secret-add token=one"))
	w.types(shop, "secret-grant "+id+" -r $(/orcon/tools/relation-ids store)")
	w.types(shop, "relation-set -r $(/orcon/tools/relation-ids store) --app token="+id)
	token := []string{"exec", database, "-c", "relation-handlers", "--", "cat", "/tmp/token"}
	w.prints("token: one", token...)
	began := time.Now()
	w.types(shop, "secret-set "+id+" token=two")
	w.prints("token: two", token...)
	w.t.Logf("from the new secret to the handler that reads it, kubectl exec included: %s", time.Since(began).Round(time.Millisecond))
	assert.Contains(w.t, w.heard(database), "secret-changed token 2")
}

// farewellHandlers say at the end of their own unit what they hear of it.
const farewellHandlers = `
apiVersion: v1
kind: ConfigMap
metadata: {name: web-handlers}
data:
  store-relation-departed: |
    #!/bin/sh
    relation-set "departed=$JUJU_REMOTE_UNIT departing $JUJU_DEPARTING_UNIT"
  store-relation-broken: |
    #!/bin/sh
    relation-set "broken=final $ORCON_FINAL, $ORCON_REASON"
`

// A pod that ends is told so while its handlers can act, although its application ends
// at once: what they say is heard by the other side. A pod that is only made again under
// its name has no end (SAFETY.md E14, RELATIONS.md E3, E4).
func TestAUnitsOwnEnd(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	w.apply(farewellHandlers)
	handlers := `tengu.io/handlers: /handlers, injector.tengu.io/handler-image: "busybox:stable", injector.tengu.io/handler-volumes: "handlers=/handlers"`
	of := func(kind, name string) string {
		pod := workload{kind: kind, name: name, annotations: `tengu.io/consumes: "store:shopdb?", tengu.io/relations: db`, podAnnotations: handlers, script: "trap 'exit 0' TERM\nwhile :; do sleep 0.1; done", grace: 30}.yaml()
		return strings.Replace(pod, "restartPolicy: Always", "restartPolicy: Always\n      volumes: [{name: handlers, configMap: {name: web-handlers, defaultMode: 0755}}]", 1)
	}
	w.apply(workload{kind: "Deployment", name: "db", annotations: `tengu.io/provides: "main:shopdb"`, podAnnotations: withTools}.yaml())
	db := w.running("db", 1)[0]
	w.apply(of("Deployment", "web"))
	w.apply(of("StatefulSet", "log"))
	web, log := w.running("web", 1)[0], w.running("log", 1)[0]
	for _, pod := range []string{web.Name, log.Name} {
		w.contains("all events are handled", "exec", pod, "-c", "relation-agent", "--", "/relation-agent", "status")
	}
	said := func(application string) string {
		out, _ := w.try("exec", db.Name, "-c", "main", "--", "sh", "-c", `/orcon/tools/relation-ids main | while read id; do case "$(/orcon/tools/relation-list --app -r $id)" in `+application+`) /orcon/tools/relation-get -r $id - `+application+`/0;; esac; done`)
		return out
	}

	t.Logf("scaled to nothing, it was gone after %s", w.deletionBy(web, "scale", "deployment/web", "--replicas=0"))
	heard := time.Now()
	w.eventually(func() string {
		last := said("web")
		if strings.Contains(last, "departed: db/0 departing web/0") && strings.Contains(last, "broken: final false, ") {
			return ""
		}
		return "db hears only " + last
	})
	t.Logf("the other side hears all of it %s later", time.Since(heard).Round(time.Millisecond))
	t.Logf("only made again, it was gone after %s", w.deletion(log))
	w.eventually(func() string {
		if out := said("log"); strings.Contains(out, "ingress-address") {
			return ""
		}
		return "log/0 is not back"
	})
	assert.NotContains(t, said("log"), "departed")
}

// deletionBy has a kubectl command delete a pod, and returns how long that took.
func (w *world) deletionBy(pod corev1.Pod, command ...string) time.Duration {
	w.t.Helper()
	begin := time.Now()
	w.kubectl(command...)
	w.gone(pod)
	return time.Since(begin).Round(10 * time.Millisecond)
}

// Handlers in plain shell, in a container without privileges, answer a shop; a
// handler that fails has said nothing, is seen by people and is called again; that
// both pods are killed while a handler runs loses nothing (RELATIONS.md E1–E11, L3,
// SAFETY.md I17, I24, E14).
func TestHandlers(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	w.apply(databaseHandlers)
	database := workload{kind: "StatefulSet", name: "db", annotations: `tengu.io/provides: "main:shopdb"`, podAnnotations: handled}.yaml()
	w.apply(strings.Replace(database, "restartPolicy: Always", "restartPolicy: Always\n      volumes: [{name: handlers, configMap: {name: db-handlers, defaultMode: 0755}}]", 1))
	w.apply(workload{kind: "Deployment", name: "web", annotations: `tengu.io/consumes: "store:shopdb?", tengu.io/relations: db`, podAnnotations: withTools}.yaml())
	db, web := w.running("db", 1)[0], w.running("web", 1)[0]

	w.eventually(func() string {
		out := w.heard(db.Name)
		if out == "created\njoined web/0\nchanged web/0" {
			return ""
		}
		return "the handlers have heard " + out
	})
	w.types(web.Name, "relation-set -r $(/orcon/tools/relation-ids store) --app database=broken")
	w.eventually(func() string {
		if out := w.kubectl("exec", db.Name, "-c", "relation-agent", "--", "/relation-agent", "status"); strings.Contains(out, "exit code 4: cannot make database broken") {
			return ""
		}
		return "the failure is not told"
	})
	failing := []string{"get", "events", "--field-selector", "involvedObject.kind=Pod,reason=HandlerFailed", "-o", "jsonpath={.items[*].message}"}
	w.contains("db/0 has failed to handle main-relation-changed (web) since ", failing...)
	w.contains("exit code 4: cannot make database broken; it is retried, see kubectl -n "+w.namespace+" logs db-0", failing...)
	relation := func(of string) []string { return []string{"get", "relations", "-o", "jsonpath=" + of} }
	w.prints("error", relation("{.items[0].status.relationStatus}")...)
	w.prints("NoRoom there is none for broken; make room", relation(`{range .items[0].status.conditions[?(@.type=="ProviderStatus")]}{.reason} {.message}{end}`)...)
	assert.Empty(t, w.types(web.Name, "relation-get -r $(/orcon/tools/relation-ids store) --app username"), "what a failed handler said was never said")
	w.kubectl("exec", db.Name, "-c", "relation-handlers", "--", "touch", "/tmp/mended")
	began := time.Now()
	w.reads("user-broken", web.Name, "/bindings/store/username")
	t.Logf("called again, and answered, %s after the cause was mended", time.Since(began).Round(100*time.Millisecond))
	w.prints("joined", relation("{.items[0].status.relationStatus}")...)
	w.prints("Active", relation(`{.items[0].status.conditions[?(@.type=="ProviderStatus")].reason}`)...)
	w.prints("", relation(`{.items[0].status.conditions[?(@.type=="HandlerFailed")].message}`)...)

	began = time.Now()
	w.types(web.Name, "relation-set -r $(/orcon/tools/relation-ids store) --app database=orders")
	w.reads("user-orders", web.Name, "/bindings/store/username")
	t.Logf("from the question to the answer in the other pod, through a handler in shell: %s", time.Since(began).Round(time.Millisecond))

	w.handlersHearOfASecret(web.Name, db.Name)
	t.Log("both pods are killed while a handler runs")
	w.types(web.Name, "relation-set -r $(/orcon/tools/relation-ids store) --app database=slow")
	w.eventually(func() string {
		if out := w.kubectl("exec", db.Name, "-c", "relation-agent", "--", "/relation-agent", "status"); strings.Contains(out, "handling") {
			return ""
		}
		return "the handler does not run"
	})
	w.kubectl("delete", "pod", db.Name, web.Name, "--grace-period=0", "--force")
	began = time.Now()
	db, web = w.running("db", 1)[0], w.running("web", 1)[0]
	w.eventually(func() string {
		out, _ := w.try("exec", web.Name, "-c", "main", "--", "cat", "/bindings/store/username")
		require.NotEqual(t, "half", out, "RELATIONS.md E11")
		if out == "user-slow" {
			return ""
		}
		return "the shop reads " + out
	})
	t.Logf("both are back and the answer was there %s after that", time.Since(began).Round(100*time.Millisecond))
	w.contains("all events are handled", "exec", db.Name, "-c", "relation-agent", "--", "/relation-agent", "status")

	t.Log("the relation ends, for good")
	before := w.heard(db.Name)
	w.kubectl("delete", "relations", "--all", "--timeout=300s")
	w.eventually(func() string {
		out := strings.TrimPrefix(w.heard(db.Name), before+"\n")
		if strings.HasPrefix(out, "departed web/1\nbroken final=true") {
			return ""
		}
		return "after the end the handlers have heard " + out
	})
}

// A pod whose handlers cannot be found has an application that is not ready, with the reason;
// and what the reason asks for helps.
func TestHandlersThatAreNotThere(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	w.apply(external("db-endpoint", "db", "db.tengu.io"))
	const consumes, image = `tengu.io/consumes: db, tengu.io/relations: db-endpoint`, `injector.tengu.io/handler-image: "busybox:stable"`
	w.apply(workload{kind: "Deployment", name: "app", annotations: consumes, podAnnotations: `tengu.io/handlers: /nonesuch, ` + image}.yaml())
	const said = `jsonpath={.status.conditions[?(@.type=="AgentFailed")].message}`
	w.contains("cannot find the handlers: open /nonesuch: no such file or directory", "get", "relatedapplication", "app", "-o", said)
	w.contains("False", "get", "relatedapplication", "app", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)

	w.apply(workload{kind: "Deployment", name: "app", annotations: consumes, podAnnotations: `tengu.io/handlers: /bin, ` + image}.yaml())
	w.running("app", 1)
	w.prints("", "get", "relatedapplication", "app", "-o", said)
}

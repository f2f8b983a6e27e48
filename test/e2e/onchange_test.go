package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// hearsHTTP is a container that prints each event which it hears on its loopback.
const hearsHTTP = `mkdir -p /tmp/www/cgi-bin
printf '#!/bin/sh\n(head -c "$CONTENT_LENGTH"; echo) >> /tmp/heard\nprintf "Status: 204 No Content\\r\\n\\r\\n"\n' > /tmp/www/cgi-bin/changed
chmod +x /tmp/www/cgi-bin/changed
exec httpd -f -p 127.0.0.1:8080 -h /tmp/www`

// hearsSignals is a container that prints what its file holds, at first and each
// time that it is told to look again.
const hearsSignals = `look() { echo "reads $(cat /bindings/store/username 2>/dev/null || echo nothing)"; }
trap look HUP
look
while :; do sleep 1 & wait $! || true; done`

// A pod hears of events over HTTP, as one of a first join, and with what is new;
// another is told by a signal of its files; a third runs a command, without a shell
// that it did not ask for (SAFETY.md I24, RELATIONS.md E10, E12). None of them can write
// what is the agent's, nor look into its container (SAFETY.md I28, S4).
func TestOnChange(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	const consumes = `tengu.io/consumes: "store:shopdb?", tengu.io/relations: db`
	w.apply(workload{kind: "Deployment", name: "db", annotations: `tengu.io/provides: "main:shopdb"`, script: hearsHTTP, podAnnotations: withTools + `, tengu.io/batch: "true", tengu.io/on-change: "http::8080/cgi-bin/changed"`}.yaml())
	db := w.running("db", 1)[0]
	web := workload{kind: "Deployment", name: "web", annotations: consumes, script: hearsSignals, podAnnotations: withTools + `, tengu.io/on-change: "signal:SIGHUP"`}.yaml()
	w.apply(strings.Replace(web, "restartPolicy: Always", "restartPolicy: Always\n      shareProcessNamespace: true\n      securityContext: {runAsUser: 1000}", 1))
	w.apply(workload{kind: "Deployment", name: "log", annotations: consumes, podAnnotations: `injector.tengu.io/handler-image: "busybox:stable", tengu.io/on-change: 'exec:["sh", "-c", "echo $0 $JUJU_HOOK_NAME >> /tmp/heard", "heard"]'`}.yaml())
	shop := w.running("web", 1)[0].Name

	heard := func() string { out, _ := w.try("exec", db.Name, "-c", "main", "--", "cat", "/tmp/heard"); return out }
	w.eventually(func() string {
		if out := heard(); strings.Contains(out, `"hook":"main-relation-joined"`) && strings.Contains(out, `"joinedUnits":["web/0"]`) {
			return ""
		}
		return "the database has heard " + heard()
	})
	began := time.Now()
	w.types(shop, "relation-set -r $(/orcon/tools/relation-ids store) --app database=orders")
	w.eventually(func() string {
		if strings.Contains(heard(), `"remoteApplication":"web","difference":{"added":["database"]`) {
			return ""
		}
		return "the database has heard " + heard()
	})
	t.Logf("from the question to the POST in the other pod: %s", time.Since(began).Round(time.Millisecond))
	assert.NotContains(t, heard(), "orders", "keys, never values")
	assert.Equal(t, 1, strings.Count(heard(), `"added":["database"]`), "what was answered is not told again")

	began = time.Now()
	w.types(db.Name, "relation-set -r $(/orcon/tools/relation-ids main | head -n 1) --app username=me")
	w.contains("reads me", "logs", shop, "-c", "main")
	t.Logf("from the answer to the signal: %s", time.Since(began).Round(time.Millisecond))
	assert.Equal(t, 1, strings.Count(w.log(shop, "main"), "reads me"), "once for a change")
	w.contains("HUP, sent to 1 containers", "exec", shop, "-c", "relation-agent", "--", "/relation-agent", "status")
	w.eventually(func() string {
		if out := w.heard(w.running("log", 1)[0].Name); strings.Contains(out, "heard store-relation-created") {
			return ""
		}
		return "the command has not run"
	})

	t.Log("what is the agent's stays so, also where processes and user are shared")
	for _, folder := range []string{"/bindings", "/bindings/store", "/orcon/tools", "/orcon/socket"} {
		out, err := w.try("exec", shop, "-c", "main", "--", "touch", folder+"/x")
		assert.Error(t, err, folder)
		assert.Contains(t, out, "Read-only file system", folder)
	}
	assert.Equal(t, "agent.sock", w.sh(shop, "ls -A /orcon/socket"), "a socket of its own")
	assert.Contains(t, w.sh(shop, "ps"), "/relation-agent", "its processes are seen")
	assert.Empty(t, w.sh(shop, "cd /proc; its=root; for p in [0-9]*; do cat $p/$its/orcon/identity/token $p/environ; done 2>/dev/null | tr '\\0' '\\n' | grep -E '^(ey|ORCON_)' || true"), "and not looked into")
}

// A port that nothing listens on yet is no silence: the agent's status and an Event on the
// pod name it and what waits, until a server listens. kubectl needs no -c for the
// author's container.
func TestOnChangeToAPortThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	w.apply(external("db-endpoint", "db", "db.example.org"))
	w.apply(workload{kind: "Deployment", name: "shop", annotations: consumesDB, script: "mkdir -p /tmp; echo started; while :; do [ -e /tmp/go ] && exec httpd -f -p 8080 -h /tmp; sleep 1; done",
		podAnnotations: `tengu.io/on-change: "http::8080/changed"`}.yaml())
	pod := w.running("shop", 1)[0]
	status := []string{"exec", pod.Name, "-c", "relation-agent", "--", "/relation-agent", "status"}
	const refused = "http://localhost:8080/changed: connection refused"
	const waits = "waiting for port 8080 of this pod to answer " + refused + "; "
	w.contains(waits, "get", "events", "--field-selector", "reason=HandlerWaiting,involvedObject.name="+pod.Name, "-o", "jsonpath={.items[*].message}")
	reported := w.kubectl("get", "relatedapplication", "shop", "-o", "yaml")
	if said := w.kubectl(status...); strings.Contains(said, waits) {
		assert.NotContains(t, reported, "HandlerFailed")
	} else { // a loaded machine may look later than in the minute for which the port is waited for
		assert.Contains(t, said, "cannot POST to "+refused)
	}
	assert.Equal(t, "started", w.kubectl("logs", pod.Name))
	w.kubectl("exec", pod.Name, "--", "touch", "/tmp/go")
	w.contains("cannot POST to http://localhost:8080/changed: the answer is ", status...)
	w.noEventTwice()
}

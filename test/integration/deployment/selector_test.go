package deployment

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// INJECTION.md I5, with no webhook anywhere: only a pod that declares something,
// in a namespace that opted in, is held back by Orcon's absence.
func TestOutageStopsOnlyWhoOptedIn(t *testing.T) {
	s := newShell(t)
	s.unhook()
	for _, name := range []string{"shop", "orcon-system", "kube-public"} {
		s.namespace(name, "tengu-injector=enabled")
	}
	s.namespace("elsewhere")
	s.run("kubectl kustomize deployment/selfsigned | awk 'BEGIN{RS=\"---\\n\"} /MutatingWebhookConfiguration/' | kubectl apply -f -")
	// The API server takes a moment to hear of it.
	s.eventually("! " + pod("shop", "tengu.io/consumes: sse", ""))

	tests := map[string]struct {
		why  string
		line string
		held bool
	}{
		"Declares":      {why: "without the agent it would start without its data", line: pod("shop", "tengu.io/consumes: sse", ""), held: true},
		"Peers":         {why: "peers are a declaration too", line: pod("shop", "tengu.io/peers: 'a:b'", ""), held: true},
		"OnChange":      {why: "a provider that hears of events", line: pod("shop", "tengu.io/on-change: 'http::80/x'", ""), held: true},
		"OnChangeFiles": {why: "nothing of the pod's own", line: pod("shop", "tengu.io/on-change: files", "")},
		"Nothing":       {why: "only declaring pods are sent at all", line: pod("shop", "a: b", "")},
		"NotOptedIn":    {why: "the namespace decides", line: pod("elsewhere", "tengu.io/consumes: sse", "")},
		"OptedOut":      {why: "the label is the object selector's", line: pod("shop", "tengu.io/consumes: sse", "injector.tengu.io/inject: 'false'")},
		"OptedOutByKey": {why: "the annotation is the match condition's", line: pod("shop", "tengu.io/consumes: sse, injector.tengu.io/inject: 'false'", "")},
		"OrconItself":   {why: "or it could never start again", line: pod("orcon-system", "tengu.io/consumes: sse", "")},
		"System":        {why: "also with the label", line: pod("kube-public", "tengu.io/consumes: sse", "")},
		"Declaration":   {why: "INJECTION.md I30: judging may be missed", line: "kubectl create --dry-run=server service clusterip x --tcp=80 -n shop"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			out, err := s.try(tc.line)
			if tc.held {
				assert.Error(t, err, tc.why)
				assert.Contains(t, out, "pods.relations.tengu.io", tc.why)
				return
			}
			assert.NoError(t, err, "%s\n%s", tc.why, out)
		})
	}
}

// pod is a command line that creates a pod, and leaves none.
func pod(namespace, annotations, labels string) string {
	return `printf "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: ` + namespace + `, annotations: {` + annotations + `}, labels: {` + labels + `}}\nspec: {automountServiceAccountToken: false, containers: [{name: c, image: i, securityContext: {allowPrivilegeEscalation: false, runAsNonRoot: true, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}}]}\n" | kubectl create --dry-run=server -f -`
}

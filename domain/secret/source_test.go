package secret_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

const account = "orcon-system:relations-controller"

// A Secret is granted only by its own consent, tokens never are, and each refusal
// says the command that consents (SAFETY.md S1).
func TestASecretConsentsItself(t *testing.T) {
	source := func(change func(*secret.Source)) secret.Source {
		s := secret.Source{Namespace: "data", Name: "db-admin", Sight: secret.Open, Type: "Opaque", GrantTo: "main", Version: "7"}
		change(&s)
		return s
	}
	kind := func(k string) secret.Source { return source(func(s *secret.Source) { s.Type = k }) }
	grantTo := func(text string) secret.Source { return source(func(s *secret.Source) { s.GrantTo = text }) }
	tests := map[string]struct {
		why    string
		in     secret.Source
		reason string
		cure   string
	}{
		"Consents": {why: "its annotation names the endpoint", in: grantTo("main")},
		"Several":  {why: "a list, with spaces", in: grantTo("other, main")},
		"Exact":    {why: "of one application", in: grantTo("db:main")},
		"Untyped":  {why: "older objects say nothing", in: kind("")},
		"Basic":    {why: "user and password", in: kind("kubernetes.io/basic-auth")},
		"TLS":      {why: "is for applications", in: kind("kubernetes.io/tls")},
		"SSH":      {why: "is for applications", in: kind("kubernetes.io/ssh-auth")},
		"Binding":  {why: "what other operators make is theirs to consent", in: kind("servicebinding.io/postgresql")},
		"Silent": {why: "nobody's Secret is taken", in: grantTo(""), reason: secret.ReasonNoConsent,
			cure: "kubectl annotate secret db-admin -n data --overwrite tengu.io/grant-to=main"},
		"ToAnother":     {why: "and keeps what it consents to", in: grantTo("admin"), reason: secret.ReasonNoConsent, cure: "--overwrite tengu.io/grant-to=admin,main"},
		"OfAnother":     {why: "the application is another", in: grantTo("cache:main"), reason: secret.ReasonNoConsent, cure: "tengu.io/grant-to=cache:main,main"},
		"Prefix":        {why: "names are whole", in: grantTo("mainframe"), reason: secret.ReasonNoConsent},
		"Star":          {why: "there is no word for all", in: grantTo("*, $(reboot)"), reason: secret.ReasonNoConsent, cure: "tengu.io/grant-to=main"},
		"AccountToken":  {why: "SAFETY.md S1", in: kind("kubernetes.io/service-account-token"), reason: secret.ReasonNever},
		"BootstrapNode": {why: "adds nodes", in: kind("bootstrap.kubernetes.io/token"), reason: secret.ReasonNever},
		"DockerCfg":     {why: "holds account tokens on some platforms", in: kind("kubernetes.io/dockercfg"), reason: secret.ReasonNever},
		"DockerConfig":  {why: "pulls images, for nodes", in: kind("kubernetes.io/dockerconfigjson"), reason: secret.ReasonNever},
		"Helm":          {why: "holds all of an installation's values", in: kind("helm.sh/release.v1"), reason: secret.ReasonNever},
		"Future":        {why: "what Kubernetes invents next", in: kind("node.kubernetes.io/key"), reason: secret.ReasonNever},
		"Units":         {why: "holds the secrets of all units", in: source(func(s *secret.Source) { s.Name = "orcon-secrets-3" }), reason: secret.ReasonNever, cure: "name another"},
		"Authority":     {why: "signs Orcon's certificates", in: source(func(s *secret.Source) { s.Name = "orcon-ca" }), reason: secret.ReasonNever},
		"Webhook":       {why: "serves as Orcon's webhook", in: source(func(s *secret.Source) { s.Name = "orcon-webhook-tls" }), reason: secret.ReasonNever},
		"Missing":       {why: "a typing error", in: source(func(s *secret.Source) { s.Sight = secret.Missing }), reason: secret.ReasonNoSecret, cure: "create it"},
		"Closed": {why: "nobody has opened the namespace", in: source(func(s *secret.Source) { s.Sight = secret.Closed }), reason: secret.ReasonNoPermission,
			cure: "kubectl create rolebinding orcon-granted-secrets --clusterrole=orcon-granted-secrets --serviceaccount=orcon-system:relations-controller -n data"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			reason, message := test.in.Refusal("db", "main", account)
			assert.Equal(t, test.reason, reason, test.why)
			assert.Contains(t, message, test.cure, test.why)
			assert.Equal(t, reason == "", message == "")
		})
	}
}

// Whatever a list holds, it consents to what one of its entries names and to nothing
// else (SAFETY.md S1).
func TestConsentIsByName(t *testing.T) {
	names := rapid.SampledFrom([]string{"main", "db", "admin", "mainframe", "", "*"})
	rapid.Check(t, func(t *rapid.T) {
		application, endpoint := names.Draw(t, "application"), names.Draw(t, "endpoint")
		var entries []string
		want := false
		for range rapid.IntRange(0, 4).Draw(t, "entries") {
			of, to := names.Draw(t, "of"), names.Draw(t, "to")
			entry, named := to, endpoint != "" && to == endpoint
			if rapid.Bool().Draw(t, "exact") {
				entry, named = of+":"+to, named && of == application
			}
			entries, want = append(entries, rapid.SampledFrom([]string{"", " "}).Draw(t, "space")+entry), want || named
		}
		if got := secret.Consents(strings.Join(entries, ","), application, endpoint); got != want {
			t.Fatalf("%q consents to %s:%s: %t", entries, application, endpoint, got)
		}
	})
}

func FuzzConsents(f *testing.F) {
	f.Add("main, db:admin", "db", "admin")
	f.Add(",:,", "", "")
	f.Fuzz(func(t *testing.T, text, application, endpoint string) {
		if secret.Consents(text, application, endpoint) {
			require.NotEmpty(t, endpoint)
			require.Contains(t, text, endpoint, "consent is written")
		}
		if !strings.ContainsAny(endpoint, ", \t\r\n\v\f\u0085\u00a0") && endpoint != "" && strings.TrimSpace(endpoint) == endpoint {
			require.True(t, secret.Consents(text+","+endpoint, application, endpoint), "what is added counts")
		}
	})
}

// What an endpoint grants has one name that tells nothing and no other has.
func TestGrantedID(t *testing.T) {
	id := secret.GrantedID("data", "db", "main")
	assert.True(t, secret.ValidID(id))
	assert.Equal(t, id, secret.GrantedID("data", "db", "main"))
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"", "a", "b", "ab", "ba"})
		draw := func(label string) [3]string {
			return [3]string{word.Draw(t, label), word.Draw(t, label), word.Draw(t, label)}
		}
		one, other := draw("one"), draw("other")
		if same := secret.GrantedID(one[0], one[1], one[2]) == secret.GrantedID(other[0], other[1], other[2]); same != (one == other) {
			t.Fatalf("%q and %q", one, other)
		}
	})
}

package injection_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

func names(variables []injection.Variable) []string {
	var out []string
	for _, v := range variables {
		out = append(out, v.Name)
	}
	return out
}

// library are the fields of the interfaces that ship with Orcon.
func library(t *testing.T) injection.Fields {
	t.Helper()
	all, err := schema.Library()
	require.NoError(t, err)
	return schema.NewCatalog(all...).Fields
}

// SAFETY.md P7, P8, P9.
func TestVariables(t *testing.T) {
	tests := map[string]struct {
		why      string
		consumes string
		fields   injection.Fields
		env      map[string][]string
		want     []string
		refused  []string
		warned   []string
	}{
		"Prototype": {
			why:      "the prototype's short form gives its variables and the derived ones",
			consumes: "sse,db",
			want:     []string{"SSE", "SSE_HOST", "SSE_PORT", "SSE_PORTS", "SSE_URL", "DB", "DB_HOST", "DB_PORT", "DB_PORTS", "DB_URL"},
		},
		"InterfaceNamesTheWholeValue": {
			why:      "the whole-value variable has the interface's name, the others the endpoint's",
			consumes: "db:postgresql@1?!2",
			want:     []string{"POSTGRESQL", "DB_HOST", "DB_PORT", "DB_PORTS", "DB_URL"},
		},
		"Asked": {
			why: "P7: the consumer names further keys", consumes: "db", env: map[string][]string{"db": {"user.name", "host"}},
			want: []string{"DB", "DB_HOST", "DB_PORT", "DB_PORTS", "DB_URL", "DB_USER_NAME"},
		},
		"TwoEndpointsOfOneInterface": {
			why: "P9: which of the two would be POSTGRESQL? neither; the rest works", consumes: "main:postgresql,replica:postgresql",
			want:   []string{"MAIN_HOST", "MAIN_PORT", "MAIN_PORTS", "MAIN_URL", "REPLICA_HOST", "REPLICA_PORT", "REPLICA_PORTS", "REPLICA_URL"},
			warned: []string{"POSTGRESQL"},
		},
		"TwoKeysOfOneName": {
			why: "P9: asked for, so refused, both named", consumes: "db", env: map[string][]string{"db": {"a-b", "a.b"}},
			want: []string{"DB", "DB_HOST", "DB_PORT", "DB_PORTS", "DB_URL"}, refused: []string{"DB_A_B"},
		},
		"KeyAcrossEndpoints": {
			why: "P9: endpoint a with key b_host is endpoint a-b with key host", consumes: "a,a-b", env: map[string][]string{"a": {"b_host"}},
			want: []string{"A", "A_HOST", "A_PORT", "A_PORTS", "A_URL", "A_B", "A_B_PORT", "A_B_PORTS", "A_B_URL"}, refused: []string{"A_B_HOST"},
		},
		"LoaderAsked": {
			why: "P8: declared, so refused", consumes: "ld:x", env: map[string][]string{"ld": {"preload"}},
			want: []string{"X"}, refused: []string{"LD_PRELOAD"}, warned: []string{"LD_HOST", "LD_PORT", "LD_PORTS", "LD_URL"},
		},
		"ProxyInterface": {
			why: "P8: an interface may be called http_proxy; its variable is left out and its files are there", consumes: "web:http_proxy",
			want: []string{"WEB_HOST", "WEB_PORT", "WEB_PORTS", "WEB_URL"}, warned: []string{"HTTP_PROXY"},
		},
		"Fields": {
			why: "P7: what the interface has, but for secrets", consumes: "main:db,store:unknown", fields: library(t),
			want: []string{"DB", "MAIN_HOST", "MAIN_PORT", "MAIN_PORTS", "MAIN_URL", "MAIN_DATABASE", "MAIN_USERNAME", "UNKNOWN", "STORE_HOST", "STORE_PORT", "STORE_PORTS", "STORE_URL"},
		},
		"SecretField": {
			why: "P7: a secret only if it is asked for", consumes: "main:db", fields: library(t), env: map[string][]string{"main": {"password", "username"}},
			want: []string{"DB", "MAIN_HOST", "MAIN_PORT", "MAIN_PORTS", "MAIN_URL", "MAIN_DATABASE", "MAIN_USERNAME", "MAIN_PASSWORD"},
		},
		"FieldOfTheLoader": {
			why: "P8: an interface of somebody's names a field by which a process is steered", consumes: "ld:x", fields: func(application.Endpoint) []string { return []string{"preload"} },
			want: []string{"X"}, warned: []string{"LD_HOST", "LD_PORT", "LD_PORTS", "LD_URL", "LD_PRELOAD"},
		},
		"OthersAreNotAnswered": {
			why: "what is asked of an endpoint that is not consumed is a problem elsewhere", consumes: "db", env: map[string][]string{"other": {"x"}},
			want: []string{"DB", "DB_HOST", "DB_PORT", "DB_PORTS", "DB_URL"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			consumes, problems := application.ParseConsumes(tc.consumes)
			require.Empty(t, problems)
			got, problems := injection.Variables(consumes, tc.fields.Of(consumes), tc.env)
			var refused, warned []string
			for _, p := range problems {
				if p.Warning {
					warned = append(warned, p.Entry)
				} else {
					refused = append(refused, p.Entry)
					assert.Equal(t, application.KeyEnv, p.Key)
				}
			}
			assert.Equal(t, tc.want, names(got), tc.why)
			assert.Equal(t, tc.refused, refused, tc.why)
			assert.Equal(t, tc.warned, warned, tc.why)
		})
	}
}

// An interface with very many fields makes no pod larger than tengu.io/env could.
func TestFieldsAreBounded(t *testing.T) {
	many := injection.Fields(func(application.Endpoint) []string { return slices.Repeat([]string{"key", "host"}, 1000) })
	got := many.Of([]application.Endpoint{{Name: "a"}, {Name: "b"}})
	assert.Equal(t, map[string][]string{"a": slices.Repeat([]string{"key"}, application.MaxEntries), "b": slices.Repeat([]string{"key"}, application.MaxEntries)}, got)
}

// SAFETY.md P8: none of the names that steer a process is ever a variable,
// however a declaration spells it.
func TestVariablesNeverSteerTheProcess(t *testing.T) {
	hostile := []string{
		"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "GCONV_PATH", "GLIBC_TUNABLES", "HOSTALIASES", "LOCALDOMAIN", "RES_OPTIONS", "MALLOC_CONF",
		"PATH", "IFS", "ENV", "SHELL", "BASH_ENV", "BASH_FUNC_X", "PS4", "PROMPT_COMMAND", "SHELLOPTS", "BASHOPTS", "CDPATH", "ZDOTDIR", "HOME", "TMPDIR", "EDITOR", "PAGER", "LESSOPEN",
		"PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "PYTHONINSPECT", "PERL5LIB", "PERL5OPT", "PERL5DB", "RUBYOPT", "RUBYLIB", "NODE_OPTIONS", "NODE_PATH", "NODE_EXTRA_CA_CERTS",
		"NPM_CONFIG_REGISTRY", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "JAVA_HOME", "CLASSPATH", "KAFKA_OPTS", "ES_JAVA_OPTS", "GODEBUG", "GOFLAGS", "GOPROXY", "GOTRACEBACK",
		"DOTNET_STARTUP_HOOKS", "CORECLR_PROFILER", "CORECLR_ENABLE_PROFILING", "PHPRC", "PHP_INI_SCAN_DIR", "LUA_INIT", "LUA_PATH", "ERL_FLAGS", "CARGO_HOME", "RUSTC_WRAPPER", "GEM_PATH", "BUNDLE_GEMFILE", "PIP_INDEX_URL",
		"PERLLIB", "PERLDB_OPTS", "JULIA_LOAD_PATH", "JULIA_DEPOT_PATH", "OCAMLRUNPARAM", "GHCRTS", "JYTHONPATH", "JRUBY_OPTS", "R_LIBS_SITE",
		"MONO_PATH", "MONO_ENV_OPTIONS", "ASPNETCORE_HOSTINGSTARTUPASSEMBLIES",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "FTP_PROXY", "SOCKS_PROXY", "GRPC_PROXY",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE", "OPENSSL_CONF", "OPENSSL_MODULES", "SSLKEYLOGFILE",
		"GIT_SSH", "GIT_SSH_COMMAND", "GIT_PROXY_COMMAND", "GIT_EXEC_PATH", "GIT_CONFIG_GLOBAL", "GIT_ASKPASS", "SSH_ASKPASS", "SSH_AUTH_SOCK", "SVN_SSH",
		"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "KUBERNETES_PORT", "KUBERNETES_PORT_443_TCP_ADDR", "KUBECONFIG", "DOCKER_HOST", "TERMINFO", "KRB5_CONFIG", "SERVICE_BINDING_ROOT", "JUJU_RELATION", "JUJU_UNIT_NAME", "ORCON_ADDRESS", "ORCON_TRUST",
	}
	require.GreaterOrEqual(t, len(hostile), 100)
	for _, name := range hostile {
		lower := strings.ToLower(name)
		asked := map[string][]string{}
		consumes := []application.Endpoint{{Name: "whole", Interface: lower, Role: application.Requirer}}
		for i := range lower {
			if lower[i] == '_' && i > 0 {
				endpoint, key := lower[:i], lower[i+1:]
				consumes = append(consumes, application.Endpoint{Name: endpoint, Interface: "other", Role: application.Requirer})
				asked[endpoint] = append(asked[endpoint], key, strings.ToUpper(key), strings.ReplaceAll(key, "_", "."))
			}
		}
		for _, e := range consumes {
			got, _ := injection.Variables([]application.Endpoint{e}, nil, asked)
			assert.NotContains(t, names(got), name)
		}
		got, _ := injection.Variables(consumes, nil, asked)
		assert.NotContains(t, names(got), name)
	}
}

// SAFETY.md P9: whatever is declared, names fit, are unique and come in one
// order.
func TestVariablesProperty(t *testing.T) {
	fits := regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z][a-z0-9_-]{0,4}[a-z0-9](,[a-z][a-z0-9_-]{0,4}[a-z0-9]){0,5}`).Draw(t, "consumes")
		consumes, _ := application.ParseConsumes(text)
		env := map[string][]string{}
		for _, e := range consumes {
			env[e.Name] = rapid.SliceOfN(rapid.String(), 0, 4).Draw(t, "keys")
		}
		got, problems := injection.Variables(consumes, nil, env)
		again, _ := injection.Variables(consumes, nil, env)
		require.Equal(t, got, again)
		seen := map[string]bool{}
		for _, v := range got {
			require.Regexp(t, fits, v.Name)
			require.False(t, seen[v.Name], v.Name)
			seen[v.Name] = true
		}
		for _, p := range problems {
			require.False(t, seen[p.Entry], p.Entry)
		}
	})
}

// SAFETY.md P9: what the kubelet's reader of the file would mangle or refuse
// is in the files only.
func TestEnvValue(t *testing.T) {
	tests := map[string]struct {
		why   string
		value string
		want  bool
	}{
		"Text":           {why: "the common case", value: `{"a": "b"} $x \n`, want: true},
		"Lines":          {why: "new lines are kept within quotes", value: "a\nb\n", want: true},
		"Longest":        {why: "the limit itself", value: strings.Repeat("x", injection.MaxEnvValue), want: true},
		"TooLong":        {why: "a process's environment is bounded", value: strings.Repeat("x", injection.MaxEnvValue+1)},
		"Empty":          {why: "the kubelet takes it for a missing key"},
		"Quote":          {why: "there is no way to escape it", value: "it's"},
		"NUL":            {why: "ends the text in C", value: "a\x00b"},
		"CarriageReturn": {why: "the kubelet's line reader drops it", value: "a\r\nb"},
		"NotUTF8":        {why: "the container runtime's message is UTF-8", value: "\xff"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			reason, ok := injection.EnvValue(tc.value)
			assert.Equal(t, tc.want, ok, tc.why)
			assert.Equal(t, ok, reason == "", tc.why)
		})
	}
}

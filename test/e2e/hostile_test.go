package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hostileKeys are keys that a provider may write to reach what it may not
// touch: variables that steer programs (SAFETY.md P8), names that are none
// (P9), paths out of the folder (W1), and Orcon's own (W1).
func hostileKeys() []string {
	keys := strings.Fields(`
PATH LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES GCONV_PATH LOCPATH RES_OPTIONS HOSTALIASES MALLOC_CHECK_ GLIBC_TUNABLES
BASH_ENV ENV IFS PS4 PROMPT_COMMAND SHELLOPTS BASHOPTS CDPATH HOME USER PWD TMPDIR EDITOR PAGER BROWSER HOSTNAME
PYTHONPATH PYTHONSTARTUP PYTHONHOME PERL5LIB PERL5OPT RUBYOPT RUBYLIB NODE_OPTIONS NODE_PATH JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH
DOTNET_STARTUP_HOOKS CORECLR_PROFILER GODEBUG GOFLAGS GOPROXY PHPRC PHP_INI_SCAN_DIR LUA_INIT R_PROFILE ERL_FLAGS RUSTC_WRAPPER
http_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY FTP_PROXY SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE REQUESTS_CA_BUNDLE SSLKEYLOGFILE OPENSSL_CONF NODE_EXTRA_CA_CERTS
GIT_SSH GIT_SSH_COMMAND GIT_EXEC_PATH GIT_CONFIG_GLOBAL GIT_ASKPASS KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT KUBECONFIG DOCKER_HOST
SERVICE_BINDING_ROOT ORCON_ADDRESS ORCON_TRUST ORCON_CONSUMES JUJU_UNIT_NAME POD_UID
.. ... .hidden ..data ..2026 -rf _x ../escape ../../orcon/run/env /etc/passwd a/b a\b "a b" type provider
`)
	keys = append(keys, "a\nb", "with\ttab", "ключ", "a=b", "a'b", `a"b`, "$(id)", "`id`", "%s%n", "a;b", "*", "?", "~root", "nul\x01", strings.Repeat("k", 253), "host'")
	return keys
}

// A hundred and more hostile keys, endpoints and names: none becomes a variable,
// none leaves the folder of its relation, and the container starts (SAFETY.md
// P7, P8, P9, W1).
func TestHostile(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	keys := hostileKeys()
	require.GreaterOrEqual(t, len(keys), 100)
	bag := map[string]string{"user": "me"}
	for _, key := range keys {
		bag[key] = "hostile-value"
	}
	bag["quoted"], bag["multiline"] = "it's", "one\nDB_PORT=hostile-value\ntwo"
	data, err := yaml.Marshal(bag)
	require.NoError(t, err)
	w.apply(external("db-endpoint", "db", "db.tengu.io"))
	w.apply(external("path-endpoint", "path", "hostile-value"))
	w.kubectl("annotate", "service", "db-endpoint", "data.tengu.io/db="+string(data))
	const consumes = `tengu.io/consumes: "db,path,http:path,ld:path", tengu.io/relations: "db=db-endpoint,path=path-endpoint,http=path-endpoint,ld=path-endpoint"`
	w.apply(workload{kind: "Pod", name: "app", annotations: consumes + `, tengu.io/env: "db=user,quoted,multiline"`, env: `{name: OWN, value: mine}`}.yaml())
	pod := w.running("app", 1)[0]
	require.Zero(t, mainStatus(&pod).RestartCount)

	env := w.sh(pod.Name, `env -0 | tr '\n\0' '\t\n'`)
	for line := range strings.SplitSeq(env, "\n") {
		name, value, _ := strings.Cut(line, "=")
		if strings.Contains(value, "hostile-value") {
			// The host of path-endpoint is a host like any other, under names
			// that the consumer chose.
			assert.Contains(t, []string{"PATH_HOST", "HTTP_HOST", "DB_MULTILINE"}, name, "SAFETY.md P7, P8: %s", line)
		}
	}
	assert.Contains(t, env, "DB_USER=me", "what was asked for is there")
	assert.Contains(t, env, "OWN=mine")
	assert.NotContains(t, env, "DB_QUOTED", "a quote is for files only (SAFETY.md P9)")
	assert.Contains(t, env, "DB_MULTILINE=one\tDB_PORT=hostile-value\ttwo", "a value of several lines is one value")
	assert.NotContains(t, env, "LD_HOST", "refused even where the consumer's own name asks for it (SAFETY.md P8)")
	assert.Contains(t, env, "PATH=/bin\n", "two interfaces of that name, and a refused one: untouched (SAFETY.md P8, P9)")
	w.assertFiles(pod.Name, bag)
}

// assertFiles looks at every file that the container can see of its bindings.
func (w *world) assertFiles(pod string, bag map[string]string) {
	w.t.Helper()
	t := w.t
	assert.Equal(t, "it's", w.sh(pod, "cat /bindings/db/quoted"))
	assert.Equal(t, "db db-endpoint", w.sh(pod, "echo $(cat /bindings/db/type) $(cat /bindings/db/provider)"), "type and provider are Orcon's (SAFETY.md W1)")
	assert.Empty(t, w.sh(pod, "find / -xdev -name 'escape*' 2>/dev/null; ls -d /orcon /etc/passwd 2>/dev/null || true"), "nothing outside the folder")
	assert.Equal(t, "hostile-value", w.sh(pod, "cat /bindings/db/"+strings.Repeat("k", 253)))
	assert.Equal(t, "hostile-value", w.sh(pod, "cat /bindings/db/LD_PRELOAD"), "as a file it harms nobody")
	assert.Empty(t, w.sh(pod, "touch /bindings/x /bindings/db/x 2>/dev/null || true; ls -A /bindings | grep x || true"), "containers cannot write there (SAFETY.md I28)")
	for name := range strings.SplitSeq(w.sh(pod, "ls -A /bindings/db"), "\n") {
		if strings.HasPrefix(name, "..") {
			continue // the version's own folder and the link to it
		}
		assert.Regexp(t, `^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$`, name, "SAFETY.md W1")
		_, given := bag[name]
		assert.True(t, given || name == "type" || name == "provider" || name == "host", "nobody gave %q", name)
	}
	const links = `for f in $(find /bindings -type l); do readlink -f $f; done | grep -v ^/bindings/ || true`
	assert.Empty(t, w.sh(pod, links), "no link leads out")
	w.contains("EnvRefused", "get", "relatedapplication", "app", "-o", "jsonpath={.status.conditions[*].type}")
}

// Names that are no names are refused where they are written, and leave nothing
// (SAFETY.md P9, W1, I27).
func TestHostileNames(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	names := []string{"..", "../db", "/etc", "db/..", "DB", "db.x", "-db", "db-", "db_", "juju", "juju-info", "a b", "дб", "$(id)", "`id`", "db'", "%2e%2e", strings.Repeat("d", 64), "1db", ".db"}
	for _, name := range names {
		for _, key := range []string{"tengu.io/consumes", "tengu.io/env"} {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: w.namespace, Name: "app",
					Annotations: map[string]string{"tengu.io/consumes": "db", "tengu.io/relations": "db-endpoint", key: name},
				},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox:stable"}}},
			}
			err := w.objects.Create(t.Context(), pod, client.DryRunAll)
			require.ErrorContains(t, err, key, "%q must be refused, and the refusal names the field", name)
		}
	}
}

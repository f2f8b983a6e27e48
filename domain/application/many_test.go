package application_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// Webhooks get objects before the API server has judged them, of up to 3 MiB. Whatever one person writes there, what is
// read and reported of it is bounded: else it takes the webhook from all others (TRUST.md, Bounds).
func TestDeclarationsOfAnyLength(t *testing.T) {
	const many = 100_000
	numbered := func(format, separator string) string {
		var all []string
		for i := range many {
			all = append(all, fmt.Sprintf(format, i))
		}
		return strings.Join(all, separator)
	}
	keys := func(format string) map[string]string {
		all := map[string]string{}
		for i := range many {
			all[fmt.Sprintf(format, i)] = "a: b"
		}
		return all
	}
	tests := map[string]struct {
		why                 string
		labels, annotations map[string]string
	}{
		"Env":           {why: "each entry is wrong", annotations: map[string]string{application.KeyEnv: numbered("c%d", ";")}},
		"EnvLines":      {why: "each entry is right", annotations: map[string]string{application.KeyEnv: numbered("c%d=k", "\n")}},
		"EnvKeys":       {why: "a list of keys", annotations: map[string]string{application.KeyEnv: "db=" + numbered("k%d", ",")}},
		"Consumes":      {why: "a list of endpoints", annotations: map[string]string{application.KeyConsumes: numbered("c%d", ",")}},
		"Relations":     {why: "a list of references", annotations: map[string]string{application.KeyRelations: numbered("c%d", ",")}},
		"UnknownKeys":   {why: "each is a warning with what it may mean", annotations: keys("tengu.io/consume%d")},
		"UnknownLabels": {why: "the same", labels: keys("tengu.io/consume%d")},
		"Data":          {why: "data of endpoints that nobody declares", annotations: keys("data.tengu.io/c%d")},
		"Pairs":         {why: "each pair is wrong", annotations: map[string]string{application.PrefixData + "db": strings.Repeat("a: []\n", 40_000)}},
		"Secrets":       {why: "Secrets of such", annotations: keys("secret.tengu.io/c%d")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, problems := application.Parse(test.labels, test.annotations)
			assert.NotEmpty(t, problems, test.why)
			assert.LessOrEqual(t, len(problems), application.MaxEntries, test.why)
		})
	}
}

// What an admission takes of memory is bounded by what an object may have, not by what is sent: the webhook has 192 MiB for all
// namespaces (TRUST.md, Bounds).
func TestDeclarationsOfAnySize(t *testing.T) {
	const sent = 3 << 20
	list := strings.Repeat("a,", sent/2)
	for key, text := range map[string]string{
		application.KeyConsumes: list, application.KeyProvides: list, application.KeyPeers: list, application.KeyRelations: list,
		application.KeyEnv: strings.Repeat("a;", sent/2), application.PrefixData + "db": "{" + list + "}",
		application.PrefixData + "lines": strings.Repeat("a:\n", sent/3),
	} {
		t.Run(key, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, problems := application.Parse(nil, map[string]string{key: text})
			runtime.ReadMemStats(&after)
			assert.NotEmpty(t, problems)
			assert.Less(t, (after.TotalAlloc-before.TotalAlloc)>>20, uint64(8), "MiB")
		})
	}
}

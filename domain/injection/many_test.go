package injection_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// Whatever a pod's lists hold, what is read, added and reported of them is bounded: the webhook gets pods before the API
// server has judged them, of up to 3 MiB (TRUST.md, Bounds).
func TestListsOfAnyLength(t *testing.T) {
	var names, volumes []string
	for i := range 10_000 {
		names = append(names, fmt.Sprint("c", i))
		volumes = append(volumes, fmt.Sprintf("v%d=/v%d", i, i))
	}
	for key, list := range map[string][]string{
		application.KeyContainers: names, application.KeyPullSecrets: names, application.KeyHandlerVolumes: volumes,
	} {
		t.Run(key, func(t *testing.T) {
			pod := shape(t, `{metadata: {annotations: {tengu.io/consumes: db, tengu.io/relations: x, tengu.io/handlers: /h,
				injector.tengu.io/handler-image: a}}, spec: {containers: [{name: a}]}}`)
			pod.Metadata.Annotations[key] = strings.Join(list[:application.MaxEntries], ",")
			d := injection.For(plain(), "shop", pod)
			require.NotNil(t, d.Injection, "the longest list")

			pod.Metadata.Annotations[key] = strings.Join(list, ",")
			d = injection.For(plain(), "shop", pod)
			require.ErrorContains(t, d.Refused, key+": ")
			assert.ErrorContains(t, d.Refused, "at most 128")
			assert.Less(t, len(d.Refused.Error()), 1000, "it has no room for the list")
			told := injection.Preview(plain(), "shop", pod)
			assert.Less(t, len(told), 10)
		})
	}
}

// The same of words (TRUST.md, Bounds).
func TestWordsOfAnyLength(t *testing.T) {
	word, host := strings.Repeat("é!", 1<<19), strings.Repeat("h", 1<<20)
	for name, annotation := range map[string][2]string{
		"Mode": {application.KeyMode, word}, "Image": {application.KeyImage, word}, "Gate": {application.KeyGate, word},
		"Retain": {application.KeyRetain, word}, "OnChange": {application.KeyOnChange, word}, "Handlers": {application.KeyHandlers, word},
		"Application": {application.KeyApplication, word}, "Secret": {application.PrefixSecret + "db", word},
		"Host": {application.KeyOnChange, "http://" + host + ":80/x"}, "Provides": {application.KeyProvides, host[:100<<10] + "?"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := shape(t, `{metadata: {annotations: {tengu.io/consumes: db, tengu.io/relations: x}}, spec: {containers: [{name: a}]}}`)
			pod.Metadata.Annotations[annotation[0]] = annotation[1]
			d := injection.For(plain(), "shop", pod)
			require.ErrorContains(t, d.Refused, annotation[0]+": ")
			assert.Less(t, len(d.Refused.Error()), 5000, "it has no room for the word")
		})
	}
}

// The marks of copies take no memory (TRUST.md, Bounds).
func TestMarksOfAnySize(t *testing.T) {
	w := injection.Workload{Path: "/spec/template"}
	w.Template.Metadata.Annotations = map[string]string{application.KeyCopied: strings.Repeat("a,", 3<<19) + application.KeyConsumes, application.KeyConsumes: "db"}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	annotations, _, _ := injection.Copies(w, nil)
	runtime.ReadMemStats(&after)
	assert.Empty(t, annotations, "a copy whose origin is gone")
	assert.Less(t, (after.TotalAlloc-before.TotalAlloc)>>20, uint64(8), "MiB")
}

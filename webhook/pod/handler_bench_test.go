package pod_test

import (
	"bytes"
	_ "embed"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/webhook/pod"
)

// captured is a pod's CREATE as an API server sends it: of 7.2 kB, 2.8 are
// managedFields.
//
//go:embed testdata/review.json
var captured []byte

// settings are what an installation has.
func settings() injection.Settings {
	return injection.Settings{Config: injection.DefaultConfig(), Namespace: "orcon-system", Trust: "-----BEGIN CERTIFICATE-----\n" + strings.Repeat("MIIBfjCCASWgAwIBAgIQ\n", 30)}
}

func handler() http.Handler { return &pod.Handler{Settings: settings} }

// BenchmarkHandler measures the handler alone. What an admission costs over
// HTTP, and at the API server, is measured in test/bench.
func BenchmarkHandler(b *testing.B) {
	h := handler()
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest(http.MethodPost, "/mutate", bytes.NewReader(captured))
		r.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
}

package bench

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/webhook/pod"
)

// serveAs names, in the environment of a copy of this program, the handler that
// the copy serves instead of measuring.
const serveAs = "ORCON_BENCH_SERVE"

// The handlers that a copy can serve.
const (
	ours = "Pod"
	// noop is controller-runtime's handler that decodes the pod and does
	// nothing: the measure of INJECTION.md.
	noop = "ControllerRuntimeNoop"
)

// captured is a pod's CREATE as an API server sends it: of 7.2 kB, 2.8 are
// managedFields.
func captured(b *testing.B) []byte {
	b.Helper()
	text, err := os.ReadFile(filepath.Join(repository(b), "webhook", "pod", "testdata", "review.json"))
	require.NoError(b, err)
	return text
}

func handler(name string) http.Handler {
	if name == ours {
		installed := injection.Settings{Config: injection.DefaultConfig(), Namespace: system, Trust: "-----BEGIN CERTIFICATE-----\n" + strings.Repeat("MIIBfjCCASWgAwIBAgIQ\n", 30)}
		return &pod.Handler{Settings: func() injection.Settings { return installed }}
	}
	decoder := admission.NewDecoder(scheme.Scheme)
	return &admission.Webhook{Handler: admission.HandlerFunc(func(_ context.Context, r admission.Request) admission.Response {
		var p corev1.Pod
		if err := decoder.Decode(r, &p); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
		return admission.Allowed("")
	})}
}

// serve says where it serves a handler, without TLS and with it, and does so
// until it is told to end.
func serve(name string) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	mux := withUsage(handler(name))
	plain, secure := httptest.NewServer(mux), httptest.NewUnstartedServer(mux)
	secure.EnableHTTP2 = true // as controller-runtime's server
	secure.StartTLS()
	fmt.Println(plain.URL, secure.URL)
	<-ctx.Done()
}

// withUsage adds /usage, which tells the processor time of the process.
func withUsage(h http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mutate", h)
	mux.HandleFunc("/usage", func(w http.ResponseWriter, _ *http.Request) {
		var usage syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
		_, _ = fmt.Fprint(w, usage.Utime.Nano()+usage.Stime.Nano())
	})
	return mux
}

// served is a handler in a process of its own.
type served struct{ plain, secure string }

func startServing(b *testing.B, name string) served {
	b.Helper()
	p := start(b, []string{serveAs + "=" + name}, os.Args[0])
	var s served
	require.Eventually(b, func() bool {
		n, _ := fmt.Sscan(p.said(), &s.plain, &s.secure)
		return n == 2
	}, patience, 10*time.Millisecond, "%s is not served", name)
	return s
}

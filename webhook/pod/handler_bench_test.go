package pod_test

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
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

// noop is controller-runtime's handler that decodes the pod and does nothing:
// the measure of INJECTION.md.
func noop() http.Handler {
	decoder := admission.NewDecoder(scheme.Scheme)
	return &admission.Webhook{Handler: admission.HandlerFunc(func(_ context.Context, r admission.Request) admission.Response {
		var p corev1.Pod
		if err := decoder.Decode(r, &p); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
		return admission.Allowed("")
	})}
}

// serveAs names, in the environment of a copy of this test, the handler that
// the copy serves instead of testing.
const serveAs = "ORCON_TEST_SERVE"

func TestMain(m *testing.M) {
	served := map[string]func() http.Handler{"Pod": handler, "ControllerRuntimeNoop": noop}[os.Getenv(serveAs)]
	if served == nil {
		os.Exit(m.Run())
	}
	server := httptest.NewServer(withUsage(served()))
	fmt.Println(server.URL)
	_, _ = io.Copy(io.Discard, os.Stdin) // until the benchmark ends
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
type served struct {
	url    string
	client *http.Client
}

func start(b *testing.B, name string) served {
	b.Helper()
	command := exec.CommandContext(b.Context(), os.Args[0])
	command.Env = append(os.Environ(), serveAs+"="+name)
	stdin, err := command.StdinPipe()
	require.NoError(b, err)
	stdout, err := command.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, command.Start())
	b.Cleanup(func() { _ = stdin.Close(); _ = command.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(b, err)
	return served{strings.TrimSpace(line), &http.Client{}}
}

func (s served) post(b *testing.B) {
	b.Helper()
	response, err := s.client.Post(s.url+"/mutate", "application/json", bytes.NewReader(captured))
	if err != nil {
		b.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
}

func (s served) usage(b *testing.B) (used time.Duration) {
	b.Helper()
	response, err := s.client.Get(s.url + "/usage")
	require.NoError(b, err)
	defer func() { _ = response.Body.Close() }()
	_, err = fmt.Fscan(response.Body, &used)
	require.NoError(b, err)
	return used
}

// BenchmarkExchange measures the processor time that a process takes to serve
// one admission over HTTP, in turns with controller-runtime's no-op, so that
// both see the same machine. The target is a ratio of 0.5 (DESIGN.md).
func BenchmarkExchange(b *testing.B) {
	const turn = 50
	ours, theirs := start(b, "Pod"), start(b, "ControllerRuntimeNoop")
	for range 500 { // warm
		ours.post(b)
		theirs.post(b)
	}
	before := [2]time.Duration{ours.usage(b), theirs.usage(b)}
	n := 0
	for b.Loop() {
		for range turn {
			ours.post(b)
		}
		for range turn {
			theirs.post(b)
		}
		n += turn
	}
	our, their := ours.usage(b)-before[0], theirs.usage(b)-before[1]
	b.ReportMetric(float64(our.Microseconds())/float64(n), "pod-us")
	b.ReportMetric(float64(their.Microseconds())/float64(n), "noop-us")
	b.ReportMetric(float64(our)/float64(their), "ratio")
}

// BenchmarkHandler measures the handler alone.
func BenchmarkHandler(b *testing.B) {
	for name, h := range map[string]http.Handler{"Pod": handler(), "ControllerRuntimeNoop": noop()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest(http.MethodPost, "/mutate", bytes.NewReader(captured))
				r.Header.Set("Content-Type", "application/json")
				h.ServeHTTP(httptest.NewRecorder(), r)
			}
		})
	}
}

// BenchmarkConnections measures a hundred connections over TLS that ask without
// a pause, the client in the same process. The target is a p99 of 25 ms and
// 2,500 a second on 2 cores (DESIGN.md).
func BenchmarkConnections(b *testing.B) {
	const connections = 100
	server := httptest.NewTLSServer(handler())
	defer server.Close()
	var (
		group sync.WaitGroup
		lock  sync.Mutex
		took  []time.Duration
	)
	began := time.Now()
	for range connections {
		group.Go(func() {
			transport := &http.Transport{TLSClientConfig: server.Client().Transport.(*http.Transport).TLSClientConfig} //nolint:forcetypeassert // httptest's
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport}
			mine := make([]time.Duration, 0, b.N)
			for range b.N {
				at := time.Now()
				response, err := client.Post(server.URL, "application/json", bytes.NewReader(captured))
				if err != nil {
					b.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
				mine = append(mine, time.Since(at))
			}
			lock.Lock()
			defer lock.Unlock()
			took = append(took, mine...)
		})
	}
	group.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(len(took))/time.Since(began).Seconds(), "requests/s")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

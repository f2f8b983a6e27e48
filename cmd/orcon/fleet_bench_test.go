package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// integrations is the number of integrations of a large fleet; each runs in three environments.
const integrations = 500

// largeFleet writes the data of a large fleet, with arguments for those integrations that a function selects.
func largeFleet(b *testing.B, args func(integration int) string) string {
	b.Helper()
	folder := b.TempDir()
	file := func(name, text string) {
		at := filepath.Join(folder, name)
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for _, e := range []string{"dev", "stage", "prod"} {
		file(e+".yml", fmt.Sprintf("$schema: /openshift/lean-namespace-1.yml\nname: tools-%s\ncluster: {name: one}\nenvironment: {name: %s}\n", e, e))
	}
	for i := range integrations {
		text := fmt.Sprintf("$schema: /app-sre/integration-1.yml\nname: i-%d\nmanaged:\n", i)
		for _, e := range []string{"dev", "stage", "prod"} {
			text += fmt.Sprintf("- namespace: {$ref: /%s.yml}\n  spec: {resources: {limits: {memory: 1Mi}}, extraArgs: %s}\n", e, args(i))
		}
		file(fmt.Sprintf("i-%d.yml", i), text)
	}
	return folder
}

// BenchmarkFleetPlan plans changes of a large fleet (FLEET.md P1). It reports the time of the
// processors and the peak of the memory too.
func BenchmarkFleetPlan(b *testing.B) {
	const chart = "../../deployment/examples/fleet/chart"
	base := largeFleet(b, func(int) string { return "--before" })
	for name, changed := range map[string]int{"nothing": 0, "file": 1, "everything": integrations} {
		data := largeFleet(b, func(i int) string {
			if i < changed {
				return "--after"
			}
			return "--before"
		})
		b.Run(name, func(b *testing.B) {
			debug.FreeOSMemory()
			forgetPeak(b)
			before := processor(b)
			for b.Loop() {
				code, out, errs := call("", "fleet", "plan", chart, "--data", data, "--base", base)
				if code != min(changed, 1) || bytes.Count([]byte(out), []byte("spec.template.")) != 3*changed {
					b.Fatal(code, out, errs)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/plan")
			b.ReportMetric((processor(b)-before)/float64(b.N), "cpu-s/plan")
			b.ReportMetric(peak(b), "MiB")
		})
	}
}

// processor returns how long the processors have worked for this process, in seconds: other processes change it least.
func processor(b *testing.B) float64 {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}

// forgetPeak has the system count the peak of memory anew.
func forgetPeak(b *testing.B) {
	b.Helper()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600); err != nil {
		b.Skip("only Linux counts the peak of memory: ", err)
	}
}

// peak returns the largest amount of memory that the process has had, in MiB.
func peak(b *testing.B) float64 {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := bytes.Cut(status, []byte("VmHWM:"))
	kib, err := strconv.ParseFloat(string(bytes.Fields(after)[0]), 64)
	if err != nil {
		b.Fatal(err)
	}
	return kib / 1024
}

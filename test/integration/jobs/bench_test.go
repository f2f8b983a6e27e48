package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

// BenchmarkQueueToStart measures the time from the request that makes a JobRun until its program starts, as a process,
// and the parts of it: until it is admitted and its processes are being started, until its state is restored, and until
// the program runs. The target is 100 ms for 99 % (JOBS.md "Shown by").
func BenchmarkQueueToStart(b *testing.B) {
	u := newUpheaval(b, 1)
	l := u.lanes[0]
	parts := map[string][]time.Duration{}
	for n := 0; b.Loop(); n++ {
		o := &v1alpha1.JobRun{
			ObjectMeta: u.named(fmt.Sprint("run-", n)), Spec: v1alpha1.JobRunSpec{Workspace: l.name, Action: "start"},
		}
		sent := time.Now()
		require.NoError(b, u.client.Create(b.Context(), o))
		a := l.attemptOf(string(o.UID))
		var started int64
		require.Eventually(b, func() bool {
			text, _ := os.ReadFile(filepath.Join(u.path("out"), "started-"+o.Name))
			var err error
			started, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			return err == nil
		}, limit, time.Millisecond)
		for name, at := range map[string]time.Time{
			"admitted": a.since("token"), "restored": a.since("exchange/start"), "begun": a.since("exchange/started"), "started": time.Unix(0, started),
		} {
			parts[name] = append(parts[name], at.Sub(sent))
		}
		require.NoError(b, l.await(o))
		require.NoError(b, l.settle(o))
	}
	for name, all := range parts {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, name+"-p50-ms")
		b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, name+"-p99-ms")
	}
	b.ReportMetric(0, "ns/op") // of all together, which says nothing
}

// since returns when a file of an attempt was written.
func (a attempt) since(name string) time.Time {
	info, err := os.Stat(a.path(name))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

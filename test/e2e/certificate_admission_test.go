package e2e

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// admissions are pods that are admitted one after the other, without a pause.
type admissions struct {
	world  *world
	cancel context.CancelFunc
	done   sync.WaitGroup

	admitted atomic.Int64
	// failed is read after done.
	failed []failedAdmission
}

// failedAdmission is an admission that failed, or that injected nothing.
type failedAdmission struct {
	began time.Time
	why   string
}

// admit begins to admit pods of the namespace, each of which has to be injected.
// They go through all of admission and are not stored.
func (w *world) admit() *admissions {
	ctx, cancel := context.WithCancel(w.t.Context())
	a := &admissions{world: w, cancel: cancel}
	tick := time.NewTicker(30 * time.Millisecond)
	a.done.Go(func() {
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				a.one(ctx)
			}
		}
	})
	w.t.Cleanup(func() { cancel(); a.done.Wait() })
	return a
}

// one admits a pod and notes what went wrong.
func (a *admissions) one(ctx context.Context) {
	pod, began := a.world.pod(""), time.Now()
	pod.GenerateName = "admitted-"
	got, err := a.world.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	switch {
	case ctx.Err() != nil:
	case err != nil:
		a.failed = append(a.failed, failedAdmission{began, err.Error()})
	case got.Annotations["injector.tengu.io/status"] != "injected":
		a.failed = append(a.failed, failedAdmission{began, "it was not injected"})
	default:
		a.admitted.Add(1)
	}
}

// more waits until this many more pods have been admitted.
func (a *admissions) more(pods int64) {
	a.world.t.Helper()
	enough := a.admitted.Load() + pods
	a.world.eventually(func() string {
		if n := a.admitted.Load(); n < enough {
			return fmt.Sprintf("%d pods are admitted, %d are to be", n, enough)
		}
		return ""
	})
}

// none ends the admissions and asserts that none failed.
func (a *admissions) none() {
	a.world.t.Helper()
	assert.Empty(a.world.t, a.end(), "no admission fails")
}

// end ends the admissions and returns those that failed.
func (a *admissions) end() []failedAdmission {
	a.world.t.Helper()
	a.cancel()
	a.done.Wait()
	assert.Positive(a.world.t, a.admitted.Load())
	a.world.t.Logf("%d pods were admitted meanwhile, %d were not", a.admitted.Load(), len(a.failed))
	return a.failed
}

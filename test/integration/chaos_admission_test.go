package integration

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// chaosAdmissions has pods admitted without end, and judges each that no fault of its way met.
type chaosAdmissions struct {
	admin client.Client

	mu sync.Mutex
	// faults is how many faults of the API server or of a connection to a webhook last, changes how many began or ended.
	faults, changes int
	tried, excused  int
	failed          []string
}

// during carries out a fault; an admission that it overlaps may fail.
func (a *chaosAdmissions) during(fault func()) {
	a.change(1)
	defer a.change(-1)
	fault()
}

func (a *chaosAdmissions) change(by int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.faults += by
	a.changes++
}

// keep admits a pod in each namespace in turn until ctx ends.
func (a *chaosAdmissions) keep(ctx context.Context, spaces []*controllerWorld) {
	for i := 0; ctx.Err() == nil; i++ {
		a.once(ctx, spaces[i%len(spaces)].namespace)
		wait(ctx, 50*time.Millisecond)
	}
}

func (a *chaosAdmissions) once(ctx context.Context, namespace string) {
	a.mu.Lock()
	quiet, before := a.faults == 0, a.changes
	a.mu.Unlock()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "admitted-", Namespace: namespace, Annotations: map[string]string{application.KeyConsumes: "store:pg"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}},
	}
	err := a.admin.Create(ctx, pod, client.DryRunAll)
	if err == nil && (len(pod.Spec.InitContainers) == 0 || pod.Spec.InitContainers[0].Name != injection.AgentContainer) {
		err = fmt.Errorf("the pod has no agent: %v", pod.Spec.InitContainers)
	}
	if ctx.Err() != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tried++
	switch {
	case err == nil:
	case quiet && a.changes == before:
		a.failed = append(a.failed, err.Error())
	default:
		a.excused++
	}
}

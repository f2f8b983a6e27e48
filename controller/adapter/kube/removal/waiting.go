package removal

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
)

// waiting reports the pods that wait at their gates, which nothing opens any more. A failure is reported too, since the
// programs are gone already.
func (p Parts) waiting(ctx context.Context) {
	var pods corev1.PodList
	if err := p.list(ctx, &pods); err != nil {
		p.report(fmt.Sprintf("%v: some may wait at their gates: delete these", err))
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.DeletionTimestamp != nil || object.HoldingSince(pod).IsZero() {
			continue
		}
		again := ""
		if metav1.GetControllerOf(pod) == nil {
			again = ", and create it again"
		}
		p.report(fmt.Sprintf("pod %s/%s waits at its gate, which opens no more while Orcon is away: "+
			"to start without files and variables of relations: kubectl -n %[1]s delete pod %[2]s%[3]s", pod.Namespace, pod.Name, again))
	}
}

package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kube "gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/health"
)

// Pods has the troubles of the pods of a namespace, or of all namespaces.
type Pods struct {
	// Troubles has what keeps a pod from running, by namespace and name.
	Troubles map[client.ObjectKey]string
	// Failing has why the pods of a workload fail, by namespace and kind/name.
	Failing map[client.ObjectKey]string
	// Living lists the pods of a workload that have not ended, by namespace and kind/name.
	Living map[client.ObjectKey][]string
	// Forbidden reports that the account may not list pods, so that nothing is known of them.
	Forbidden bool
}

// LookAtPods returns the troubles of the pods of a namespace, of all namespaces for ""; none for an account that may
// not list them. Conditions explain the containers that Orcon added.
func LookAtPods(ctx context.Context, c client.Reader, namespace string) Pods {
	s := survey{
		Pods: Pods{
			Troubles: map[client.ObjectKey]string{}, Failing: map[client.ObjectKey]string{}, Living: map[client.ObjectKey][]string{},
		},
		unbegun: map[types.UID]client.ObjectKey{}, fates: map[client.ObjectKey]*fates{}, now: time.Now(),
	}
	err := walk(ctx, c, corev1.SchemeGroupVersion.WithKind("Pod"), func(object map[string]any) {
		var p corev1.Pod
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &p); err == nil {
			s.add(&p)
		}
	}, client.InNamespace(namespace))
	if err != nil {
		return Pods{Failing: map[client.ObjectKey]string{}, Forbidden: apierrors.IsForbidden(err)}
	}
	s.addEvents(ctx, c, namespace)
	s.addFailing(ctx, c)
	return s.Pods
}

// walk calls f for each object of a kind, a page at a time.
func walk(ctx context.Context, c client.Reader, kind schema.GroupVersionKind, f func(map[string]any), options ...client.ListOption) error {
	kind.Kind += "List"
	for next := ""; ; {
		var page unstructured.UnstructuredList
		page.SetGroupVersionKind(kind)
		if err := c.List(ctx, &page, append(options, client.Limit(podsAtOnce), client.Continue(next))...); err != nil {
			return fmt.Errorf("cannot list %s: %w", kind.Kind, err)
		}
		for i := range page.Items {
			f(page.Items[i].Object)
		}
		if next = page.GetContinue(); next == "" {
			return nil
		}
	}
}

// podsAtOnce is how many objects are read at a time.
const podsAtOnce = 500

// survey collects the troubles of pods.
type survey struct {
	Pods

	// unbegun are the pods that have a node and do not begin there, and unready those that run and are not ready:
	// Events tell why.
	unbegun map[types.UID]client.ObjectKey
	unready []*corev1.Pod
	// fates are by the workload of the pods.
	fates map[client.ObjectKey]*fates
	now   time.Time
}

func (s *survey) add(p *corev1.Pod) {
	key, workload := client.ObjectKeyFromObject(p), workloadOf(p)
	failed := p.Status.Phase == corev1.PodFailed
	if !kube.Finished(p) {
		s.Living[workload] = append(s.Living[workload], p.Name)
	}
	switch {
	case p.DeletionTimestamp != nil:
		s.note(key, overdue(p, s.now))
	case failed && metav1.GetControllerOfNoCopy(p) == nil:
		s.note(key, failure(p))
	case kube.Finished(p):
	default:
		s.addLiving(key, p)
	}
	if s.fates[workload] == nil {
		s.fates[workload] = &fates{}
	}
	s.fates[workload].add(p)
}

func (s *survey) note(pod client.ObjectKey, why string) {
	if why != "" {
		s.Troubles[pod] = why
	}
}

func (s *survey) addLiving(key client.ObjectKey, p *corev1.Pod) {
	why, log := trouble(p)
	switch {
	case why != "":
		if why != kube.AgentTrouble(p) {
			s.note(key, log.After(why))
		}
	case !begun(p):
		s.unbegun[p.UID] = key
	case !ready(p):
		s.unready = append(s.unready, p)
	default:
		s.note(key, unreachable(p))
	}
}

// addEvents adds the troubles that only Events tell: a volume or a sandbox cannot be made, or a probe fails.
func (s *survey) addEvents(ctx context.Context, c client.Reader, namespace string) {
	if len(s.unbegun) == 0 && len(s.unready) == 0 {
		return
	}
	failed, unhealthy := map[types.UID]corev1.Event{}, map[types.UID][]corev1.Event{}
	for _, e := range warnings(ctx, c, namespace, client.MatchingFields{"involvedObject.kind": "Pod"}) {
		switch {
		case e.Reason == "Unhealthy":
			unhealthy[e.InvolvedObject.UID] = append(unhealthy[e.InvolvedObject.UID], e)
		case strings.HasPrefix(e.Reason, "Failed") && e.Reason != "FailedScheduling":
			keepNewest(failed, e)
		}
	}
	for uid, pod := range s.unbegun {
		if e, found := failed[uid]; found {
			s.note(pod, fmt.Sprintf("pod %s has not begun: %s", pod.Name, oneLine(e.Message)))
		}
	}
	for _, p := range s.unready {
		if why, log := probing(p, unhealthy[p.UID]); why != "" {
			s.note(client.ObjectKeyFromObject(p), log.After(why))
		}
	}
}

// addFailing adds the workloads that make their pods anew, and whose last one has failed. Jobs of one CronJob count
// together.
func (s *survey) addFailing(ctx context.Context, c client.Reader) {
	for _, f := range s.fates {
		why := f.String()
		if why == "" || metav1.GetControllerOfNoCopy(f.last) == nil {
			continue
		}
		source, wants := wanting(ctx, c, f.last)
		if wants && !s.outweighed(source, f.newest) {
			s.Failing[source] = why
		}
	}
}

// outweighed reports whether a pod of another Job of a CronJob outweighs a fate.
func (s *survey) outweighed(source client.ObjectKey, fate health.Fate) bool {
	schedule, scheduled := strings.CutPrefix(source.Name, "CronJob/")
	for other, f := range s.fates {
		job := other.Namespace == source.Namespace && strings.HasPrefix(other.Name, "Job/"+schedule+"-")
		if scheduled && job && f.newest.Outweighs(fate) {
			return true
		}
	}
	return false
}

// wanting returns the topmost workload of a pod, and whether its controller lacks pods that are ready. One that the
// account may not read may lack some.
func wanting(ctx context.Context, c client.Reader, p *corev1.Pod) (source client.ObjectKey, wants bool) {
	ref := metav1.GetControllerOfNoCopy(p)
	source = workloadOf(p)
	var o unstructured.Unstructured
	o.SetAPIVersion(ref.APIVersion)
	o.SetKind(ref.Kind)
	err := c.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: ref.Name}, &o)
	switch {
	case apierrors.IsNotFound(err), err == nil && o.GetUID() != ref.UID:
		return source, false
	case err != nil:
		return source, true
	}
	if owner := metav1.GetControllerOf(&o); owner != nil {
		source.Name = owner.Kind + "/" + owner.Name
	}
	return source, lacksReady(&o)
}

// workloadOf returns the namespace and kind/name of the workload that made a pod, as far as the pod shows: the
// Deployment of a ReplicaSet, but the Job of a CronJob. A bare pod is its own.
func workloadOf(p *corev1.Pod) client.ObjectKey {
	kind, name := "Pod", p.Name
	if ref := metav1.GetControllerOfNoCopy(p); ref != nil {
		kind, name = ref.Kind, ref.Name
		hash := p.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
		if deployment, made := strings.CutSuffix(name, "-"+hash); kind == "ReplicaSet" && hash != "" && made {
			kind, name = "Deployment", deployment
		}
	}
	return client.ObjectKey{Namespace: p.Namespace, Name: kind + "/" + name}
}

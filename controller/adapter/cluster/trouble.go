package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// troubles fills in why a workload is not healthy: from its own conditions, its pods, and
// Events about them; and how often its containers have crashed. Pods older than what is
// applied now do not count.
func (w *World) troubles(ctx context.Context, id bundle.ID, o *unstructured.Unstructured, l *bundle.Live) error {
	pods, selected, err := w.pods(ctx, id, o)
	if err != nil || !selected {
		return err
	}
	begin, why, log, starts, unready, ended := written(o), "", bundle.Log{}, "", (*corev1.Pod)(nil), fates{}
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.CreationTimestamp.Time.Before(begin) || p.DeletionTimestamp != nil {
			continue
		}
		l.Since = later(l.Since, p.CreationTimestamp.Time)
		l.Restarts = max(l.Restarts, restarts(p))
		if why == "" {
			why, log = trouble(p)
		}
		starts = cmp.Or(starts, starting(p))
		ended.add(p)
		if unready == nil && !ready(p) {
			unready = p
		}
	}
	switch {
	case len(pods.Items) == 0:
		why, err = warning(ctx, w.client, o)
	case why == "" && starts == "" && unready != nil:
		why, log, err = probed(ctx, w.client, unready, l.Says)
	}
	if why == "" && ended.last != nil {
		why = "the newest pod has failed" + rejection(ended.last) // it has no name here, which each new one would change
	}
	l.Says, l.Log = cmp.Or(why, starts, l.Says), log
	return err
}

// settling is how long a container without a readiness probe runs before it counts as healthy. The
// kubelet calls it ready at once, also if it exits a moment later, and a busy kubelet may report the exit
// seconds late. A container that has crashed runs for twice as long as before, up to mostSettling.
const (
	settling     = 10 * time.Second
	mostSettling = time.Minute
)

// settled takes back that a workload is healthy while a container of it has crashed or has only
// just started. An account that may not list pods has the workload's own word.
func (w *World) settled(ctx context.Context, id bundle.ID, o *unstructured.Unstructured, l *bundle.Live) error {
	if l.Health != bundle.Ready || id.Group != "apps" {
		return nil
	}
	pods, selected, err := w.pods(ctx, id, o)
	if err != nil || !selected {
		return ignoreForbidden(err)
	}
	begin := written(o)
	for i := range pods.Items {
		p := &pods.Items[i]
		ended := p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
		if ended || !controls(id, p) || p.CreationTimestamp.Time.Before(begin) {
			continue
		}
		if why, log, since := unsettled(p, time.Now()); why != "" {
			l.Health, l.Says, l.Log, l.Restarts = bundle.InProgress, why, log, max(l.Restarts, restarts(p))
			l.Since = later(l.Since, later(p.CreationTimestamp.Time, since))
		}
	}
	return nil
}

// controls reports whether a pod is a workload's own, and not only selected by it.
func controls(id bundle.ID, p *corev1.Pod) bool {
	owner := metav1.GetControllerOf(p)
	if owner == nil {
		return false
	}
	return owner.Kind == id.Kind && owner.Name == id.Name || id.Kind == "Deployment" && owner.Kind == "ReplicaSet" && strings.HasPrefix(owner.Name, id.Name+"-")
}

func ignoreForbidden(err error) error {
	if apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

// unsettled returns why a pod that is ready may not stay so, the log to read about it, and since when;
// empty if nothing speaks for that. A clock that is ahead of this one settles its containers.
func unsettled(p *corev1.Pod, now time.Time) (why string, log bundle.Log, since time.Time) {
	probed := map[string]bool{}
	for _, c := range p.Spec.Containers {
		probed[c.Name] = c.ReadinessProbe != nil
	}
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Running == nil {
			why, log = trouble(p)
			return cmp.Or(why, fmt.Sprintf("container %s of pod %s does not run", c.Name, p.Name)), log, time.Time{}
		}
		if probed[c.Name] {
			continue
		}
		started, last := c.State.Running.StartedAt.Time, c.LastTerminationState.Terminated
		age, must := now.Sub(started), settles(last)
		switch {
		case age < 0 || age >= must:
		case !crashed(last):
			return fmt.Sprintf("container %s of pod %s has only just started", c.Name, p.Name), log, started
		default:
			return fmt.Sprintf("container %s of pod %s exited with code %d (%s), and counts as healthy when it has run for %s",
				c.Name, p.Name, last.ExitCode, last.Reason, must), logOf(p, c), started
		}
	}
	return "", log, time.Time{}
}

// settles returns how long a container has to run after its last end; nil for none.
func settles(last *corev1.ContainerStateTerminated) time.Duration {
	if !crashed(last) {
		return settling
	}
	ran := last.FinishedAt.Sub(last.StartedAt.Time)
	return min(max(2*ran, settling), mostSettling)
}

func crashed(last *corev1.ContainerStateTerminated) bool { return last != nil && last.ExitCode != 0 }

// pods lists the pods of a workload; selected is false for an object that has none.
func (w *World) pods(ctx context.Context, id bundle.ID, o *unstructured.Unstructured) (pods corev1.PodList, selected bool, err error) {
	selector, err := selects(o)
	if selector == nil {
		return pods, false, err
	}
	if err := w.client.List(ctx, &pods, client.InNamespace(id.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return pods, true, fmt.Errorf("cannot read the pods of %s: %w", id, err)
	}
	return pods, true, nil
}

// probed returns what a workload lacks with the probe of a pod that fails, and the log to read about
// it; empty if none does.
func probed(ctx context.Context, c client.Reader, p *corev1.Pod, lacks string) (string, bundle.Log, error) {
	events, err := eventsOf(ctx, c, p.Namespace, client.MatchingFields{"involvedObject.uid": string(p.UID)})
	if failing, log := probing(p, events); failing != "" && lacks != "" {
		return lacks + "; " + failing, log, err
	}
	return "", bundle.Log{}, err
}

// selects returns the selector of a workload's pods, and nil for what has none.
func selects(o *unstructured.Unstructured) (labels.Selector, error) {
	fields, _ := bundle.Object(o.Object).At("spec", "selector").(map[string]any)
	if fields == nil || bundle.Object(o.Object).At("spec", "template") == nil {
		return nil, nil //nolint:nilnil // no selector is no fault
	}
	var typed metav1.LabelSelector
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &typed)
	if err != nil {
		return nil, fmt.Errorf("cannot read the selector of %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	selector, err := metav1.LabelSelectorAsSelector(&typed)
	if err != nil {
		return nil, fmt.Errorf("cannot read the selector of %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return selector, nil
}

func containers(p *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses)
}

// restarts is how often the container of a pod that crashes most has done so.
func restarts(p *corev1.Pod) int {
	most := 0
	for _, c := range containers(p) {
		most = max(most, int(c.RestartCount))
	}
	return most
}

// ready reports whether all containers of a pod that run are ready.
func ready(p *corev1.Pod) bool {
	return !slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.State.Running != nil && !c.Ready })
}

// trouble returns what keeps a pod from being ready, and the log to read about it; empty if nothing
// does but time.
func trouble(p *corev1.Pod) (why string, log bundle.Log) {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return fmt.Sprintf("pod %s cannot be scheduled: %s", p.Name, c.Message), log
		}
	}
	for _, c := range containers(p) {
		why := object.ContainerTrouble(c)
		if strings.HasPrefix(why, "exited ") {
			log = logOf(p, c)
		}
		if why != "" {
			return fmt.Sprintf("container %s of pod %s %s", c.Name, p.Name, why), log
		}
	}
	return "", log
}

func logOf(p *corev1.Pod, c corev1.ContainerStatus) bundle.Log {
	return bundle.Log{Namespace: p.Namespace, Pod: p.Name, Container: c.Name}
}

// probing names the container of a pod whose probe fails, with what the probe found last, and the log to
// read about it; empty if no Event reports any.
func probing(p *corev1.Pod, events []corev1.Event) (string, bundle.Log) {
	for _, c := range p.Status.ContainerStatuses {
		found := slices.DeleteFunc(slices.Clone(events), func(e corev1.Event) bool {
			return e.Reason != "Unhealthy" || e.InvolvedObject.FieldPath != "spec.containers{"+c.Name+"}"
		})
		if why := newest(found); why != "" && c.State.Running != nil && !c.Ready {
			return fmt.Sprintf("container %s of pod %s is not ready: %s", c.Name, p.Name, why), logOf(p, c)
		}
	}
	return "", bundle.Log{}
}

// starting names the container of a pod that is to start next, and its image, which may still
// be pulled; empty while a container runs that the next one waits for.
func starting(p *corev1.Pod) string {
	for _, c := range containers(p) {
		switch {
		case c.State.Waiting != nil:
			return fmt.Sprintf("container %s of pod %s has not started yet: image %s", c.Name, p.Name, c.Image)
		case c.State.Running != nil && (c.Started == nil || !*c.Started):
			return ""
		}
	}
	return ""
}

// warning returns the newest warning about a workload without pods. Nothing else shows what keeps it
// from having any, such as a quota.
func warning(ctx context.Context, c client.Reader, o *unstructured.Unstructured) (string, error) {
	for _, is := range conditions(o) {
		if is.Text("type") == "ReplicaFailure" && is.Text("status") == "True" {
			return is.Text("message"), nil
		}
	}
	about := client.MatchingFields{"involvedObject.uid": string(o.GetUID()), "type": corev1.EventTypeWarning}
	events, err := eventsOf(ctx, c, o.GetNamespace(), about)
	return newest(events), err
}

// eventsOf returns the Events of a namespace that a selector matches; none for an account that may not
// read them.
func eventsOf(ctx context.Context, c client.Reader, namespace string, about client.MatchingFields) ([]corev1.Event, error) {
	var events corev1.EventList
	if err := c.List(ctx, &events, client.InNamespace(namespace), about); err != nil && !apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("cannot read the Events of namespace %s: %w", namespace, err)
	}
	return events.Items, nil
}

// newest returns the message of the last Event in one line; empty for none.
func newest(events []corev1.Event) string {
	earlier := func(a, b corev1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) }
	last := slices.MaxFunc(append(events, corev1.Event{}), earlier)
	return oneLine(last.Message)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

package settle

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// inventory reads what a namespace holds.
func inventory(ctx context.Context, reader client.Reader, namespace, account string) (application.Inventory, error) {
	l := lister{ctx: ctx, reader: reader, namespace: namespace}
	l.home, _, _ = strings.Cut(account, ":")
	in := application.Inventory{Namespace: namespace}
	var services corev1.ServiceList
	l.list(&services)
	for i := range services.Items {
		in.Services = append(in.Services, toService(&services.Items[i]))
	}
	l.declaring = declaring(in.Services)
	in.Workloads = l.workloads()
	owners := object.Owners{Reader: between{reader, &l.err}}
	var pods corev1.PodList
	l.list(&pods)
	for i := range pods.Items {
		owner, known := owners.Of(ctx, &pods.Items[i])
		pod := toPod(&pods.Items[i], owner)
		if !pod.Holding.IsZero() {
			pod.EgressDenied = l.egressDenied(pods.Items[i].Labels)
		}
		pod.NodeReason, pod.NodeTrouble = l.nodeTrouble(&pods.Items[i])
		switch {
		case known:
			in.Pods = append(in.Pods, pod)
		case pod.Injected && !pod.Finished:
			in.Strays = append(in.Strays, pod)
		}
	}
	return in, l.err
}

// between reads the controllers between pods and workloads, and notes that a cache may lack one: its pods would be taken
// for those of no workload (TRUST.md U7).
type between struct {
	client.Reader

	failed *error
}

// Get implements client.Reader.
func (b between) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	err := b.Reader.Get(ctx, key, into, opts...)
	if errors.Is(err, object.ErrIncomplete) {
		*b.failed = err
	}
	return err //nolint:wrapcheck // it is that of the reader
}

// lister lists objects of one namespace until the first error.
type lister struct {
	ctx       context.Context //nolint:containedctx // lives for one call
	reader    client.Reader
	namespace string
	// home is Orcon's own namespace.
	home string
	// declaring are the Services that declare what their pods consume.
	declaring []injection.Service
	// policies are those of the namespace for egress, once they were listed.
	policies *[]networkingv1.NetworkPolicy
	err      error
}

func (l *lister) list(into client.ObjectList) {
	if l.err != nil {
		return
	}
	if err := l.reader.List(l.ctx, into, client.InNamespace(l.namespace), client.UnsafeDisableDeepCopy); err != nil {
		l.err = fmt.Errorf("cannot list %T in %s: %w", into, l.namespace, err)
	}
}

// nodeTrouble returns why an injected pod gets no data on its node; a node that is unknown has no trouble.
func (l *lister) nodeTrouble(p *corev1.Pod) (reason, why string) {
	if p.Spec.NodeName == "" || !object.Injected(p) || l.err != nil {
		return "", ""
	}
	var node corev1.Node
	if err := l.reader.Get(l.ctx, client.ObjectKey{Name: p.Spec.NodeName}, &node); client.IgnoreNotFound(err) != nil {
		l.err = fmt.Errorf("cannot read node %s: %w", p.Spec.NodeName, err)
	}
	return injection.Node{Name: node.Name, Kubelet: node.Status.NodeInfo.KubeletVersion, Labels: node.Labels}.Trouble()
}

func (l *lister) workloads() []application.Workload {
	var (
		all          []application.Workload
		deployments  appsv1.DeploymentList
		statefulSets appsv1.StatefulSetList
		daemonSets   appsv1.DaemonSetList
		jobs         batchv1.JobList
		cronJobs     batchv1.CronJobList
	)
	l.list(&deployments)
	for i := range deployments.Items {
		d := &deployments.Items[i]
		w := l.toWorkload(application.Deployment, d, d.Spec.Template)
		w.Replicas, w.RollingOut, w.PastDeadline = replicas(d.Spec.Replicas), deploymentRolls(d), pastDeadline(d)
		if d.Spec.Paused {
			leave(&w, fmt.Sprintf("it is paused: kubectl -n %s rollout resume deployment %s", d.Namespace, d.Name))
		}
		all = append(all, w)
	}
	l.list(&statefulSets)
	for i := range statefulSets.Items {
		s := &statefulSets.Items[i]
		w := l.toWorkload(application.StatefulSet, s, s.Spec.Template)
		w.Replicas, w.RollingOut = replicas(s.Spec.Replicas), statefulSetRolls(s)
		if s.Spec.Ordinals != nil {
			w.First = int(s.Spec.Ordinals.Start)
		}
		leave(&w, statefulSetLeaves(s))
		all = append(all, w)
	}
	l.list(&daemonSets)
	for i := range daemonSets.Items {
		d := &daemonSets.Items[i]
		w := l.toWorkload(application.DaemonSet, d, d.Spec.Template)
		w.RollingOut = d.Status.ObservedGeneration < d.Generation || d.Status.UpdatedNumberScheduled < d.Status.DesiredNumberScheduled
		if d.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
			leave(&w, onDelete)
		}
		all = append(all, w)
	}
	l.list(&cronJobs)
	for i := range cronJobs.Items {
		c := &cronJobs.Items[i]
		all = append(all, l.toWorkload(application.CronJob, c, c.Spec.JobTemplate.Spec.Template))
	}
	l.list(&jobs)
	for i := range jobs.Items {
		if j := &jobs.Items[i]; metav1.GetControllerOf(j) == nil {
			all = append(all, l.toWorkload(application.Job, j, j.Spec.Template))
		}
	}
	return all
}

// uncopied returns the annotations that the template of a workload lacks.
func uncopied(o client.Object, template corev1.PodTemplateSpec, declaring []injection.Service) map[string]string {
	is := injection.Workload{Metadata: injection.Metadata{Labels: o.GetLabels(), Annotations: o.GetAnnotations()}}
	if metav1.GetControllerOf(o) != nil {
		is.Metadata.OwnerReferences = []injection.Owner{{Controller: true}}
	}
	is.Template.Metadata = injection.Metadata{Labels: template.Labels, Annotations: template.Annotations}
	return injection.Uncopied(is, declaring)
}

// declaring returns the Services that declare what their pods consume.
func declaring(services []application.Service) []injection.Service {
	var all []injection.Service
	for _, s := range services {
		if s.Annotations[application.KeyConsumes] != "" {
			all = append(all, injection.Service{Name: s.Name, Selector: s.Selector, Annotations: s.Annotations})
		}
	}
	return all
}

func (l *lister) toWorkload(kind application.WorkloadKind, o client.Object, template corev1.PodTemplateSpec) application.Workload {
	return application.Workload{
		Object: toObject(o), Kind: kind,
		TemplateLabels: template.Labels, TemplateAnnotations: template.Annotations, Uncopied: uncopied(o, template, l.declaring),
	}
}

func toObject(o client.Object) application.Object {
	return application.Object{
		Name: o.GetName(), UID: string(o.GetUID()), Created: o.GetCreationTimestamp().UTC(),
		Labels: o.GetLabels(), Annotations: o.GetAnnotations(),
	}
}

func replicas(n *int32) int {
	if n == nil {
		return 1
	}
	return int(*n)
}

// deploymentRolls reports whether old pods are still being replaced. A rollout that has given up is over: new data may mend it.
func deploymentRolls(d *appsv1.Deployment) bool {
	return pastDeadline(d) == 0 && (d.Status.ObservedGeneration < d.Generation ||
		int(d.Status.UpdatedReplicas) < replicas(d.Spec.Replicas) ||
		d.Status.Replicas > d.Status.UpdatedReplicas)
}

// defaultDeadline is the default of progressDeadlineSeconds.
const defaultDeadline = 600

// pastDeadline returns the progressDeadlineSeconds that a rollout has exceeded; 0 if it has not.
func pastDeadline(d *appsv1.Deployment) int {
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Reason == "ProgressDeadlineExceeded" {
			if set := d.Spec.ProgressDeadlineSeconds; set != nil {
				return int(*set)
			}
			return defaultDeadline
		}
	}
	return 0
}

// onDelete is why strategy OnDelete replaces no pods, and the cure.
const onDelete = "its update strategy is OnDelete: delete them"

// leave notes why nothing replaces the old pods of a workload, with the cure, if it has old ones; why is empty
// if something does.
func leave(w *application.Workload, why string) {
	if w.RollingOut && why != "" {
		w.RollingOut, w.LeftToPeople = false, why
	}
}

// statefulSetRolls reports whether old pods are still being replaced. With strategy OnDelete the current revision stays
// what it was when people have replaced all.
func statefulSetRolls(s *appsv1.StatefulSet) bool {
	replaced := s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType &&
		int(s.Status.UpdatedReplicas) >= replicas(s.Spec.Replicas)
	return s.Status.ObservedGeneration < s.Generation || s.Status.UpdateRevision != s.Status.CurrentRevision && !replaced
}

// statefulSetLeaves returns why a StatefulSet replaces no more pods, and the cure; empty if it still does.
func statefulSetLeaves(s *appsv1.StatefulSet) string {
	strategy := s.Spec.UpdateStrategy
	if strategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return onDelete
	}
	if r := strategy.RollingUpdate; r != nil && r.Partition != nil {
		kept := min(int(*r.Partition), replicas(s.Spec.Replicas))
		if kept > 0 && int(s.Status.UpdatedReplicas) >= replicas(s.Spec.Replicas)-kept && s.Status.ObservedGeneration >= s.Generation {
			return fmt.Sprintf("partition %d of its update strategy keeps them: lower it", *r.Partition)
		}
	}
	return ""
}

func toService(s *corev1.Service) application.Service {
	service := application.Service{Object: toObject(s), Selector: s.Spec.Selector}
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		service.ExternalName, service.Selector = s.Spec.ExternalName, nil
	}
	for _, p := range s.Spec.Ports {
		port := application.Port{Name: p.Name, Number: int(p.Port)}
		if p.AppProtocol != nil {
			port.Protocol = *p.AppProtocol
		}
		service.Ports = append(service.Ports, port)
	}
	return service
}

func toPod(p *corev1.Pod, owner object.Owner) application.Pod {
	pod := application.Pod{
		Object: toObject(p), OwnerKind: owner.Kind, OwnerName: owner.Name, Ordinal: -1,
		Address: p.Status.PodIP, Injected: object.Injected(p), Ending: p.DeletionTimestamp != nil,
		Finished: object.Finished(p), AgentTrouble: object.AgentTrouble(p), Holding: object.HoldingSince(p),
	}
	if p.DeletionTimestamp != nil {
		pod.Deadline = p.DeletionTimestamp.UTC()
	}
	if owner.Kind == application.StatefulSet {
		if n, err := strconv.Atoi(p.Name[strings.LastIndexByte(p.Name, '-')+1:]); err == nil {
			pod.Ordinal = n
		}
	}
	return pod
}

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/cluster"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/installation"
	bundlev1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// statusLine is one line of status.
type statusLine struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// State is ready, waiting or failed.
	State string `json:"state"`
	// Detail is the ends of a relation, the endpoints that an application waits for, what an Offer
	// offers to which namespaces, or the revision of a bundle.
	Detail  string `json:"detail,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Problems are the messages of the conditions that explain why it is not ready.
	Problems []string `json:"problems,omitempty"`
	// Waiting explains each endpoint that an application waits for.
	Waiting []v1alpha1.Wait `json:"waiting,omitempty"`
	// Pods explain which pods of an application do not run, are not ready, fail, do not end, or cannot be created.
	Pods []string `json:"pods,omitempty"`
}

// statusLines returns how the applications, relations, Offers and bundles of a namespace are, of all namespaces for "";
// unseen names what the user may not list of that.
func statusLines(
	ctx context.Context, kinds client.Client, namespace string, running controllers,
) (all []statusLine, unseen []string, err error) {
	var applications v1alpha1.RelatedApplicationList
	var relations v1alpha1.RelationList
	var offers v1alpha1.OfferList
	var bundles bundlev1alpha1.BundleDeploymentList
	for _, list := range []client.ObjectList{&applications, &relations, &offers, &bundles} {
		err = kinds.List(ctx, list, client.InNamespace(namespace))
		switch {
		case list == &bundles && meta.IsNoMatchError(err): // it has a controller of its own
		case list == &bundles && apierrors.IsForbidden(err):
			unseen = append(unseen, "BundleDeployments")
		case err != nil:
			return nil, nil, unreadable(namespace, err)
		}
	}
	all = []statusLine{}
	var pods troubles
	if len(applications.Items) > 0 {
		pods = troubles{cluster.LookAtPods(ctx, kinds, namespace), cluster.WorkloadTroubles(ctx, kinds, namespace)}
	}
	if pods.Forbidden {
		unseen = append(unseen, "Pods")
	}
	if slices.ContainsFunc(applications.Items, runsJobs) {
		pods.AddJobs(ctx, kinds, namespace)
	}
	for _, a := range applications.Items {
		all = append(all, applicationLine(&a, pods))
	}
	for _, r := range relations.Items {
		all = append(all, relationLine(&r))
	}
	var known []string
	if len(offers.Items) > 0 {
		known = namespaces(ctx, kinds)
	}
	for _, o := range offers.Items {
		all = append(all, offerLine(&o, known))
	}
	for _, d := range bundles.Items {
		all = append(all, bundleLine(&d, running))
	}
	slices.SortStableFunc(all, func(a, b statusLine) int { return strings.Compare(a.Namespace, b.Namespace) })
	return all, unseen, nil
}

// unreadable returns the error of a status that cannot be read, with its cure.
func unreadable(namespace string, err error) error {
	switch {
	case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
		return errNotInstalled
	case unlisted(err):
		return fmt.Errorf("cannot read the status: %w", err)
	case apierrors.IsForbidden(err) && namespace == "":
		return fmt.Errorf("you may not read every namespace: name one with -n, in which you have the cluster role view: %w", err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("you may not read namespace %s: use -n with one in which you have the cluster role view: %w", namespace, err)
	default:
		return fmt.Errorf("cannot read the status: %w", err)
	}
}

// troubles are those of pods, and of the workloads that cannot create any, by namespace and kind/name.
type troubles struct {
	cluster.Pods

	podless map[client.ObjectKey]string
}

// runsJobs reports whether an application is made of Jobs or CronJobs.
func runsJobs(a v1alpha1.RelatedApplication) bool {
	return slices.ContainsFunc(a.Status.Sources, func(source string) bool {
		return strings.HasPrefix(source, "Job/") || strings.HasPrefix(source, "CronJob/")
	})
}

// podsOf returns the names of an application's pods that have not ended, in order: its units, which have agents, and
// the others of its workloads. A bare pod that has failed made an application that has no objects any more.
func (t troubles) podsOf(a *v1alpha1.RelatedApplication) []string {
	var names []string
	ended := []string{a.Name}
	for _, u := range a.State.Units {
		if u.DepartureReason == "" {
			names = append(names, u.Pod)
		} else {
			ended = append(ended, u.Pod)
		}
	}
	for _, name := range ended {
		if len(a.Status.Sources) == 0 && t.Troubles[client.ObjectKey{Namespace: a.Namespace, Name: name}] != "" {
			names = append(names, name)
		}
	}
	for _, source := range a.Status.Sources {
		names = append(names, t.Living[client.ObjectKey{Namespace: a.Namespace, Name: source}]...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// applicationLine returns the line of an application, with the troubles of its pods and of the workloads that make them.
func applicationLine(a *v1alpha1.RelatedApplication, pods troubles) statusLine {
	st := lineOf("application", a.Namespace, a.Name, a.Status.Conditions)
	st.Waiting = a.Status.Waits
	var endpoints []string
	for _, w := range a.Status.Waits {
		endpoints = append(endpoints, w.Endpoint)
	}
	switch {
	case len(endpoints) > 0 && st.Reason == relation.ReasonWaiting:
		st.Detail = "waits for " + strings.Join(endpoints, ", ")
	case st.State == stateReady && st.Reason != relation.ReasonComplete:
		st.Detail = st.Message // a reference too many
	}
	names := pods.podsOf(a)
	for _, name := range names {
		if why := pods.Troubles[client.ObjectKey{Namespace: a.Namespace, Name: name}]; why != "" {
			st.Pods = append(st.Pods, why)
		}
	}
	if st.Detail == "" && len(st.Pods) > 0 {
		st.Detail = fmt.Sprintf("trouble with %d of %d pods", len(st.Pods), len(names))
	}
	for _, source := range a.Status.Sources {
		key := client.ObjectKey{Namespace: a.Namespace, Name: source}
		if why := pods.podless[key]; why != "" {
			st.Pods, st.Detail = append(st.Pods, why), cmp.Or(st.Detail, "pods are missing")
		}
		if why := pods.Failing[key]; why != "" {
			st.Pods, st.Detail = append(st.Pods, why), cmp.Or(st.Detail, "pods fail")
		}
	}
	return st
}

// relationLine returns the line of a Relation. While it is deleted it is never ready: the controller may not have seen that.
func relationLine(r *v1alpha1.Relation) statusLine {
	st := lineOf("relation", r.Namespace, r.Name, r.Status.Conditions)
	if !r.DeletionTimestamp.IsZero() {
		st = st.deleting()
	}
	st.Detail = convert.EndText(r.Spec.Requirer) + " → " + convert.EndText(r.Spec.Provider)
	if r.State.ID > 0 {
		st.Detail = fmt.Sprintf("%d: %s", r.State.ID, st.Detail)
	}
	return st
}

// namespaces lists the namespaces of the cluster; none where the user may not list them.
func namespaces(ctx context.Context, kinds client.Client) []string {
	list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NamespaceList"}}
	if err := kinds.List(ctx, list); err != nil {
		return nil // only a hint is left out
	}
	var all []string
	for _, n := range list.Items {
		all = append(all, n.Name)
	}
	return all
}

// offerLine returns the line of an Offer. It marks a consumer that is none of the known namespaces.
func offerLine(o *v1alpha1.Offer, known []string) statusLine {
	st := lineOf("offer", o.Namespace, o.Name, o.Status.Conditions)
	var consumers []string
	for _, name := range o.Spec.Consumers {
		near := spelling.Nearest(name, known)
		switch {
		case len(known) == 0 || slices.Contains(known, name):
		case near != "":
			name += fmt.Sprintf(" (no such namespace; did you mean %s?)", near)
		default:
			name += " (no such namespace)"
		}
		consumers = append(consumers, name)
	}
	st.Detail = fmt.Sprintf("%s:%s for %s", o.Spec.Application, o.Spec.Endpoint, strings.Join(consumers, ", "))
	return st
}

// kindBundle is the kind of the line of a BundleDeployment.
const kindBundle = "bundle"

func (st statusLine) isBundle() bool { return st.Kind == kindBundle }

// bundleLine returns the line of a BundleDeployment. While it is deleted it is never ready, since its
// conditions may be those from before.
func bundleLine(d *bundlev1alpha1.BundleDeployment, running controllers) statusLine {
	st := lineOf(kindBundle, d.Namespace, d.Name, d.Status.Conditions)
	if st.State == stateFailed && (d.Spec.Paused || meta.IsStatusConditionFalse(d.Status.Conditions, string(bundle.Approved))) {
		st.State = stateWaiting // as a person has asked
	}
	if len(d.Status.Conditions) == 0 {
		st.Problems = []string{"no bundle controller has seen it; if none is installed: " +
			installBundles}
	}
	if !d.DeletionTimestamp.IsZero() {
		st.deleted(running)
	}
	if d.Status.ActiveRevision > 0 {
		st.Detail = fmt.Sprintf("revision %d", d.Status.ActiveRevision)
	}
	return st
}

// deleted changes the line of a BundleDeployment that is being deleted.
func (st *statusLine) deleted(running controllers) {
	*st = st.deleting()
	if stuck := running.undeleted(); stuck != "" {
		st.State, st.Reason, st.Message, st.Problems = stateFailed, "Deleting", stuck, []string{stuck}
	}
}

// deleting returns the line of an object that is being deleted.
func (st statusLine) deleting() statusLine {
	if st.State == stateReady {
		st.State, st.Reason, st.Message = stateWaiting, "Deleting", "it is being deleted"
	}
	return st
}

// lineOf derives the state from the conditions that every kind has.
func lineOf(kind, namespace, name string, conditions []metav1.Condition) statusLine {
	st := statusLine{Kind: kind, Namespace: namespace, Name: name, State: stateWaiting, Reason: "Unknown",
		Message: "the controller has not seen it yet"}
	if ready := meta.FindStatusCondition(conditions, string(condition.Ready)); ready != nil {
		st.Reason, st.Message = ready.Reason, ready.Message
	}
	ready, messages := installation.Standing(conditions)
	switch {
	case ready:
		st.State = stateReady
		return st
	case meta.IsStatusConditionTrue(conditions, string(condition.Stalled)), slices.ContainsFunc(conditions, needsPerson):
		st.State = stateFailed
	}
	st.Problems = messages
	return st
}

// needsPerson reports whether a condition is a problem that does not pass by itself.
func needsPerson(c metav1.Condition) bool {
	t := condition.Type(c.Type)
	passes := t == condition.Held || t == condition.RestartsPaused
	return c.Status == metav1.ConditionTrue && condition.NeedsAttention(t) && !passes
}

// explained reports whether there is more to read than fits into the line.
func (st statusLine) explained() bool {
	return st.State != stateReady || len(st.Pods) > 0 || st.Detail != "" && st.Detail == st.Message
}

// explanations returns the sentences that explain a line: why it waits for its endpoints, each reason
// once, or the message of its condition; and which pods do not run.
func (st statusLine) explanations() []string {
	switch {
	case len(st.Problems) == 0 && len(st.Pods) > 0:
		return st.Pods
	case len(st.Problems) == 0:
		return []string{st.Message}
	}
	if len(st.Waiting) == 0 || st.Reason != relation.ReasonWaiting {
		return append(st.Problems, st.Pods...)
	}
	var lines []string
	for _, w := range st.Waiting {
		if !slices.Contains(lines, w.Message) {
			lines = append(lines, w.Message)
		}
	}
	return slices.Concat(lines, st.Problems[1:], st.Pods) // the first problem repeats what it waits for
}

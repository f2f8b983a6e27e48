package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bundlev1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
)

// shownSet is an IntegrationSet with its members, as fleet status prints it.
type shownSet struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// State is ready, waiting or failed.
	State   string `json:"state"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Stale tells how old the data are at least, if they cannot be fetched.
	Stale string `json:"stale,omitempty"`
	// Confirm is the command that confirms the removal; "" if none waits.
	Confirm string        `json:"confirm,omitempty"`
	Members []shownMember `json:"members"`
	// Status is that of the IntegrationSet.
	Status v1alpha1.IntegrationSetStatus `json:"status"`
}

// shownMember is a BundleDeployment that a set made.
type shownMember struct {
	// Integration is empty for what a namespace shares.
	Integration string `json:"integration"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	Declared    string `json:"declared"`
	State       string `json:"state"`
	// Problems explain why the member is not ready.
	Problems []string `json:"problems,omitempty"`

	deployment *bundlev1alpha1.BundleDeployment
}

// readSets returns the IntegrationSets of a namespace with their members; of all namespaces for "".
func readSets(ctx context.Context, kinds client.Client, namespace string, running controllers, now time.Time) ([]shownSet, error) {
	var sets v1alpha1.IntegrationSetList
	if err := kinds.List(ctx, &sets, client.InNamespace(namespace)); err != nil {
		return nil, unreadable(namespace, err)
	}
	members, err := readMembers(ctx, kinds, namespace, running)
	if err != nil {
		return nil, err
	}
	all := []shownSet{}
	for i := range sets.Items {
		s := &sets.Items[i]
		all = append(all, newShownSet(s, members[client.ObjectKeyFromObject(s)], now))
	}
	return all, nil
}

// readMembers returns the members of the sets of a namespace, by set.
func readMembers(
	ctx context.Context, kinds client.Client, namespace string, running controllers,
) (map[client.ObjectKey][]shownMember, error) {
	var bundles bundlev1alpha1.BundleDeploymentList
	if err := kinds.List(ctx, &bundles, client.InNamespace(namespace), client.HasLabels{v1alpha1.SetLabel}); err != nil {
		return nil, unreadable(namespace, err)
	}
	all := map[client.ObjectKey][]shownMember{}
	for i := range bundles.Items {
		d := &bundles.Items[i]
		set := client.ObjectKey{Namespace: d.Namespace, Name: d.Labels[v1alpha1.SetLabel]}
		all[set] = append(all[set], newShownMember(d, running))
	}
	for _, members := range all {
		slices.SortFunc(members, func(a, b shownMember) int { return a.key().Compare(b.key()) })
	}
	return all, nil
}

func newShownMember(d *bundlev1alpha1.BundleDeployment, running controllers) shownMember {
	line := bundleLine(d, running)
	m := shownMember{
		Integration: d.Annotations[v1alpha1.IntegrationKey], Namespace: d.Spec.Render.InstallNamespace, Name: d.Name,
		Declared: d.Annotations[v1alpha1.FileKey], State: line.State, deployment: d,
	}
	if at := d.Annotations[v1alpha1.LineKey]; at != "" && at != "0" {
		m.Declared += ":" + at
	}
	if m.State != stateReady {
		m.Problems = line.explanations()
	}
	return m
}

// key identifies the member in the data.
func (m shownMember) key() integrationset.Key {
	return integrationset.Key{Integration: m.Integration, Namespace: m.deployment.Annotations[v1alpha1.NamespaceKey]}
}

func newShownSet(s *v1alpha1.IntegrationSet, members []shownMember, now time.Time) shownSet {
	line := lineOf("set", s.Namespace, s.Name, s.Status.Conditions)
	shown := shownSet{
		Namespace: s.Namespace, Name: s.Name, State: line.State, Reason: line.Reason, Message: line.Message, Stale: stale(s, now),
		Members: append([]shownMember{}, members...), Status: s.Status,
	}
	switch {
	case len(s.Status.Conditions) == 0:
		shown.Message = "no bundle controller has seen it; if none is installed: " + installBundles
	case len(line.Problems) > 0:
		shown.Message = line.Problems[0] // not shortened
	}
	if s.Spec.Paused && line.State == stateFailed {
		shown.State = stateWaiting // as a person has asked
	}
	if r := s.Status.Removal; r != nil {
		shown.Confirm = fmt.Sprintf("kubectl annotate integrationset %s -n %s --overwrite %s=%s",
			s.Name, s.Namespace, v1alpha1.ConfirmKey, r.Digest)
	}
	return shown
}

// stale tells how old data are at least that cannot be fetched; "" for others.
func stale(s *v1alpha1.IntegrationSet, now time.Time) string {
	ready := meta.FindStatusCondition(s.Status.Conditions, string(condition.Ready))
	if ready == nil || ready.Status == metav1.ConditionTrue || ready.Reason != integrationset.FetchFailed {
		return ""
	}
	return "the data cannot be fetched, and the set is not ready for " + duration.HumanDuration(now.Sub(ready.LastTransitionTime.Time))
}

// count returns how many members have a state.
func (s shownSet) count(state string) int {
	n := 0
	for _, m := range s.Members {
		if m.State == state {
			n++
		}
	}
	return n
}

// title names a member for people.
func (m shownMember) title() string {
	return cmp.Or(m.Integration, "shared by all") + " in " + m.Namespace
}

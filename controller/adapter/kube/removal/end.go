package removal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// ErrDeaf is the error of ends that no unit can handle.
var ErrDeaf = errors.New("no unit with handlers is there for these ends of relations")

// Ends ends all relations of a cluster.
type Ends struct{ Cluster }

// All ends every relation, and waits until the handlers of both sides have handled that. It stops with ErrDeaf at the
// ends that no unit can handle, after all others have been.
func (e Ends) All(ctx context.Context) error {
	if err := e.optOut(ctx); err != nil {
		return err
	}
	var relations v1alpha1.RelationList
	if err := e.list(ctx, &relations); err != nil {
		return err
	}
	for i := range relations.Items {
		r := &relations.Items[i]
		if err := e.confirm(ctx, client.MatchingLabels{v1alpha1.LabelRelation: convert.Identity(r)}); err != nil {
			return err
		}
		if err := e.client.Delete(ctx, r); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("cannot end relation %s/%s: %w", r.Namespace, r.Name, err)
		}
		e.report(fmt.Sprintf("ended relation %s/%s", r.Namespace, r.Name))
	}
	if err := e.confirm(ctx); err != nil { // ends that were held before
		return err
	}
	return e.told(ctx)
}

// confirm notes on sides, all or some, that their relations may end with many others: the user has agreed to that
// (TRUST.md T4). It comes right before the end of each, for the choice stays where the relation goes on.
func (e Ends) confirm(ctx context.Context, of ...client.ListOption) error {
	var sides v1alpha1.RelationSideList
	if err := e.list(ctx, &sides, of...); err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.EndKey, v1alpha1.EndConfirm)
	for i := range sides.Items {
		s := &sides.Items[i]
		if s.Annotations[v1alpha1.EndKey] == v1alpha1.EndWaive {
			continue
		}
		if err := e.client.Patch(ctx, s, client.RawPatch(types.MergePatchType, patch)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("cannot confirm the end of relation side %s/%s: %w", s.Namespace, s.Name, err)
		}
	}
	return nil
}

// optOut removes the label from each namespace: else declarations would make the relations again.
func (e Ends) optOut(ctx context.Context) error {
	var list corev1.NamespaceList
	if err := e.list(ctx, &list, client.MatchingLabels{application.LabelOptIn: application.OptedIn}); err != nil {
		return err
	}
	for i := range list.Items {
		n := &list.Items[i]
		before := n.DeepCopy()
		delete(n.Labels, application.LabelOptIn)
		if err := e.client.Patch(ctx, n, client.MergeFrom(before)); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("cannot remove label %s from namespace %s: %w", application.LabelOptIn, n.Name, err)
		}
		e.report("removed label " + application.LabelOptIn + " from namespace " + n.Name)
	}
	return nil
}

// told waits until every relation is gone and no end is owed to a unit that is there.
func (e Ends) told(ctx context.Context) error {
	var deaf []relation.Side
	slow := slowness{report: e.report}
	err := until(ctx, func() (left string, err error) {
		census, err := e.living(ctx)
		if err != nil {
			return "", err
		}
		left, deaf = untold(census)
		slow.look(left)
		return left, nil
	})
	if err != nil || len(deaf) == 0 {
		return err
	}
	var lines []string
	for _, s := range deaf {
		lines = append(lines, Owing(s)+": opt its namespace in again and start one: "+application.OptIn(s.Here().Namespace)+
			"; or waive the end: "+waive(s))
	}
	return fmt.Errorf("%w:\n%s", ErrDeaf, strings.Join(lines, "\n"))
}

// untold returns what is still to be waited for, or nothing, and the ends that no unit can handle.
func untold(census relation.Census) (left string, deaf []relation.Side) {
	owed := census.Unhandled()
	for _, s := range owed {
		if census.Deaf(s) && !s.Held() {
			deaf = append(deaf, s)
		}
	}
	switch {
	case len(census.Relations) > 0:
		r := census.Relations[0]
		return fmt.Sprintf("relation %s/%s is still ending", r.Requirer.Namespace, r.Name), deaf
	case len(deaf) < len(owed):
		return fmt.Sprintf("ends that are still being handled: %d, the first by %s", len(owed)-len(deaf), waiting(owed, census)), deaf
	}
	return "", deaf
}

// slowness reports what is waited for, once, if that stays the same for a while.
type slowness struct {
	report func(string)
	left   string
	looks  int
}

// slow is how many looks have to show the same.
const slow = int(10 * time.Second / look)

func (s *slowness) look(left string) {
	if left != s.left {
		s.left, s.looks = left, 0
	}
	if s.looks++; s.looks == slow && left != "" {
		s.report("waits for " + left)
	}
}

// living reads the relations of all namespaces. Of applications that are owed an end it keeps the units whose pods are
// there, whatever labels these have: units of a namespace that has not opted in stay recorded when their pods go
// (SAFETY.md E13).
func (e Ends) living(ctx context.Context) (relation.Census, error) {
	census, err := e.Census(ctx)
	if err != nil {
		return census, err
	}
	lives := map[string]map[string]bool{}
	for _, side := range census.Unhandled() {
		here := side.Here()
		if lives[here.Namespace] == nil {
			if lives[here.Namespace], err = e.podsOf(ctx, here.Namespace); err != nil {
				return census, err
			}
		}
		of := relation.End{Namespace: here.Namespace, Application: here.Application}
		gone := func(u application.Unit) bool { return !lives[here.Namespace][u.PodUID] }
		census.Units[of] = slices.DeleteFunc(census.Units[of], gone)
	}
	return census, nil
}

// podsOf returns the UIDs of the pods of a namespace.
func (e Ends) podsOf(ctx context.Context, namespace string) (map[string]bool, error) {
	pods := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	err := e.list(ctx, &pods, client.InNamespace(namespace))
	all := map[string]bool{}
	for i := range pods.Items {
		all[string(pods.Items[i].UID)] = true
	}
	return all, err
}

// waiting names the first application that has yet to handle an end, and what helps.
func waiting(owed []relation.Side, census relation.Census) string {
	for _, s := range owed {
		if !census.Deaf(s) || s.Held() {
			return Owing(s) + ", which orcon status -n " + s.Here().Namespace + " explains; to end it without its handler: " + waive(s)
		}
	}
	return ""
}

// waive returns the command that ends what a side owes without its handler.
func waive(s relation.Side) string {
	return "orcon ends waive " + s.Name() + " -n " + s.Here().Namespace
}

// Owing names the application that a side owes an end to, and the relation.
func Owing(s relation.Side) string {
	here := s.Here()
	return fmt.Sprintf("%s/%s (%s, with %s)", here.Namespace, here.Application, here.Endpoint, s.Other(here).Written(here.Namespace))
}

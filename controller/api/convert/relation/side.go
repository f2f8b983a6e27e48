package relation

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// sideRoles returns the roles of sides as they are stored.
func sideRoles() map[application.Role]string {
	return map[application.Role]string{
		application.Requirer: v1alpha1.RoleRequirer, application.Provider: v1alpha1.RoleProvider, application.Peer: v1alpha1.RolePeer,
	}
}

// choices returns the decisions about an end as they are stored.
func choices() map[string]relation.Choice {
	return map[string]relation.Choice{
		v1alpha1.EndConfirm: relation.ChoiceConfirm, v1alpha1.EndKeep: relation.ChoiceKeep, v1alpha1.EndWaive: relation.ChoiceWaive,
	}
}

// ToRelationSide returns a side as the domain knows it.
func ToRelationSide(s *v1alpha1.RelationSide) (relation.Side, error) {
	d := relation.Side{
		Key:      relation.Key{Requirer: toEnd(s.Spec.Requirer, s.Namespace), Provider: toEnd(s.Spec.Provider, s.Namespace)},
		Relation: s.Spec.Relation, Interface: s.Spec.Interface, Version: int(s.Spec.InterfaceVersion),
		Known: s.State.KnownTo == v1alpha1.AudienceHandlers, Choice: choices()[s.Annotations[v1alpha1.EndKey]],
	}
	for role, stored := range sideRoles() {
		if stored == s.Spec.Role {
			d.Role = role
		}
	}
	id, err := value.Int(s.Spec.ID)
	if err != nil {
		return d, fmt.Errorf("cannot read relation side %q: id: %w", s.Name, err)
	}
	d.ID = id
	if d.Teardown, err = toTeardown(s.State.End); err != nil {
		return d, fmt.Errorf("cannot read relation side %q: end: %w", s.Name, err)
	}
	if s.Name != d.Name() || d.Here().Namespace != s.Namespace {
		return d, fmt.Errorf("cannot read relation side %q: it is not the name of the %s of its ends", s.Name, s.Spec.Role)
	}
	return d, nil
}

func toTeardown(end *v1alpha1.RelationSideEnd) (*relation.Teardown, error) {
	if end == nil {
		return nil, nil //nolint:nilnil // the relation has not ended
	}
	t := &relation.Teardown{Since: end.Time.UTC(), Reason: end.Reason}
	t.Handled, t.Held = end.State == v1alpha1.EndHandled, end.State == v1alpha1.EndHeld
	for _, number := range end.RemoteUnits {
		other, err := value.Int(number)
		if err != nil {
			return nil, err
		}
		t.Others = append(t.Others, other)
	}
	var err error
	t.Owed, err = toUnits(end.PendingUnits)
	return t, err
}

// ForRelationSide returns the object of a side, in the namespace of its end.
func ForRelationSide(d relation.Side) *v1alpha1.RelationSide {
	namespace := d.Here().Namespace
	s := &v1alpha1.RelationSide{Spec: v1alpha1.RelationSideSpec{
		Relation: d.Relation, ID: int64(d.ID), Role: sideRoles()[d.Role],
		Requirer: forEnd(d.Requirer, namespace), Provider: forEnd(d.Provider, namespace),
		Interface: d.Interface, InterfaceVersion: value.FromInt(d.Version),
	}}
	s.Namespace, s.Name = namespace, d.Name()
	s.Labels = map[string]string{v1alpha1.LabelRelation: d.Relation}
	KeepRelationSide(s, d)
	return s
}

// KeepRelationSide writes the state of a side into its object. What has been stored since d was decided stays: answers
// of units, and that an end is no longer held.
func KeepRelationSide(s *v1alpha1.RelationSide, d relation.Side) {
	if d.Known {
		s.State.KnownTo = v1alpha1.AudienceHandlers
	}
	was := s.State.End
	switch {
	case d.Teardown == nil && was != nil && was.State == v1alpha1.EndHeld && d.Choice == relation.ChoiceKeep:
		s.State.End = nil
		return
	case d.Teardown == nil:
		return
	case was == nil && s.Annotations[v1alpha1.EndKey] == v1alpha1.EndKeep: // it was about an earlier end
		delete(s.Annotations, v1alpha1.EndKey)
	}
	debt := d.Teardown.Debt
	if was != nil {
		debt.Handled = debt.Handled || was.State == v1alpha1.EndHandled
		debt = debt.Without(func(u conversation.Unit) bool { return !slices.Contains(was.PendingUnits, u.String()) })
	}
	s.State.End = &v1alpha1.RelationSideEnd{Time: metav1.NewTime(d.Teardown.Since), Reason: d.Teardown.Reason}
	for _, number := range d.Teardown.Others {
		s.State.End.RemoteUnits = append(s.State.End.RemoteUnits, int64(number))
	}
	setDebt(s.State.End, debt)
	if d.Teardown.Held && (was == nil || was.State == v1alpha1.EndHeld) {
		s.State.End.State = v1alpha1.EndHeld
	}
}

func setDebt(end *v1alpha1.RelationSideEnd, debt conversation.Debt) {
	end.PendingUnits, end.State = fromUnits(debt.Owed), ""
	if debt.Handled {
		end.State = v1alpha1.EndHandled
	}
}

// AnswerEnd notes that a unit has answered for the end of a side's relation, and reports whether that is new.
func AnswerEnd(s *v1alpha1.RelationSide, by conversation.Unit, handled bool) (differs bool) {
	end := s.State.End
	if end == nil {
		return false
	}
	was := end.State == v1alpha1.EndHandled
	owed, err := toUnits(end.PendingUnits)
	if err != nil || end.State == v1alpha1.EndHeld || !slices.Contains(owed, by) && (was || !handled) {
		return false
	}
	setDebt(end, conversation.Debt{Owed: owed, Handled: was}.Answered(by, handled))
	return true
}

func forEnd(e relation.End, namespace string) v1alpha1.RelationEnd {
	end := v1alpha1.RelationEnd{Application: e.Application, Endpoint: e.Endpoint}
	if e.Namespace != namespace {
		end.Namespace = e.Namespace
	}
	return end
}

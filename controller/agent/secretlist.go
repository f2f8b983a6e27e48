package agent

import (
	"fmt"
	"slices"
	"time"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// List returns the secrets that the unit may manage, as they are with the
// transaction.
func (t *toolContext) List() ([]tool.Secret, error) {
	if err := t.begin(); err != nil {
		return nil, err
	}
	response, err := t.speech.listSecrets(t.ctx)
	if err != nil {
		return nil, err
	}
	var all []tool.Secret
	for _, s := range response.GetSecrets() {
		all = append(all, t.toTool(s))
	}
	for _, w := range t.secrets.writes {
		all = t.overlaid(all, w)
	}
	return all, nil
}

func (t *toolContext) toTool(s *wire.Secret) tool.Secret {
	out := tool.Secret{
		ID: tool.SecretID{ID: s.GetId()}, Revision: int(s.GetRevision()), Label: s.GetLabel(), Owner: tool.OwnedByApplication,
		Description: s.GetDescription(), Rotation: tool.Rotation(s.GetRotation()), Expires: fromSeconds(s.GetExpires()), Rotates: fromSeconds(s.GetRotates()),
	}
	if s.GetOwn() {
		out.Owner = tool.OwnedByUnit
	}
	for _, a := range s.GetAccess() {
		out.Access = append(out.Access, t.toAccess(a))
	}
	return out
}

func (t *toolContext) toAccess(a *wire.SecretAccess) tool.SecretAccess {
	out := tool.SecretAccess{Target: a.GetApplication(), Scope: a.GetRelation()}
	i := slices.IndexFunc(t.snapshot.Relations, func(r conversation.Relation) bool { return r.UID == a.GetRelation() })
	if i >= 0 {
		r := t.snapshot.Relations[i]
		out.Target, out.Scope = r.Remote, fmt.Sprintf("%s:%d", r.Endpoint, r.ID)
	}
	if a.GetUnit() != "" {
		out.Target += "/" + a.GetUnit()
	}
	return out
}

// overlaid returns secrets as they are after a write that is not committed yet.
func (t *toolContext) overlaid(all []tool.Secret, w *wire.SecretWrite) []tool.Secret {
	if w.GetKind() == string(secret.Add) {
		all = append(all, t.toTool(&wire.Secret{Id: w.GetId(), Own: w.GetOwn()}))
	}
	i := slices.IndexFunc(all, func(s tool.Secret) bool { return s.ID.ID == w.GetId() })
	if i < 0 {
		return all
	}
	switch secret.Kind(w.GetKind()) {
	case secret.Add, secret.Set:
		change(&all[i], w)
	case secret.Grant:
		all[i].Access = append(all[i].Access, t.toAccess(w.GetAccess()))
	case secret.Revoke:
		from := t.toAccess(w.GetAccess())
		all[i].Access = slices.DeleteFunc(all[i].Access, func(a tool.SecretAccess) bool {
			return (from.Scope == "" || a.Scope == from.Scope) && (from.Target == "" || a.Target == from.Target)
		})
	case secret.Remove:
		if w.GetRevision() == 0 {
			return slices.Delete(all, i, i+1)
		}
	}
	return all
}

func change(s *tool.Secret, w *wire.SecretWrite) {
	if len(w.GetContent()) > 0 {
		s.Revision++
		s.Expires = time.Time{}
	}
	if w.GetLabel() != "" {
		s.Label = w.GetLabel()
	}
	if w.GetDescription() != "" {
		s.Description = w.GetDescription()
	}
	if w.GetRotation() != "" {
		s.Rotation = tool.Rotation(w.GetRotation())
	}
	if w.GetExpires() != 0 {
		s.Expires = fromSeconds(w.GetExpires())
	}
}

func toSeconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

func fromSeconds(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

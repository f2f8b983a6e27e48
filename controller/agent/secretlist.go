package agent

import (
	"fmt"
	"slices"
	"time"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/agent"
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
	var response *wire.ListSecretsResponse
	err := patiently(t.ctx, t.wait, func() (err error) {
		response, err = t.speech.listSecrets(t.ctx)
		return err
	})
	if err != nil {
		return nil, t.answers.note(err)
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
		Description: s.GetDescription(), Rotation: tool.Rotation(s.GetRotation()), Expires: convert.ToTime(s.GetExpires()), Rotates: convert.ToTime(s.GetRotates()),
	}
	if s.GetOwn() {
		out.Owner = tool.OwnedByUnit
	}
	for _, a := range s.GetAccess() {
		out.Access = append(out.Access, t.toAccess(convert.ToAccess(a)))
	}
	return out
}

func (t *toolContext) toAccess(a secret.Access) tool.SecretAccess {
	out := tool.SecretAccess{Target: a.Application, Scope: a.Relation}
	i := slices.IndexFunc(t.snapshot.Relations, func(r conversation.Relation) bool { return r.UID == a.Relation })
	if i >= 0 {
		r := t.snapshot.Relations[i]
		out.Target, out.Scope = r.Remote, fmt.Sprintf("%s:%d", r.Endpoint, r.ID)
	}
	if a.Unit != "" {
		out.Target += "/" + a.Unit
	}
	return out
}

// overlaid returns secrets as they are after a write that is not committed yet.
func (t *toolContext) overlaid(all []tool.Secret, w secret.Draft) []tool.Secret {
	if w.Kind == secret.Add {
		all = append(all, t.toTool(&wire.Secret{Id: w.ID, Own: w.Own}))
	}
	i := slices.IndexFunc(all, func(s tool.Secret) bool { return s.ID.ID == w.ID })
	if i < 0 {
		return all
	}
	switch w.Kind {
	case secret.Add, secret.Set:
		change(&all[i], w)
	case secret.Grant:
		all[i].Access = append(all[i].Access, t.toAccess(w.Access))
	case secret.Revoke:
		from := t.toAccess(w.Access)
		all[i].Access = slices.DeleteFunc(all[i].Access, func(a tool.SecretAccess) bool {
			return (from.Scope == "" || a.Scope == from.Scope) && (from.Target == "" || a.Target == from.Target)
		})
	case secret.Remove:
		if w.Revision == 0 {
			return slices.Delete(all, i, i+1)
		}
	}
	return all
}

func change(s *tool.Secret, w secret.Draft) {
	if len(w.Content) > 0 {
		s.Revision++
		s.Expires = time.Time{}
	}
	if w.Label != "" {
		s.Label = w.Label
	}
	if w.Description != "" {
		s.Description = w.Description
	}
	if w.Rotation != "" {
		s.Rotation = tool.Rotation(w.Rotation)
	}
	if !w.Expires.IsZero() {
		s.Expires = w.Expires
	}
}

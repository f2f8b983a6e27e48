package agent

import (
	"fmt"
	"slices"
	"strconv"
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
	unit := t.snapshot.Unit
	by := secret.Unit{Application: unit.Application, Number: strconv.Itoa(unit.Number), Leads: true}
	var known []secret.Secret
	for _, s := range response.GetSecrets() {
		known = append(known, convert.ToOwned(s, by))
	}
	for _, w := range t.secrets.writes {
		known = asWritten(known, w, by)
	}
	var all []tool.Secret
	for _, s := range known {
		if !s.Ended() {
			all = append(all, t.toTool(s))
		}
	}
	return all, nil
}

func (t *toolContext) toTool(s secret.Secret) tool.Secret {
	latest := s.Revisions[len(s.Revisions)-1]
	out := tool.Secret{
		ID: tool.SecretID{ID: s.ID}, Revision: latest.Number, Label: s.Label, Owner: tool.OwnedByApplication,
		Description: s.Description, Rotation: tool.Rotation(s.Rotation), Expires: latest.Expires, Rotates: s.Rotates,
	}
	if s.Owner.Unit != "" {
		out.Owner = tool.OwnedByUnit
	}
	for _, a := range s.Access {
		if !a.Revoked {
			out.Access = append(out.Access, t.toAccess(a))
		}
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

// asWritten returns secrets as they are once a write is committed. One that will be refused changes nothing, and neither does
// the end of a single revision: only the latest of a secret is known.
func asWritten(all []secret.Secret, w secret.Draft, by secret.Unit) []secret.Secret {
	if w.Kind == secret.Add {
		all = append(all, secret.Secret{ID: w.ID})
	}
	i := slices.IndexFunc(all, func(s secret.Secret) bool { return s.ID == w.ID })
	if i < 0 || w.Revision > 0 {
		return all
	}
	if len(w.Content) > 0 {
		w.Place = secret.Place{Key: w.ID}
	}
	if is, err := secret.Apply(all[i], w.Write, by, time.Now()); err == nil {
		all[i] = is
	}
	return all
}

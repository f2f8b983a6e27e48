package agent

import (
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// ToDraft returns a write of a secret with its content.
func ToDraft(w *wire.SecretWrite) secret.Draft {
	return secret.Draft{Content: w.GetContent(), Write: secret.Write{
		Kind: secret.Kind(w.GetKind()), ID: w.GetId(), Own: w.GetOwn(),
		Label: w.GetLabel(), Description: w.GetDescription(), Rotation: secret.Rotation(w.GetRotation()),
		Expires: ToTime(w.GetExpires()), Revision: int(w.GetRevision()), Access: ToAccess(w.GetAccess()),
	}}
}

// ForDrafts returns writes of secrets with their content.
func ForDrafts(drafts []secret.Draft) []*wire.SecretWrite {
	var all []*wire.SecretWrite
	for _, d := range drafts {
		w := &wire.SecretWrite{
			Kind: string(d.Kind), Id: d.ID, Own: d.Own, Content: d.Content,
			Label: d.Label, Description: d.Description, Rotation: string(d.Rotation),
			Expires: ForTime(d.Expires), Revision: int64(d.Revision),
		}
		if (d.Access != secret.Access{}) {
			w.Access = forAccess(d.Access)
		}
		all = append(all, w)
	}
	return all
}

// ForOwned returns what the owner of a secret may know of it but for its content. The secret has a
// revision.
func ForOwned(s secret.Secret) *wire.Secret {
	latest := s.Revisions[len(s.Revisions)-1]
	out := &wire.Secret{
		Id: s.ID, Revision: int64(latest.Number), Label: s.Label, Own: s.Owner.Unit != "", Description: s.Description,
		Rotation: string(s.Rotation), Expires: ForTime(latest.Expires), Rotates: ForTime(s.Rotates),
	}
	for _, a := range s.Access {
		if !a.Revoked {
			out.Access = append(out.Access, forAccess(a))
		}
	}
	return out
}

// ToOwned returns a secret that a unit may manage as far as it may know it: with its latest revision alone.
func ToOwned(s *wire.Secret, by secret.Unit) secret.Secret {
	out := secret.Secret{
		ID: s.GetId(), Owner: secret.Owner{Application: by.Application}, Label: s.GetLabel(), Description: s.GetDescription(),
		Rotation: secret.Rotation(s.GetRotation()), Rotates: ToTime(s.GetRotates()), Latest: int(s.GetRevision()),
		Revisions: []secret.Revision{{Number: int(s.GetRevision()), Expires: ToTime(s.GetExpires())}},
	}
	if s.GetOwn() {
		out.Owner.Unit = by.Number
	}
	for _, a := range s.GetAccess() {
		out.Access = append(out.Access, ToAccess(a))
	}
	return out
}

// ToAccess returns a grant of a secret.
func ToAccess(a *wire.SecretAccess) secret.Access {
	return secret.Access{Relation: a.GetRelation(), Application: a.GetApplication(), Unit: a.GetUnit()}
}

func forAccess(a secret.Access) *wire.SecretAccess {
	return &wire.SecretAccess{Relation: a.Relation, Application: a.Application, Unit: a.Unit}
}

// ToQuery returns how a unit reads a secret.
func ToQuery(r *wire.GetSecretRequest) secret.Query {
	return secret.Query{Label: r.GetLabel(), Peek: r.GetPeek(), Refresh: r.GetRefresh(), Revision: int(r.GetRevision())}
}

// ForQuery requests a secret by its ID, which may be empty.
func ForQuery(id string, q secret.Query) *wire.GetSecretRequest {
	return &wire.GetSecretRequest{Id: id, Label: q.Label, Peek: q.Peek, Refresh: q.Refresh, Revision: int64(q.Revision)}
}

// ToReading returns what a unit reads of a secret.
func ToReading(r *wire.GetSecretResponse) secret.Reading {
	return secret.Reading{ID: r.GetId(), Revision: int(r.GetRevision()), Content: r.GetContent()}
}

// ForReading returns what a unit reads of a secret.
func ForReading(r secret.Reading) *wire.GetSecretResponse {
	return &wire.GetSecretResponse{Id: r.ID, Revision: int64(r.Revision), Content: r.Content}
}

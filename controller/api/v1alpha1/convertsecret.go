package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// ToDomain returns the secret.
func (s *RelatedSecret) ToDomain() secret.Secret {
	d := secret.Secret{
		ID: s.Name, Owner: secret.Owner{Application: s.Spec.Application, Unit: s.Spec.Unit},
		Label: s.Status.Label, Description: s.Status.Description,
		Rotation: secret.Rotation(s.Status.Rotation), Rotates: toTime(s.Status.RotationTime), Latest: int(s.Status.LatestRevision),
	}
	for _, r := range s.Status.Revisions {
		d.Revisions = append(d.Revisions, secret.Revision{
			Number: int(r.Number), Place: secret.Place{Shard: int(r.Shard), Key: r.Key},
			Created: r.CreationTime.UTC(), Expires: toTime(r.ExpirationTime),
		})
	}
	for _, a := range s.Status.Access {
		d.Access = append(d.Access, a.toDomain())
	}
	for _, r := range s.Status.Readers {
		d.Readers = append(d.Readers, secret.Reader{Application: r.Application, Unit: r.Unit, Revision: int(r.Revision), Label: r.Label})
	}
	return d
}

// SetSecret writes the secret into the status; its owner is in the spec.
func (s *RelatedSecret) SetSecret(d secret.Secret, now time.Time) {
	stored := condition.Settled("Stored", "the secret is stored")
	s.Status = RelatedSecretStatus{
		ObservedGeneration: s.Generation, Label: d.Label, Description: d.Description,
		Rotation: Rotation(d.Rotation), RotationTime: fromTime(d.Rotates), LatestRevision: int64(d.Latest),
		Term: s.Status.Term, Transaction: s.Status.Transaction,
		Conditions: setConditions(s.Status.Conditions, stored, s.Generation, now),
	}
	for _, r := range d.Revisions {
		s.Status.Revisions = append(s.Status.Revisions, SecretRevision{
			Number: int64(r.Number), Shard: fromInt(r.Place.Shard), Key: r.Place.Key,
			CreationTime: metav1.NewTime(r.Created), ExpirationTime: fromTime(r.Expires),
		})
	}
	for _, a := range d.Access {
		s.Status.Access = append(s.Status.Access, *fromAccess(a))
	}
	for _, r := range d.Readers {
		s.Status.Readers = append(s.Status.Readers, SecretReader{
			Application: r.Application, Unit: r.Unit, Revision: int64(r.Revision), Label: r.Label,
		})
	}
}

func (a SecretAccess) toDomain() secret.Access {
	return secret.Access{
		Relation: a.RelationUID, Name: a.Relation, Namespace: a.RelationNamespace, Application: a.Application, Unit: a.Unit,
		Revoked: a.State == AccessRevoked,
	}
}

func fromAccess(a secret.Access) *SecretAccess {
	out := &SecretAccess{Relation: a.Name, RelationNamespace: a.Namespace, RelationUID: a.Relation, Application: a.Application, Unit: a.Unit}
	if a.Revoked {
		out.State = AccessRevoked
	}
	return out
}

// ForWrite returns a write of a secret as an outbox stores it.
func ForWrite(d secret.Write) SecretWrite {
	w := SecretWrite{
		Kind: string(d.Kind), ID: d.ID, Shard: fromInt(d.Place.Shard), Key: d.Place.Key,
		Label: d.Label, Description: d.Description, Rotation: Rotation(d.Rotation),
		ExpirationTime: fromTime(d.Expires), Revision: int64(d.Revision),
	}
	if d.Kind == secret.Add {
		w.Owner = OwnedByApplication
		if d.Own {
			w.Owner = OwnedByUnit
		}
	}
	if (d.Access != secret.Access{}) {
		w.Access = fromAccess(d.Access)
	}
	return w
}

// ToDomain returns the write.
func (w SecretWrite) ToDomain() secret.Write {
	d := secret.Write{
		Kind: secret.Kind(w.Kind), ID: w.ID, Own: w.Owner == OwnedByUnit, Place: secret.Place{Shard: int(w.Shard), Key: w.Key},
		Label: w.Label, Description: w.Description, Rotation: secret.Rotation(w.Rotation),
		Expires: toTime(w.ExpirationTime), Revision: int(w.Revision),
	}
	if w.Access != nil {
		d.Access = w.Access.toDomain()
	}
	return d
}

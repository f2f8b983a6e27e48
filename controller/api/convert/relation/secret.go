package relation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// ToSecret returns a secret as the domain knows it.
func ToSecret(s *v1alpha1.RelatedSecret) secret.Secret {
	d := secret.Secret{
		ID: s.Name, Made: s.CreationTimestamp.UTC(), Owner: secret.Owner{Application: s.Spec.Application, Unit: s.Spec.Unit},
		Label: s.State.Label, Description: s.State.Description,
		Rotation: secret.Rotation(s.State.Rotation), Rotates: value.Time(s.State.RotationTime), Latest: int(s.State.LatestRevision),
		Removed: value.Time(s.State.RemovalTime),
	}
	for _, r := range s.State.Revisions {
		d.Revisions = append(d.Revisions, secret.Revision{
			Number: int(r.Number), Place: secret.Place{Shard: int(r.Shard), Key: r.Key},
			Created: r.CreationTime.UTC(), Expires: value.Time(r.ExpirationTime),
		})
	}
	for _, a := range s.State.Access {
		d.Access = append(d.Access, toAccess(a))
	}
	for _, r := range s.State.Readers {
		d.Readers = append(d.Readers, secret.Reader{
			Application: r.Application, Unit: r.Unit, Revision: int(r.Revision), Label: r.Label, Since: value.Time(r.ReadTime),
		})
	}
	return d
}

// SetSecret writes the domain's secret into the state; its owner stays.
func SetSecret(s *v1alpha1.RelatedSecret, d secret.Secret) {
	s.State = v1alpha1.RelatedSecretState{
		Label: d.Label, Description: d.Description,
		Rotation: v1alpha1.Rotation(d.Rotation), RotationTime: value.FromTime(d.Rotates), LatestRevision: int64(d.Latest),
		RemovalTime: value.FromTime(d.Removed), Term: s.State.Term, Transaction: s.State.Transaction,
	}
	for _, r := range d.Revisions {
		s.State.Revisions = append(s.State.Revisions, v1alpha1.SecretRevision{
			Number: int64(r.Number), Shard: value.FromInt(r.Place.Shard), Key: r.Place.Key,
			CreationTime: metav1.NewTime(r.Created), ExpirationTime: value.FromTime(r.Expires),
		})
	}
	for _, a := range d.Access {
		s.State.Access = append(s.State.Access, *fromAccess(a))
	}
	for _, r := range d.Readers {
		s.State.Readers = append(s.State.Readers, v1alpha1.SecretReader{
			Application: r.Application, Unit: r.Unit, Revision: int64(r.Revision), Label: r.Label, ReadTime: value.FromTime(r.Since),
		})
	}
}

func toAccess(a v1alpha1.SecretAccess) secret.Access {
	return secret.Access{
		Relation: a.RelationUID, Name: a.Relation, Namespace: a.RelationNamespace,
		Application: a.Application, Unit: a.Unit, Revoked: a.State == v1alpha1.AccessRevoked,
	}
}

func fromAccess(a secret.Access) *v1alpha1.SecretAccess {
	out := &v1alpha1.SecretAccess{
		Relation: a.Name, RelationNamespace: a.Namespace, RelationUID: a.Relation, Application: a.Application, Unit: a.Unit,
	}
	if a.Revoked {
		out.State = v1alpha1.AccessRevoked
	}
	return out
}

// ForWrite returns a write as an outbox keeps it.
func ForWrite(d secret.Write) v1alpha1.SecretWrite {
	w := v1alpha1.SecretWrite{
		Kind: string(d.Kind), ID: d.ID, Shard: value.FromInt(d.Place.Shard), Key: d.Place.Key,
		Label: d.Label, Description: d.Description, Rotation: v1alpha1.Rotation(d.Rotation),
		ExpirationTime: value.FromTime(d.Expires), Revision: int64(d.Revision),
	}
	if d.Kind == secret.Add {
		w.Owner = v1alpha1.OwnedByApplication
		if d.Own {
			w.Owner = v1alpha1.OwnedByUnit
		}
	}
	if (d.Access != secret.Access{}) {
		w.Access = fromAccess(d.Access)
	}
	return w
}

// ToWrite returns a write of an outbox.
func ToWrite(w v1alpha1.SecretWrite) secret.Write {
	d := secret.Write{
		Kind: secret.Kind(w.Kind), ID: w.ID, Own: w.Owner == v1alpha1.OwnedByUnit, Place: secret.Place{Shard: int(w.Shard), Key: w.Key},
		Label: w.Label, Description: w.Description, Rotation: secret.Rotation(w.Rotation),
		Expires: value.Time(w.ExpirationTime), Revision: int(w.Revision),
	}
	if w.Access != nil {
		d.Access = toAccess(*w.Access)
	}
	return d
}

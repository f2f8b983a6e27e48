package agent

import (
	"fmt"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// Databags returns the bags of a snapshot, each as often as it is in it.
func Databags(s *wire.Snapshot) []*wire.Databag {
	var all []*wire.Databag
	for _, r := range s.GetRelations() {
		all = append(all, r.GetBag())
		for _, u := range r.GetUnits() {
			all = append(all, u.GetBag())
		}
		for _, u := range r.GetDeparted() {
			all = append(all, u.GetBag())
		}
	}
	for _, o := range s.GetOwn() {
		all = append(all, o.GetBag(), o.GetApplication())
	}
	return all
}

// ToUpdate returns a snapshot, whose contents bags have, as the domain knows it. An absent message reads as an empty one.
func ToUpdate(s *wire.Snapshot, bags conversation.Bags) conversation.Update {
	u := s.GetUnit()
	out := conversation.Update{
		Revisions: s.GetRevisions(), Reset: s.GetWentBack(), LastRelation: int(s.GetLastRelation()),
		View: conversation.View{Application: u.GetApplication(), Namespace: u.GetNamespace(), Bags: bags},
		Own: conversation.Own{
			Number: int(u.GetNumber()), Known: u.GetKnown(), Leaving: conversation.Reason(u.GetLeaving()), Returns: u.GetReturns(),
			Ignored: u.GetIgnored(), Deadline: ToTime(u.GetDeadline()),
		},
	}
	for _, r := range s.GetRelations() {
		out.View.Relations = append(out.View.Relations, toRelation(r, out.View.Namespace))
	}
	for _, w := range s.GetWaiting() {
		waiting := conversation.Waiting{Endpoint: w.GetEndpoint(), Reason: w.GetReason(), Message: w.GetMessage()}
		out.View.Waiting = append(out.View.Waiting, waiting)
	}
	for _, o := range s.GetOwn() {
		out.Own.Sides = append(out.Own.Sides, toSide(o, out.View.Application))
	}
	for _, k := range s.GetSecrets() {
		out.Own.Secrets = append(out.Own.Secrets, toSecret(k))
	}
	return out
}

// ForUnit returns a unit as its application knows it.
func ForUnit(v conversation.View, own conversation.Own) *wire.Unit {
	return &wire.Unit{
		Application: v.Application, Namespace: v.Namespace,
		Number: int64(own.Number), Known: own.Known, Leaving: string(own.Leaving), Returns: own.Returns, Ignored: own.Ignored,
		Deadline: ForTime(own.Deadline),
	}
}

// ForSide returns a unit's own side of a relation, with its bags.
func ForSide(side conversation.Side, bags conversation.Bags) *wire.Own {
	out := &wire.Own{Relation: side.Relation, Bag: ForBag(side.Bag, bags)}
	if !side.ApplicationBag.IsZero() {
		out.Application = ForBag(side.ApplicationBag, bags)
	}
	if writer := side.ApplicationWriter; writer.Application != "" {
		out.ApplicationWriter = strconv.Itoa(writer.Number)
	}
	return out
}

func toSide(o *wire.Own, application string) conversation.Side {
	side := conversation.Side{Relation: o.GetRelation(), Bag: RefTo(o.GetBag())}
	if o.GetApplication() != nil {
		side.ApplicationBag = RefTo(o.GetApplication()).OrEmpty()
	}
	side.ApplicationWriter, _ = conversation.ParseUnit(application + "/" + o.GetApplicationWriter()) // none where it is not known
	return side
}

// ForSecret returns a secret that a unit knows.
func ForSecret(s conversation.Secret) *wire.KnownSecret {
	return &wire.KnownSecret{
		Id: s.ID, Label: s.Label, Latest: int64(s.Latest), Kept: int64(s.Kept), Own: s.Own,
		Rotates: ForTime(s.Rotates), Expires: ForTime(s.Expires),
	}
}

func toSecret(k *wire.KnownSecret) conversation.Secret {
	return conversation.Secret{
		ID: k.GetId(), Label: k.GetLabel(), Latest: int(k.GetLatest()), Kept: int(k.GetKept()), Own: k.GetOwn(),
		Rotates: ToTime(k.GetRotates()), Expires: ToTime(k.GetExpires()),
	}
}

// ForTime returns a time in seconds since 1970, 0 for the zero time.
func ForTime(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// ToTime returns the time of seconds since 1970, the zero time for 0.
func ToTime(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// EncodeMemory returns what of an update outlives the agent's process. What only the latest snapshot
// can know is not in it, and of a bag whose content the view lacks the version alone.
func EncodeMemory(u conversation.Update) ([]byte, error) {
	own := conversation.Own{Number: u.Own.Number, Known: u.Own.Known}
	s := &wire.Snapshot{Revisions: u.Revisions, Unit: ForUnit(u.View, own), LastRelation: int64(u.LastRelation)}
	for _, r := range u.View.Relations {
		s.Relations = append(s.Relations, forMemory(r, u.View))
	}
	memory, err := proto.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("cannot encode the agent's memory: %w", err)
	}
	return memory, nil
}

// ParseMemory reads what EncodeMemory wrote.
func ParseMemory(memory []byte) (*wire.Snapshot, error) {
	s := &wire.Snapshot{}
	if err := proto.Unmarshal(memory, s); err != nil {
		return nil, fmt.Errorf("cannot read the agent's memory: %w", err)
	}
	return s, nil
}

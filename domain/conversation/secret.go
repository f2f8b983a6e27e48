package conversation

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Secret is a secret that a unit reads, or owns and must care for.
type Secret struct {
	ID string
	// Label is the unit's own name for it, for an owner the owner's.
	Label string
	// Latest is the last revision; Kept the one that the unit reads until it refreshes,
	// 0 for an owner or a unit that always reads the latest.
	Latest, Kept int
	// Own says that the unit owns it; an application's is cared for by its leader.
	Own bool
	// Rotates is the time by which its owner must make a new revision, and Expires the end of the latest one; zero
	// for never, and for secrets of other owners.
	Rotates, Expires time.Time
}

// ToldSecret records the events of a secret that a unit has received.
type ToldSecret struct {
	// Changed and Expired are the revisions that were announced last.
	Changed int `json:"changed,omitempty"`
	Expired int `json:"expired,omitempty"`
	// Rotated is the time to rotate that was announced last.
	Rotated time.Time `json:"rotated,omitzero"`
	// Again is set if the secret has changed whatever its revision is, since the store went back (TRUST.md T6).
	Again bool `json:"again,omitempty"`
}

// nextSecret returns the first event of a secret that is owed, in order of ID. Each is announced once: a later
// revision than the kept one, for each such revision; a rotation, for each time that it is due; the end of the latest
// revision, for each revision.
func nextSecret(m Memory, s *Snapshot) (Event, bool) {
	if s.Leaving != "" {
		return Event{}, false
	}
	for _, secret := range m.secrets(s) {
		told := m.Secrets[secret.ID]
		cares := secret.Own || s.Leader
		e := Event{Secret: secret.ID, Label: secret.Label, Revision: secret.Latest}
		switch {
		case told.Again && !secret.Own, secret.Kept > 0 && secret.Kept < secret.Latest && told.Changed < secret.Latest:
			e.Kind = SecretChanged
		case cares && due(secret.Rotates, s.Now) && !told.Rotated.Equal(secret.Rotates):
			e.Kind = SecretRotate
		case cares && due(secret.Expires, s.Now) && told.Expired < secret.Latest:
			e.Kind = SecretExpired
		default:
			continue
		}
		return e, true
	}
	return Event{}, false
}

// secrets lists the secrets that may owe an event to the unit, in order of ID. A secret that a relation grants is
// among them once the relation was announced to the unit.
func (m Memory) secrets(s *Snapshot) []Secret {
	all := slices.Clone(s.Secrets)
	for i := range s.Relations {
		g := s.Relations[i].Granted
		if told := m.Secrets[g.ID]; g.ID != "" && (told.Changed > 0 || told.Again) {
			all = append(all, Secret{ID: g.ID, Latest: g.Revision, Kept: told.Changed})
		}
	}
	slices.SortFunc(all, func(a, b Secret) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// introduced records that a granted secret was announced: by the event that showed the reference, since the unit
// could read the secret from then on.
func (m Memory) introduced(g Granted) Memory {
	if g.ID == "" || m.Secrets[g.ID].Changed > 0 {
		return m
	}
	return m.told(g.ID, func(t *ToldSecret) { t.Changed = g.Revision })
}

// told returns the memory with the record of a secret changed.
func (m Memory) told(id string, change func(*ToldSecret)) Memory {
	secrets := make(map[string]ToldSecret, len(m.Secrets)+1)
	maps.Copy(secrets, m.Secrets)
	told := secrets[id]
	change(&told)
	secrets[id] = told
	m.Secrets = secrets
	return m
}

// Withdraw returns a memory without announcements of revisions that are later than a secret's latest in a snapshot, which
// is not older than those before it: its owner has removed them, or the store was restored to an earlier state (TRUST.md
// T6). So the secret has changed, and a later revision that gets such a number is announced.
func Withdraw(m Memory, s Snapshot) Memory {
	for _, secret := range m.secrets(&s) {
		if told := m.Secrets[secret.ID]; secret.Latest > 0 && secret.Latest < max(told.Changed, told.Expired) {
			m = m.told(secret.ID, func(t *ToldSecret) {
				t.Again = t.Again || t.Changed > secret.Latest
				t.Changed, t.Expired = min(t.Changed, secret.Latest), min(t.Expired, secret.Latest)
			})
		}
	}
	return m
}

// due reports whether a time has come; never where either is not known.
func due(at, now time.Time) bool { return !at.IsZero() && !now.IsZero() && !now.Before(at) }

// Wake returns when a secret may next be due although nothing changes; zero for never.
func (s Snapshot) Wake() time.Time {
	var wake time.Time
	for _, secret := range s.Secrets {
		for _, at := range []time.Time{secret.Rotates, secret.Expires} {
			if at.After(s.Now) && (wake.IsZero() || at.Before(wake)) {
				wake = at
			}
		}
	}
	return wake
}

// afterSecret records that an event of a secret was handled, for the state at the time of its announcement.
func (m Memory) afterSecret(e Event, s *Snapshot) Memory {
	all := m.secrets(s)
	i := slices.IndexFunc(all, func(secret Secret) bool { return secret.ID == e.Secret })
	if i < 0 {
		return m
	}
	return m.told(e.Secret, func(told *ToldSecret) {
		switch e.Kind {
		case SecretChanged:
			told.Changed, told.Again = e.Revision, false
		case SecretRotate:
			told.Rotated = all[i].Rotates
		case SecretExpired:
			told.Expired = e.Revision
		case Created, Joined, Changed, Departed, Broken, Elected: // of no secret
		}
	})
}

// forgetSecrets drops the first of too many secrets that a snapshot does not mention.
func (m *Memory) forgetSecrets(s *Snapshot) {
	mentioned := make(map[string]bool, len(s.Secrets))
	for _, secret := range m.secrets(s) {
		mentioned[secret.ID] = true
	}
	var unknown []string
	for id := range m.Secrets {
		if !mentioned[id] {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) <= maxUnknown {
		return
	}
	slices.Sort(unknown)
	m.Secrets = maps.Clone(m.Secrets)
	for _, id := range unknown[:len(unknown)-maxUnknown] {
		delete(m.Secrets, id)
	}
}

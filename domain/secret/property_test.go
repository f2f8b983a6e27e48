package secret_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// law is what a plain reading of the rules says, beside the code that is tested:
// the last word said about each relation and who lives.
type law struct {
	granted map[secret.Access]bool // with Revoked unset
	alive   map[string]bool
}

func (l law) allows(u secret.Unit) bool {
	if u.Application == "db" {
		return true
	}
	for a, given := range l.granted {
		if given && l.alive[a.Relation] && a.Application == u.Application && (a.Unit == "" || a.Unit == u.Number) {
			return true
		}
	}
	return false
}

// No history of writes, ends of relations, departures and reads gives content to
// whom it was not granted; who reads without peek or refresh reads what it read
// before; and no revision that somebody keeps to is left out (RELATIONS.md P5).
func TestNoHistoryGivesContentAway(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units := []secret.Unit{unit("db/0"), unit("db/1"), unit("web/0"), unit("web/1"), unit("thief/0")}
		l := law{granted: map[secret.Access]bool{}, alive: map[string]bool{"r": true, "s": true}}
		kept := map[secret.Unit]int{}
		s, err := secret.Apply(secret.Secret{}, secret.Write{Kind: secret.Add, ID: id, Place: at(1)}, units[0], epoch())
		if err != nil {
			t.Fatal(err)
		}
		for step := range rapid.IntRange(1, 40).Draw(t, "steps") {
			u := rapid.SampledFrom(units).Draw(t, "unit")
			access := secret.Access{
				Relation:    rapid.SampledFrom([]string{"r", "s"}).Draw(t, "relation"),
				Application: rapid.SampledFrom([]string{"web", "thief"}).Draw(t, "application"),
				Unit:        rapid.SampledFrom([]string{"", "0", "1"}).Draw(t, "number"),
			}
			switch rapid.IntRange(0, 6).Draw(t, "what") {
			case 0:
				s = written(t, s, secret.Write{Kind: secret.Set, ID: id, Place: at(step + 2)}, u)
			case 1:
				if s = written(t, s, secret.Write{Kind: secret.Grant, ID: id, Access: access}, u); u.Leads {
					l.granted[access] = true
				}
			case 2:
				if s = written(t, s, secret.Write{Kind: secret.Revoke, ID: id, Access: access}, u); u.Leads {
					l.revoke(access)
					for _, r := range units {
						if !slices.ContainsFunc(s.Readers, func(x secret.Reader) bool { return x.Application == r.Application && x.Unit == r.Number }) {
							delete(kept, r)
						}
					}
				}
			case 3:
				l.alive[access.Relation] = rapid.Bool().Draw(t, "alive")
			default:
				s = l.read(t, s, u, kept)
			}
		}
	})
}

func (l law) revoke(from secret.Access) {
	for a := range l.granted {
		if a.Relation == from.Relation && a.Application == from.Application && (from.Unit == "" || from.Unit == a.Unit) {
			l.granted[a] = false
		}
	}
}

// written lets a unit write: only the leader's writes do anything.
func written(t *rapid.T, s secret.Secret, w secret.Write, u secret.Unit) secret.Secret {
	next, err := secret.Apply(s, w, u, epoch())
	if (err == nil) != u.Leads {
		t.Fatalf("%s by %s: %v", w.Kind, u, err)
	}
	return next
}

func (l law) read(t *rapid.T, s secret.Secret, u secret.Unit, kept map[secret.Unit]int) secret.Secret {
	q := rapid.SampledFrom([]secret.Query{{}, {Peek: true}, {Refresh: true}}).Draw(t, "query")
	var alive []string
	for relation, lives := range l.alive {
		if lives {
			alive = append(alive, relation)
		}
	}
	revision, next, err := s.Read(u, q, secret.Standing{Alive: alive, Related: rapid.Bool().Draw(t, "related")})
	if (err == nil) != l.allows(u) {
		t.Fatalf("%s reads %v with %v: %v", u, s.Access, l.granted, err)
	}
	if err != nil {
		return s
	}
	want := s.Latest
	if before, keeps := kept[u]; keeps && q == (secret.Query{}) && u.Application != "db" {
		want = before
	}
	if revision.Number != want {
		t.Fatalf("%s reads revision %d, not %d", u, revision.Number, want)
	}
	if !q.Peek {
		kept[u] = revision.Number
	}
	return next
}

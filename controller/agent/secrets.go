package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/agent"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// secrets are the reads and writes of secrets in a transaction. Writes are sent when it is committed: what
// a handler that fails has made was never stored (RELATIONS.md E11).
type secrets struct {
	writes []secret.Draft
	// dropped are the IDs of grants that were dropped, since their relation has ended.
	dropped []string
	// read are the contents that it has received, each once: a handler may read one again and
	// again.
	read map[revision]map[string][]byte
	// refreshed are the secrets that it has refreshed, which is stored when the handler has
	// succeeded.
	refreshed []refreshed
}

// revision names one revision of a secret.
type revision struct {
	id     string
	number int
}

// refreshed is a secret that a handler has refreshed, with the revision that it received last and the
// unit's label for it.
type refreshed struct {
	id, label string
	revision  int
}

// stored returns the writes to store with changes: all but those of secrets that the transaction adds, and grants only to
// relations that have ended. Those have no reader, and no bag refers to them by which a later handler could remove them.
func (s *secrets) stored(changes []conversation.Change) []secret.Draft {
	needless := map[string]bool{}
	for _, id := range s.dropped {
		is := func(kind secret.Kind) bool {
			return slices.ContainsFunc(s.writes, func(w secret.Draft) bool { return w.ID == id && w.Kind == kind })
		}
		refers := func(c conversation.Change) bool {
			return slices.ContainsFunc(slices.Collect(maps.Values(c.Set())), func(value string) bool { return strings.Contains(value, id) })
		}
		needless[id] = is(secret.Add) && !is(secret.Grant) && !slices.ContainsFunc(changes, refers)
	}
	return slices.DeleteFunc(slices.Clone(s.writes), func(w secret.Draft) bool { return needless[w.ID] })
}

// current returns an error if writes replace a revision that the transaction has not read, of a secret that it has read: the
// leader before may have written it, as it may a value of a databag (DECISIONS.md 363).
func (s *secrets) current(writes []secret.Draft, get func(id string, query secret.Query) (secret.Reading, error)) error {
	for _, w := range writes {
		seen := 0
		for read := range s.read {
			if w.Kind == secret.Set && len(w.Content) > 0 && read.id == w.ID {
				seen = max(seen, read.number)
			}
		}
		if seen == 0 {
			continue
		}
		_, err := get(w.ID, secret.Query{Peek: true, Revision: seen})
		switch {
		case conversation.RefusalOf(err) == conversation.Gone:
			return fmt.Errorf("cannot write secret %s: it was changed after it was read: %w", w.ID, err)
		case err != nil:
			return fmt.Errorf("cannot write secret %s: %w", w.ID, err)
		}
	}
	return nil
}

// values returns all values that the transaction has read or written, which are not shown to people.
func (s *secrets) values() []string {
	all := slices.Collect(maps.Values(s.read))
	for _, w := range s.writes {
		all = append(all, w.Content)
	}
	var values []string
	for _, content := range all {
		for _, value := range content {
			values = append(values, string(value))
		}
	}
	return values
}

// Add makes a secret when the transaction is committed.
func (t *toolContext) Add(owner tool.Owner, change tool.SecretChange) (tool.SecretID, error) {
	leads, err := t.lead()
	switch {
	case err != nil:
		return tool.SecretID{}, err
	case owner == tool.OwnedByApplication && !leads:
		return tool.SecretID{}, &conversation.Error{
			Kind:    conversation.Forbidden,
			Message: fmt.Sprintf("cannot make a secret of %s: %s does not lead it", t.snapshot.Unit.Application, t.snapshot.Unit),
			Cure:    "only its leader may, see is-leader; or make the unit's own by --owner unit",
		}
	}
	w := toDraft(secret.Add, newSecretID(), change)
	w.Own = owner == tool.OwnedByUnit
	if err := t.draft(w); err != nil {
		return tool.SecretID{}, err
	}
	return tool.SecretID{ID: w.ID}, nil
}

// lead begins the transaction of the call, and reports whether the unit leads. A leader must prove its term
// to change what the application owns.
func (t *toolContext) lead() (bool, error) {
	if err := t.begin(); err != nil {
		return false, err
	}
	return t.Leader()
}

// draft adds a write to the transaction.
func (t *toolContext) draft(w secret.Draft) error {
	if err := secret.CheckContent(w.Content); err != nil {
		return err
	}
	t.secrets.writes = append(t.secrets.writes, w)
	return nil
}

// newSecretID returns one of 36^20 names.
func newSecretID() string {
	const letters = "0123456789abcdefghijklmnopqrstuvwxyz"
	id := make([]byte, 0, 20)
	for len(id) < cap(id) {
		var random [32]byte
		_, _ = rand.Read(random[:]) // never fails
		for _, b := range random {
			if int(b) < 256/len(letters)*len(letters) && len(id) < cap(id) {
				id = append(id, letters[int(b)%len(letters)])
			}
		}
	}
	return string(id)
}

func toDraft(kind secret.Kind, id string, change tool.SecretChange) secret.Draft {
	return secret.Draft{Content: change.Content, Write: secret.Write{
		Kind: kind, ID: id, Label: change.Label, Description: change.Description,
		Rotation: secret.Rotation(change.Rotation), Expires: convert.ToTime(convert.ForTime(change.Expire)), // as it is stored
	}}
}

// Change adds a revision, or changes the label, description or rotation of a secret.
func (t *toolContext) Change(id tool.SecretID, change tool.SecretChange) error {
	if _, err := t.lead(); err != nil {
		return err
	}
	return t.draft(toDraft(secret.Set, id.ID, change))
}

// Remove ends one revision, or the secret.
func (t *toolContext) Remove(id tool.SecretID, revision int) error {
	if _, err := t.lead(); err != nil {
		return err
	}
	return t.draft(secret.Draft{Write: secret.Write{Kind: secret.Remove, ID: id.ID, Revision: revision}})
}

// Grant lets the other side of a relation read, when the transaction is committed.
func (t *toolContext) Grant(id tool.SecretID, to tool.Grantee) error {
	return t.share(secret.Grant, id, to)
}

// Revoke takes a grant back.
func (t *toolContext) Revoke(id tool.SecretID, from tool.Grantee) error {
	return t.share(secret.Revoke, id, from)
}

func (t *toolContext) share(kind secret.Kind, id tool.SecretID, with tool.Grantee) error {
	if _, err := t.lead(); err != nil {
		return err
	}
	if t.transaction.Drops(with.Relation) && (kind == secret.Grant || !t.transaction.Suspends(with.Relation)) {
		if kind == secret.Grant {
			t.secrets.dropped = append(t.secrets.dropped, id.ID)
		}
		return nil // there is no reader any more
	}
	access := secret.Access{Relation: with.Relation, Application: with.Application}
	if with.Unit != nil {
		access.Unit = strconv.Itoa(with.Unit.Number)
	}
	return t.draft(secret.Draft{Write: secret.Write{Kind: kind, ID: id.ID, Access: access}})
}

// Get returns what the unit reads: its own draft, or the content that the controller returns. The revision
// that a unit reads first is stored at once, whatever becomes of the transaction. A handler that refreshes
// only peeks until it has succeeded: if it fails, the event that the secret has changed is due again
// (RELATIONS.md E11).
func (t *toolContext) Get(query tool.SecretQuery) (map[string][]byte, error) {
	if err := t.begin(); err != nil {
		return nil, err
	}
	id, request := "", secret.Query{Label: query.Label, Peek: query.Peek, Refresh: query.Refresh}
	if query.ID != nil {
		id = query.ID.ID
	}
	if content, drafted, err := t.secrets.drafted(id, query.Label); drafted {
		return content, err
	}
	refreshes := t.inTurn && query.Refresh && !query.Peek
	if refreshes || t.secrets.hasRefreshed(id, query.Label) {
		request.Peek, request.Refresh = true, false
	}
	var read secret.Reading
	err := patiently(t.ctx, t.wait, func() (err error) {
		read, err = t.speech.getSecret(t.ctx, id, request)
		return err
	})
	if err != nil {
		return nil, t.answers.note(err)
	}
	if t.secrets.read == nil {
		t.secrets.read = map[revision]map[string][]byte{}
	}
	t.secrets.read[revision{read.ID, read.Revision}] = read.Content
	if refreshes {
		t.noteRefresh(read, query.Label)
	}
	return read.Content, nil
}

// noteRefresh remembers that the handler has refreshed a secret.
func (t *toolContext) noteRefresh(as secret.Reading, label string) {
	for _, s := range t.snapshot.Secrets {
		if s.ID == as.ID {
			label = cmp.Or(label, s.Label)
		}
	}
	t.secrets.refreshed = slices.DeleteFunc(t.secrets.refreshed, func(r refreshed) bool { return r.id == as.ID })
	t.secrets.refreshed = append(t.secrets.refreshed, refreshed{as.ID, label, as.Revision})
}

// hasRefreshed reports whether the handler has refreshed a secret, by its ID or else
// its label.
func (s *secrets) hasRefreshed(id, label string) bool {
	return slices.ContainsFunc(s.refreshed, func(r refreshed) bool { return r.id == id || id == "" && r.label == label })
}

// keep stores the revisions that a handler has refreshed to, once it has succeeded. A secret that the unit
// may not read any more is refused, and so is a revision that is not the latest any more, whose successor
// is an event.
func (s *secrets) keep(ctx context.Context, speech *Speech) error {
	for _, r := range s.refreshed {
		_, err := speech.getSecret(ctx, r.id, secret.Query{Refresh: true, Revision: r.revision})
		if conversation.Unanswered(err) {
			return fmt.Errorf("cannot note that secret %s was refreshed: %w", r.id, err)
		}
	}
	return nil
}

// drafted returns the content that the transaction gives a secret, if it does.
func (s *secrets) drafted(id, label string) (content map[string][]byte, drafted bool, err error) {
	for _, w := range s.writes {
		if id == "" && w.Label == label {
			id = w.ID
		}
	}
	for _, w := range slices.Backward(s.writes) {
		switch {
		case w.ID != id:
		case w.Kind == secret.Remove && w.Revision == 0:
			return nil, true, secret.Unknown(w.ID)
		case len(w.Content) > 0:
			return w.Content, true, nil
		}
	}
	return nil, false, nil
}

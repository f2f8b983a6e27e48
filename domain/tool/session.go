package tool

import (
	"fmt"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// session holds the inputs of one call.
type session struct {
	Context
	call Call
}

// file returns what the client sent of a file.
func (s session) file(name string) ([]byte, error) {
	content, sent := s.call.Files[name]
	if !sent {
		return nil, refuse(conversation.Invalid, "check that it can be read", "cannot read %s: the tool did not send it", fileName(name))
	}
	return content, nil
}

func fileName(name string) string {
	if name == Stdin {
		return "standard input"
	}
	return fmt.Sprintf("file %q", name)
}

// relation returns the relation that a call is about: the one written after -r,
// else the handler's, else the only one that there is.
func (s session) relation(written string) (conversation.Relation, error) {
	snapshot, err := s.Relations.Snapshot()
	if err != nil {
		return conversation.Relation{}, err
	}
	switch handlers := s.call.Env[RelationID]; {
	case written != "" && written != handlers:
		return findRelation(snapshot.Relations, written, "")
	case handlers != "":
		return findRelation(snapshot.Relations, handlers, s.call.Env[RemoteApp])
	case len(snapshot.Relations) == 1:
		return snapshot.Relations[0], nil
	default:
		return conversation.Relation{}, misuse("this unit has "+listRelations(snapshot.Relations)+"; name one with -r",
			"no relation id specified")
	}
}

// handles reports whether the call comes from a handler of that relation, whose
// variables are then about it.
func (s session) handles(r conversation.Relation) bool {
	if s.call.Env[RelationID] == "" {
		return false
	}
	own, err := s.relation("")
	return err == nil && own.UID == r.UID
}

// bag returns the address that is meant by what is written, by --app and by the
// handler.
func (s session) bag(r conversation.Relation, written string, app bool) (conversation.Address, error) {
	if written == "" && !app && s.handles(r) {
		written = s.call.Env[RemoteUnit]
		app = written == ""
	}
	at := conversation.Address{Relation: r.UID, Owner: written}
	_, isUnit := at.Unit()
	switch {
	case written == "" && app:
		return conversation.ForApplication(r.UID, r.Remote), nil
	case written == "":
		return at, misuse(s.chooseMember(r), "no unit or application specified")
	case strings.Contains(written, "/") && !isUnit:
		return at, misuse("write application/number, for example web/0", "invalid unit name %.80q", written)
	case app:
		return conversation.ForApplication(r.UID, at.Application()), nil
	default:
		return at, nil
	}
}

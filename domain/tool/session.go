package tool

import (
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// session is what one call works with.
type session struct {
	Context
	call Call
}

// file returns what the client sent of a file.
func (s session) file(name string) ([]byte, error) {
	content, sent := s.call.Files[name]
	if !sent {
		return nil, Error{Kind: Invalid, Reason: fmt.Sprintf("cannot read %s: it was not sent along", fileName(name))}
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
		return conversation.Relation{}, misuse("this unit has "+listRelations(snapshot.Relations)+"; say which with -r", "no relation id specified")
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

// source returns the bag that is meant by what is written, by --app and by the
// handler.
func (s session) source(r conversation.Relation, written string, app bool) (Source, error) {
	if written == "" && !app && s.handles(r) {
		written = s.call.Env[RemoteUnit]
		app = written == ""
	}
	if written == "" && app {
		return Source{Application: r.Remote}, nil
	}
	if written == "" {
		return Source{}, misuse(chooseMember(r), "no unit or application specified")
	}
	source, err := parseSource(written)
	if app {
		source.Unit = nil
	}
	return source, err
}

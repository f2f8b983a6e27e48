package tool

import (
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// relationIDs lists the relations of an endpoint.
type relationIDs struct{ endpoint string }

func (t *relationIDs) declare(f *flags) { f.prints(smart) }

func (t *relationIDs) take(args []string) error {
	if len(args) > 0 {
		t.endpoint, args = args[0], args[1:]
	}
	return tooMany("relation-ids", args)
}

// run leaves out what is ending or suspended and has lost its units: to the
// workload it is as good as broken. The order is that of the ids.
func (t *relationIDs) run(s session) (any, error) {
	if t.endpoint == "" {
		t.endpoint, _, _ = strings.Cut(s.call.Env[RelationID], ":")
	}
	snapshot, err := s.Relations.Snapshot()
	switch {
	case err != nil:
		return nil, err
	case t.endpoint == "":
		return nil, misuse("name one, as relation-ids db", "no endpoint name specified")
	}
	var own []conversation.Relation
	for _, r := range snapshot.Relations {
		if r.Endpoint == t.endpoint && (r.Life == conversation.Alive || len(s.members(r)) > 0) {
			own = append(own, r)
		}
	}
	return names(own), nil
}

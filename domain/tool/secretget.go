package tool

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// secretGet reads a secret, or one key of it.
type secretGet struct {
	query SecretQuery
	key   string
}

func (t *secretGet) declare(f *flags) {
	f.prints(asYAML)
	f.StringVar(&t.query.Label, "label", "", "this unit's `name` for the secret; with an ID it gets that name")
	f.BoolVar(&t.query.Peek, "peek", false, "the latest revision, this once")
	f.BoolVar(&t.query.Refresh, "refresh", false, "the latest revision, from now on")
}

// take reads an ID and a key. After a label there need not be an ID.
func (t *secretGet) take(args []string) error {
	if t.query.Peek && t.query.Refresh {
		return misuse("", "specify one of --peek or --refresh but not both")
	}
	if len(args) > 0 {
		id, rest, err := takeSecretID(args)
		switch {
		case err == nil:
			t.query.ID, args = &id, rest
		case t.query.Label == "" || strings.HasPrefix(args[0], "secret:"):
			return err
		}
	}
	if t.query.ID == nil && t.query.Label == "" {
		return misuse("write secret-get ID or secret-get --label L", "require either a secret URI or label")
	}
	if len(args) > 0 {
		t.key, args = args[0], args[1:]
	}
	return tooMany("secret-get", args)
}

func (t *secretGet) run(s session) (any, error) {
	content, err := s.Secrets.Get(t.query)
	if err != nil {
		return nil, err
	}
	if t.key != "" {
		return oneKey(content, t.key)
	}
	text := make(map[string]string, len(content))
	for key, value := range content {
		text[key] = string(value)
	}
	return fieldsOf(text), nil
}

// oneKey returns the value of a key, in base64 if the key ends so.
func oneKey(content map[string][]byte, key string) (any, error) {
	key, encoded := strings.CutSuffix(key, "#base64")
	value, found := content[key]
	switch {
	case !found:
		keys := slices.Sorted(maps.Keys(content))
		return nil, refuse(conversation.NotYet, "the secret has "+strings.Join(keys, ", "), "secret key value %.80q not found", key)
	case encoded:
		return base64.StdEncoding.EncodeToString(value), nil
	default:
		return string(value), nil
	}
}

package tool

import "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"

// secretAdd makes a secret.
type secretAdd struct{ changeFlags }

func (t *secretAdd) take(args []string) error {
	if len(args) == 0 && t.file == "" {
		return misuse("write key=value, key#file=path or --file path", "missing secret value or filename")
	}
	return t.changeFlags.take(args)
}

func (t *secretAdd) run(s session) (any, error) {
	change, err := t.change(s)
	if err != nil {
		return nil, err
	}
	if len(change.Content) == 0 {
		return nil, refuse(conversation.Invalid, "write key: value in the file", "the secret has no content")
	}
	id, err := s.Secrets.Add(Owner(t.owner), change)
	if err != nil {
		return nil, err
	}
	return id.String(), nil
}

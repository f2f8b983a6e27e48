package tool

// secretSet makes a new revision of a secret, or changes what goes with it.
type secretSet struct {
	changeFlags
	id SecretID
}

func (t *secretSet) take(args []string) (err error) {
	if t.id, args, err = takeSecretID(args); err != nil {
		return err
	}
	return t.changeFlags.take(args)
}

func (t *secretSet) run(s session) (any, error) {
	change, err := t.change(s)
	if err != nil {
		return nil, err
	}
	if len(change.Content) == 0 {
		change.Content = nil
	}
	return nil, s.Secrets.Change(t.id, change)
}

// takeSecretID reads the ID that a call must begin with, and returns what
// follows.
func takeSecretID(args []string) (SecretID, []string, error) {
	if len(args) == 0 {
		return SecretID{}, nil, misuse("write it first, for example "+exampleID, "missing secret URI")
	}
	id, err := ParseSecretID(args[0])
	if err != nil {
		return id, nil, misuseError{err}
	}
	return id, args[1:], nil
}

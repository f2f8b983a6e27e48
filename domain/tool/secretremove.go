package tool

// secretRemove ends a secret, or one revision of it.
type secretRemove struct {
	id       SecretID
	revision int
}

func (t *secretRemove) declare(f *flags) {
	f.IntVar(&t.revision, "revision", 0, "only this `revision`")
}

func (t *secretRemove) take(args []string) (err error) {
	if t.revision < 0 {
		return misuse("", "a revision is 1 or more")
	}
	if t.id, args, err = takeSecretID(args); err != nil {
		return err
	}
	return tooMany("secret-remove", args)
}

func (t *secretRemove) run(s session) (any, error) {
	return nil, s.Secrets.Remove(t.id, t.revision)
}

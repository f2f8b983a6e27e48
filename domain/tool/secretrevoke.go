package tool

import "strings"

// secretRevoke takes back what was granted.
type secretRevoke struct {
	id       SecretID
	relation string
	app      string
	unit     string
}

func (t *secretRevoke) declare(f *flags) {
	f.relation(&t.relation, "the `relation` that the grant lives with")
	f.StringVar(&t.app, "app", "", "the `application` that may no longer read")
	f.StringVar(&t.app, "application", "", "the same as --app")
	f.hidden("application")
	f.StringVar(&t.unit, "unit", "", "the `unit` that may no longer read")
}

func (t *secretRevoke) take(args []string) (err error) {
	if t.id, args, err = takeSecretID(args); err != nil {
		return err
	}
	switch {
	case t.app != "" && t.unit != "":
		return misuse("", "specify only one of application or unit")
	case t.app != "" && t.relation != "":
		return misuse("", "do not specify both relation and app")
	case strings.Contains(t.app, "/"):
		return misuse("a unit is named by --unit", "application %.80q not valid", t.app)
	}
	if _, err := parseGrantee(t.unit); err != nil {
		return err
	}
	return tooMany("secret-revoke", args)
}

// run takes the handler's relation by default. Outside a handler the relation must be named, so that no grant is
// revoked by accident.
func (t *secretRevoke) run(s session) (any, error) {
	from := Grantee{Application: t.app}
	if t.relation != "" || t.app == "" && t.unit == "" && s.call.Env[RelationID] != "" {
		r, err := s.relation(t.relation)
		if err != nil {
			return nil, err
		}
		if from, err = grantee(r, t.unit); err != nil {
			return nil, err
		}
		return nil, s.Grants.Revoke(t.id, from)
	}
	unit, err := parseGrantee(t.unit)
	switch {
	case err != nil:
		return nil, err
	case unit == nil && t.app == "":
		return nil, misuse("write -r, --app or --unit", "missing relation or application or unit")
	case unit != nil:
		from = Grantee{Application: unit.Application, Unit: unit}
	}
	return nil, s.Grants.Revoke(t.id, from)
}

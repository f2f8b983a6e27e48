package tool

import "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"

// secretGrant lets the other side of a relation read a secret.
type secretGrant struct {
	id       SecretID
	relation string
	unit     string
}

func (t *secretGrant) declare(f *flags) {
	f.relation(&t.relation, "the `relation` with which the grant lives and ends")
	f.StringVar(&t.unit, "unit", "", "only this `unit` of the other side")
}

func (t *secretGrant) take(args []string) (err error) {
	if t.id, args, err = takeSecretID(args); err != nil {
		return err
	}
	if _, err := parseGrantee(t.unit); err != nil {
		return err
	}
	return tooMany("secret-grant", args)
}

func (t *secretGrant) run(s session) (any, error) {
	r, err := s.relation(t.relation)
	if err != nil {
		return nil, err
	}
	to, err := grantee(r, t.unit)
	if err != nil {
		return nil, err
	}
	return nil, s.Grants.Grant(t.id, to)
}

// grantee is the other side of a relation, or one unit of it.
func grantee(r conversation.Relation, unit string) (Grantee, error) {
	one, err := parseGrantee(unit)
	if err != nil {
		return Grantee{}, err
	}
	if one != nil && one.Application != r.Remote {
		return Grantee{}, misuse("", "cannot specify unit %q in relation to application %q", unit, r.Remote)
	}
	return Grantee{Relation: r.UID, Application: r.Remote, Unit: one}, nil
}

// parseGrantee reads a unit, or nil where none is written.
func parseGrantee(unit string) (*conversation.Unit, error) {
	if unit == "" {
		return nil, nil //nolint:nilnil // no unit is a grantee's default
	}
	parsed, err := conversation.ParseUnit(unit)
	if err != nil {
		return nil, misuse("write application/number, for example web/0", "unit %.80q not valid", unit)
	}
	return &parsed, nil
}

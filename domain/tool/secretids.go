package tool

import "slices"

// secretIDs lists the secrets that the unit may manage.
type secretIDs struct{}

func (t *secretIDs) declare(f *flags) { f.prints(smart) }

func (t *secretIDs) take(args []string) error { return tooMany("secret-ids", args) }

func (t *secretIDs) run(s session) (any, error) {
	all, err := s.Secrets.List()
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(all))
	for i, secret := range all {
		ids[i] = secret.ID.ID
	}
	slices.Sort(ids)
	return ids, nil
}

package serve

import (
	"context"
	"slices"
	"strconv"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/agent"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// name is how a namespace names an application.
type name struct{ namespace, application string }

// takeSecrets maps the secrets that each unit knows: of its own namespace, and of those that open relations
// lead to (RELATIONS.md M6).
func (t *telling) takeSecrets(ctx context.Context, world World, namespace string, view relation.View) error {
	names := []name{{namespace, view.Application}}
	var open []string
	for _, r := range view.Relations {
		if r.Ended() || !r.Open() {
			continue
		}
		open = append(open, r.UID)
		if there := (name{r.Shown.There.Namespace, r.Self()}); !slices.Contains(names, there) {
			names = append(names, there)
		}
	}
	for _, n := range names {
		if err := t.takeSecretsOf(ctx, world, n, view.Leader, open); err != nil {
			return err
		}
	}
	return nil
}

func (t *telling) takeSecretsOf(ctx context.Context, world World, n name, by leadership.Leader, open []string) error {
	secrets, err := world.Secrets(ctx, n.namespace, n.application)
	if err != nil {
		return err
	}
	leader := ""
	if by.Term > 0 {
		leader = strconv.Itoa(by.Unit)
	}
	for _, s := range secrets {
		for _, k := range s.KnownTo(n.application, leader, open) {
			number, err := strconv.ParseInt(k.Unit, 10, 64)
			if err != nil {
				continue // no unit has such a number
			}
			mine := t.mine(number)
			mine.secrets = append(mine.secrets, convert.ForSecret(k.Secret))
		}
	}
	return nil
}

package serve

import (
	"maps"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// takeSecrets writes what each unit is told of secrets.
func (t *telling) takeSecrets(view relation.View, secrets []secret.Secret) {
	t.content.secrets = map[int64][]*v1alpha1.KnownSecret{}
	leader := ""
	if view.Leader.Term > 0 {
		leader = strconv.Itoa(view.Leader.Unit)
	}
	var open []string
	for _, r := range view.Relations {
		if r.Alive() && r.Open() {
			open = append(open, r.UID)
		}
	}
	for _, s := range secrets {
		for _, k := range s.KnownTo(view.Application, leader, open) {
			number, err := strconv.ParseInt(k.Unit, 10, 64)
			if err != nil {
				continue // no unit has such a number
			}
			t.content.secrets[number] = append(t.content.secrets[number], &v1alpha1.KnownSecret{
				Id: k.ID, Label: k.Label, Latest: int64(k.Latest), Kept: int64(k.Kept), Own: k.Own,
				Rotates: toUnix(k.Rotates), Expires: toUnix(k.Expires),
			})
		}
	}
}

func (c *content) sameSecrets(d *content) bool {
	return maps.EqualFunc(c.secrets, d.secrets, func(x, y []*v1alpha1.KnownSecret) bool {
		return slices.EqualFunc(x, y, func(a, b *v1alpha1.KnownSecret) bool { return proto.Equal(a, b) })
	})
}

package bundle_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// A bundle of a thousand objects, each after another, ordered, planned and looked at once.
func BenchmarkThousand(b *testing.B) {
	var objects []bundle.Object
	for i := range 1000 {
		objects = append(objects, object("ConfigMap c"+strconv.Itoa(i), "after=ConfigMap/c"+strconv.Itoa(max(1, i)-1)))
	}
	objects[0] = object("ConfigMap c0")
	for b.Loop() {
		s := order(b, objects...)
		live := map[bundle.ID]bundle.Live{}
		for _, item := range s {
			live[item.ID] = applied(item, nil)
		}
		p, err := bundle.NewPlan(bundle.Intent{Owner: owner, Sequence: s, Live: live})
		require.NoError(b, err)
		require.Equal(b, bundle.Succeeded, bundle.Step(p, bundle.Record{}, live, bundle.Pace{Now: noon()}).Outcome)
	}
}

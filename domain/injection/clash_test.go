package injection_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// What the API server would refuse after the injection is refused with the author's own line: it would name containers and
// mounts that the author has not written (INJECTION.md I11, SAFETY.md I27).
func TestInitContainersWithReservedNames(t *testing.T) {
	for _, name := range []string{injection.HandlerContainer, injection.CanaryContainer} {
		pod := shape(t, `{metadata: {annotations: {tengu.io/consumes: db, tengu.io/relations: x}},
			spec: {initContainers: [{name: first}, {name: `+name+`}], containers: [{name: a}]}}`)
		d := injection.For(plain(), "shop", pod)
		require.ErrorIs(t, d.Refused, injection.ErrTaken, name)
		assert.ErrorContains(t, d.Refused, `spec.initContainers[1].name: "`+name+`"`)
	}
}

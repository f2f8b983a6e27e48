package pod

import (
	"testing"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/webhook/internal/scan"
)

// ReadShape reads a pod as the handler does.
func ReadShape(t *testing.T, text string) injection.Shape {
	t.Helper()
	var s injection.Shape
	c := scan.New([]byte(text))
	readShape(c, &s)
	c.End()
	require.NoError(t, c.Err())
	return s
}

// Reload reads a source's file now.
func Reload(s *Source) { s.reload() }

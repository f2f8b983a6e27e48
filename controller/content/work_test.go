package content

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// A request that is empty, content that breaks a library, and one to render in a program that only fetches are answered.
func TestWorkAnswers(t *testing.T) {
	run := Worker(func(context.Context, bundle.Tree, Options) (Output, error) { panic("hush") })
	_, err := ask(t.Context(), run, request{}, io.Discard)
	require.ErrorContains(t, err, "the request is empty")
	for secret, want := range map[bool]string{false: "reads it: hush", true: "reads it"} {
		r := request{Render: &renderRequest{Options: Options{Values: []ValuesFile{{Secret: secret}}}}}
		_, err := ask(t.Context(), run, r, io.Discard)
		require.Error(t, err)
		assert.True(t, strings.HasSuffix(err.Error(), want), err)
	}
	_, err = ask(t.Context(), Worker(nil), request{Render: &renderRequest{}}, io.Discard)
	require.EqualError(t, err, "this program does not render")
}

// The objects follow the head of the answer.
func TestWorkRenders(t *testing.T) {
	run := Worker(func(_ context.Context, _ bundle.Tree, o Options) (Output, error) {
		return Output{Objects: []byte(o.Name), Notes: []string{"a note"}}, nil
	})
	var body bytes.Buffer
	a, err := ask(t.Context(), run, request{Render: &renderRequest{Options: Options{Name: "shop"}}}, &body)
	require.NoError(t, err)
	assert.Equal(t, []string{"a note"}, a.Notes)
	assert.Equal(t, "shop", body.String())
}

package bundles

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// differences are in words: what differs of an object, and what of its fields.
func differences(all []bundle.Difference) []string {
	var words []string
	for _, d := range all {
		words = append(words, d.ID.Kind+" "+d.ID.Name+" "+d.What)
		for _, c := range d.Changes {
			words = append(words, strings.TrimRight(c.Path+": "+c.Before+" → "+c.After+" "+c.Manager, " "))
		}
	}
	return words
}

// What was edited and deleted is told with who did it, and what Secrets hold is not shown
// (BUNDLES.md 10 and 12).
func TestDrift(t *testing.T) {
	w := newWorld(t)
	_, _, err := w.process(0).Drift(t.Context())
	require.ErrorContains(t, err, "it has no active revision")
	require.NoError(t, w.install(blue+extra+secret+service))

	revision, all, err := w.process(0).Drift(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, revision)
	assert.Empty(t, differences(all), "nobody has touched anything")

	w.change("extra", "a", "c")
	w.change("colour", "theirs", "new")
	require.NoError(t, w.client.CoreV1().Services(w.namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}))
	_, err = w.client.CoreV1().Secrets(w.namespace).Patch(t.Context(), "key", types.MergePatchType, []byte(`{"stringData":{"password":"hunter3"}}`), metav1.PatchOptions{FieldManager: "eve"})
	require.NoError(t, err)
	_, all, err = w.process(0).Drift(t.Context())
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{
		"ConfigMap extra was changed", `data.a: "c" → "b" somebody`, "Service web is missing",
		"Secret key was changed", "data.password: (secret) → (secret) eve",
	}, differences(all), "what others add is theirs")
}

// Two stored revisions are compared field by field, without what Secrets hold (BUNDLES.md 10).
func TestBetween(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.install(blue+extra+secret))
	require.NoError(t, w.install(green+service+strings.ReplaceAll(secret, "hunter2", "hunter3")))
	all, err := w.process(0).Between(t.Context(), 1, 2)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"ConfigMap colour was changed", `data.colour: "blue" → "green"`, `data.size: "3" →`,
		"Secret key was changed", "data.password: (secret) → (secret)", "Service web is new", "ConfigMap extra was removed",
	}, differences(all))
	text, err := json.Marshal(all)
	require.NoError(t, err)
	assert.NotRegexp(t, "hunter|aHVudGVy", string(text))

	_, err = w.process(0).Between(t.Context(), 1, 7)
	require.ErrorContains(t, err, "its content is not stored: orcon history shop -n "+w.namespace+" lists")
}

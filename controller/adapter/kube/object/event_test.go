package object

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// recorder keeps actions and notes as the API server would get them.
type recorder struct{ actions, notes []string }

func (r *recorder) Eventf(_, _ runtime.Object, _, _, action, _ string, args ...any) {
	r.actions = append(r.actions, action)
	for _, note := range args {
		if text, is := note.(string); is {
			r.notes = append(r.notes, text)
		}
	}
}

// Events that differ in their note alone are apart by their action, and the same note is the same Event.
func TestEventsAreToldApart(t *testing.T) {
	r, about := &recorder{}, &corev1.Pod{}
	for _, note := range []string{"waits for db", "waits for cache", "waits for db"} {
		WriteEvent(r, about, corev1.EventTypeWarning, "Negotiate", "WaitingForRelations", note)
	}
	assert.NotEqual(t, r.actions[0], r.actions[1])
	assert.Equal(t, r.actions[0], r.actions[2])
	assert.True(t, strings.HasPrefix(r.actions[0], "Negotiate-"))
	assert.Equal(t, []string{"waits for db", "waits for cache", "waits for db"}, r.notes)
}

// A note that the API server would refuse is cut, between two characters.
func TestLongNotes(t *testing.T) {
	r := &recorder{}
	for _, note := range []string{strings.Repeat("x", 1024), strings.Repeat("x", 1025), strings.Repeat("ü", 600)} {
		WriteEvent(r, &corev1.Pod{}, corev1.EventTypeNormal, "Negotiate", "Ready", note)
	}
	assert.Len(t, r.notes[0], 1024)
	assert.False(t, strings.HasSuffix(r.notes[0], "…"))
	for _, cut := range r.notes[1:] {
		assert.LessOrEqual(t, len(cut), 1024)
		assert.True(t, strings.HasSuffix(cut, "…"))
		assert.True(t, utf8.ValidString(cut))
	}
}

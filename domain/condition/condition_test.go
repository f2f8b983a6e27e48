package condition_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// Each summary has the three conditions that every kind has (SAFETY.md C1), and
// they do not contradict each other.
func TestSummaries(t *testing.T) {
	tests := map[string]struct {
		why  string
		in   []condition.Condition
		want map[condition.Type]bool
	}{
		"Settled": {
			why:  "nothing is left to do for anybody",
			in:   condition.Settled("Complete", "all is there"),
			want: map[condition.Type]bool{condition.Ready: true, condition.Reconciling: false, condition.Stalled: false},
		},
		"Waiting": {
			why:  "it may become ready by itself",
			in:   condition.Waiting("Complete", "all is there"),
			want: map[condition.Type]bool{condition.Ready: false, condition.Reconciling: true, condition.Stalled: false},
		},
		"Stuck": {
			why:  "a person must act",
			in:   condition.Stuck("Complete", "all is there"),
			want: map[condition.Type]bool{condition.Ready: false, condition.Reconciling: false, condition.Stalled: true},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Len(t, test.in, len(test.want))
			for kind, truth := range test.want {
				c, there := condition.Find(test.in, kind)
				assert.True(t, there)
				want := condition.Condition{Type: kind, True: truth, Reason: "Complete", Message: "all is there"}
				if !truth && kind != condition.Ready {
					want.Message = c.Message // one of its own: no message stands in three conditions
					assert.NotContains(t, c.Message, "all is there")
				}
				assert.Equal(t, want, c, test.why)
			}
		})
	}
}

func TestFind(t *testing.T) {
	c, there := condition.Find(condition.Settled("Complete", ""), condition.Held)
	assert.False(t, there)
	assert.Zero(t, c)
}

// A problem beside a summary needs a person whether the rest works or not; one that may pass
// by itself does not.
func TestWith(t *testing.T) {
	refused := condition.New(condition.EnvRefused, true, "NotAName", "write it so")
	tests := map[string]struct {
		why     string
		in      []condition.Condition
		beside  condition.Condition
		stalled condition.Condition
		blocked bool
	}{
		"Works":   {"an alert on Stalled reports it", condition.Settled("Complete", "all is there"), refused, condition.New(condition.Stalled, true, "EnvRefused", "see condition EnvRefused"), false},
		"Waits":   {"both are true: what it waits for may still come", condition.Waiting("NoData", "waits"), refused, condition.New(condition.Stalled, true, "EnvRefused", "see condition EnvRefused"), false},
		"Stuck":   {"its own reason comes first", condition.Stuck("Ambiguous", "name one"), refused, condition.New(condition.Stalled, true, "Ambiguous", "name one"), true},
		"Passes":  {"a held relation ends by itself", condition.Settled("Complete", "all is there"), condition.New(condition.Held, true, "Held", "until then"), condition.New(condition.Stalled, false, "Complete", "nothing needs a person's action"), false},
		"Retried": {"a handler is run again", condition.Waiting("HandlerFailed", "see"), condition.New(condition.HandlerFailed, true, "HandlerFailed", "exit 1"), condition.New(condition.Stalled, false, "HandlerFailed", "it may become ready without a person"), false},
		"False":   {"it is no problem", condition.Settled("Complete", "all is there"), condition.New(condition.EnvRefused, false, "Fine", ""), condition.New(condition.Stalled, false, "Complete", "nothing needs a person's action"), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			all := condition.With(test.in, test.beside)
			stalled, _ := condition.Find(all, condition.Stalled)
			assert.Equal(t, test.stalled, stalled, test.why)
			assert.Equal(t, test.blocked, condition.Blocked(all), test.why)
			assert.Len(t, all, 4)
			assert.Equal(t, condition.Why(test.in).Message, condition.Why(all).Message, "Ready keeps its explanation")
		})
	}
}

// A message is never longer than the API takes, nor cut within a letter.
func TestLongMessage(t *testing.T) {
	for cut := range 4 {
		c := condition.Why(condition.Stuck("Faulty", strings.Repeat("x", cut)+strings.Repeat("日", 20000)))
		assert.Less(t, len(c.Message), 32768)
		assert.Greater(t, len(c.Message), 1024)
		assert.True(t, utf8.ValidString(c.Message))
		assert.True(t, strings.HasSuffix(c.Message, "日…"))
	}
	assert.Len(t, condition.Why(condition.Stuck("Faulty", strings.Repeat("x", 100))).Message, 100)
}

// Ready has as much of a message as a table shows, and the condition beside it all of it.
func TestCell(t *testing.T) {
	tests := map[string]struct{ why, message, want string }{
		"Short":   {"it fits", "all is there", "all is there"},
		"Clauses": {"what to do is cut off before what is wrong", "no provider is named for endpoint cache: add cache=cache:cache to tengu.io/relations", "no provider is named for endpoint cache…"},
		"Words": {"a first clause of one word would tell nothing", "store: no endpoint of the application web fits any one of the application database",
			"store: no endpoint of the application web fits any one of the application…"},
		"OneWord": {"an endless word is cut as it is", strings.Repeat("日", 100), strings.Repeat("日", 79) + "…"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, condition.Cell(test.message), test.why)
			assert.LessOrEqual(t, utf8.RuneCountInString(condition.Cell(test.message)), 80)
			for _, cs := range [][]condition.Condition{condition.Waiting("Faulty", test.message), condition.Stuck("Faulty", test.message)} {
				ready, _ := condition.Find(cs, condition.Ready)
				assert.Equal(t, test.want, ready.Message)
				assert.Equal(t, test.message, condition.Why(cs).Message)
			}
		})
	}
	assert.Equal(t, "all is there", condition.Why(condition.Settled("Complete", "all is there")).Message)
}

// Why follows the reason of Ready to the condition that it names, which has the details.
func TestWhyFollowsTheReason(t *testing.T) {
	failed := condition.New(condition.HandlerFailed, true, "HandlerFailed", "web/0 has failed: exit code 3: no disk")
	tests := map[string]struct {
		why  string
		in   []condition.Condition
		want string
	}{
		"Named": {"a reader wants the cause, not a reference", append(condition.Waiting("HandlerFailed", "complete, but see condition HandlerFailed; more"), failed),
			"complete, but " + failed.Message + "; more"},
		"Elsewhere": {"the condition with the details has another name than the reason", append(condition.Stuck("Conflict", "see condition Planned; revision 1 is kept"),
			condition.New("Planned", false, "Conflict", "a Service already exists")), "a Service already exists; revision 1 is kept"},
		"Other":   {"Ready is about something else", append(condition.Waiting("NoData", "no data yet"), failed), "no data yet"},
		"Works":   {"what works has its own message", append(condition.Settled("HandlerFailed", "all is there"), failed), "all is there"},
		"Missing": {"the details are not there", condition.Waiting("HandlerFailed", "see condition HandlerFailed"), "see condition HandlerFailed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, condition.Why(test.in).Message, test.why)
		})
	}
}

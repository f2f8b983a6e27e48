package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTable(t *testing.T) {
	long := strings.Repeat("waits for a provider ", 10)
	tests := map[string]struct {
		why    string
		screen screen
		want   string
	}{
		"Pipe":    {"nothing is shortened or coloured", screen{}, "NAME   MESSAGE\nweb    " + strings.TrimSpace(long) + "\n"},
		"Narrow":  {"the message is cut, the name is not", screen{width: 40}, "NAME   MESSAGE\nweb    waits for a provider waits for a…\n"},
		"Colours": {"escapes take no room", screen{width: 40, colored: true}, "\x1b[1mNAME\x1b[0m   \x1b[1mMESSAGE\x1b[0m\nweb    \x1b[31mwaits for a provider waits for a…\x1b[0m\n"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			var out bytes.Buffer
			tc.screen.out = &out
			table := tc.screen.table("NAME", "MESSAGE")
			table.row("web", cell{long, bad})
			require.NoError(t, table.print())
			assert.Equal(t, tc.want, out.String(), tc.why)
		})
	}
}

// A command that a person pastes is one line, whatever the width.
func TestWrapKeepsCommands(t *testing.T) {
	const command = "kubectl create rolebinding orcon-granted-secrets -n shop --clusterrole=orcon-granted-secrets"
	tests := map[string]struct{ why, text, want string }{
		"Fits":   {"a short text stays as it is", "see orcon --help", "  see orcon --help\n"},
		"Breaks": {"between words", "the Secret consents and may not be read", "  the Secret consents and may not be\n  read\n"},
		"Cure":   {"the terminal breaks it, which is pasted whole", "the Secret may not be read: " + command, "  the Secret may not be read:\n  " + command + "\n"},
		"Then":   {"what follows is text again", command + "; and wait for half a minute until it is read", "  " + command + ";\n  and wait for half a minute until it\n  is read\n"},
		"Prose":  {"a verb that is mentioned is no cure", "no relations (orcon status -A shows all, orcon list what orcon install made)", "  no relations (orcon status -A shows\n  all, orcon list what orcon install\n  made)\n"},
		"Two":    {"each has a line", "run " + command + " or " + command, "  run\n  " + command + "\n  or\n  " + command + "\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, wrap(test.text, "  ", 38), test.why) })
	}
}

// The last column of a wrapped table is broken into lines below its header, and nothing is lost.
func TestTableWraps(t *testing.T) {
	var out bytes.Buffer
	s := screen{out: &out, width: 40, colored: true}
	table := s.table("FIELD", "DESCRIPTION")
	table.wrapped = true
	table.row("password", "Secret with the key password; absent without authentication")
	table.row("port", "")
	require.NoError(t, table.print())
	assert.Equal(t, "\x1b[1mFIELD\x1b[0m      \x1b[1mDESCRIPTION\x1b[0m\n"+
		"password   Secret with the key password;\n           absent without authentication\nport       \n", out.String())
}

// The last column of a table that does not fit comes below its rows, and nothing is cut: names are
// copied, and messages hold the cure.
func TestTableBelow(t *testing.T) {
	const name, message = "orcon-bundles-of-the-shop", "cannot fetch the source: no such host"
	tests := map[string]struct {
		why   string
		width int
		want  string
	}{
		"Narrow": {"each message is wrapped", 40, "NAME                        STATE\n" + name + "   Failed\n    cannot fetch the source: no such\n    host\nshop                        ready\n"},
		"Wide":   {"one line has room", 80, "NAME                        STATE    MESSAGE\n" + name + "   Failed   " + message + "\nshop                        ready    \n"},
		"Pipe":   {"lines stay lines", 0, "NAME                        STATE    MESSAGE\n" + name + "   Failed   " + message + "\nshop                        ready    \n"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			var out bytes.Buffer
			table := screen{out: &out, width: tc.width}.table("NAME", "STATE", "MESSAGE")
			table.below = true
			table.row(name, "Failed", message)
			table.row("shop", "ready", "")
			require.NoError(t, table.print())
			assert.Equal(t, tc.want, out.String(), tc.why)
		})
	}
}

// No row is wider than a terminal that has room for the narrowest columns, and none is lost.
func TestTableFitsTheTerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var out bytes.Buffer
		s := screen{out: &out, width: rapid.IntRange(60, 200).Draw(t, "width")}
		table := s.table("A", "B", "C")
		rows := rapid.SliceOf(rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("aé…\n ")), 0, 120, -1), 3, 3)).Draw(t, "rows")
		for _, row := range rows {
			table.row(row[0], row[1], row[2])
		}
		require.NoError(t, table.print())
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		require.Len(t, lines, len(rows)+1)
		for _, line := range lines {
			require.LessOrEqual(t, utf8.RuneCountInString(line), s.width)
		}
	})
}

// A screen is no terminal unless its file is one, and NO_COLOR counts.
func TestScreenOfAPipe(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	root := newRoot("orcon")
	root.SetOut(w)
	root.SetErr(w)
	s := screenOf(root)
	assert.Zero(t, s.width)
	assert.Zero(t, s.live)
	assert.False(t, s.colored)
}

func TestActivity(t *testing.T) {
	tests := map[string]struct {
		why    string
		screen screen
		want   string
	}{
		"Pipe": {"one line for each status", screen{}, "1/4 healthy · waits for web · 0s\ncreates Service web\n2/4 healthy · waits for db · 1m5s\n"},
		"Terminal": {"one line that is written over", screen{live: 60}, "\r\x1b[K█████░░░░░░░░░░░░░░░ 0s · 1/4 healthy · waits for web\r\x1b[Kcreates Service web\n" +
			"\r\x1b[K██████████░░░░░░░░░░ 1m5s · 2/4 healthy · waits for db\r\x1b[K██████████░░░░░░░░░░ 1m8s · 2/4 healthy · waits for db\r\x1b[K"},
		"Narrow": {"what is cut and lasts is printed above", screen{live: 30}, "\r\x1b[K█████░░░░░░░░░░░░░░░ 0s · 1/…\r\x1b[Kcreates Service web\n" +
			"\r\x1b[K██████████░░░░░░░░░░ 1m5s · …\r\x1b[Kwaits for db\n\r\x1b[K██████████░░░░░░░░░░ 1m8s · …\r\x1b[K"},
		"Quiet": {"nothing", screen{quiet: true, live: 60}, ""},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			var errs bytes.Buffer
			now := time.Unix(0, 0)
			tc.screen.errs = &errs
			a := tc.screen.activity(func() time.Time { return now })
			a.update(1, 4, "waits for web")
			a.log("creates Service web")
			now = now.Add(65 * time.Second)
			a.update(2, 4, "waits for db")
			now = now.Add(standing)
			a.update(2, 4, "waits for db")
			a.end()
			assert.Equal(t, tc.want, errs.String(), tc.why)
		})
	}
}

// What a container writes into a message steers no terminal.
func TestVisible(t *testing.T) {
	const evil = "exited: \x1b]0;owned\x07\x1b[2J see\tit"
	const shown = "exited: ]0;owned[2J see it"
	assert.Equal(t, shown+"\n", wrap(evil, "", 0))
	assert.Equal(t, shown+"\n", wrapLines(evil, 0))
	var out bytes.Buffer
	s := screen{out: &out, errs: &out}
	a := s.activity(time.Now)
	a.log(evil)
	a.update(0, 0, evil)
	rows := s.table("A")
	rows.row(evil)
	require.NoError(t, rows.print())
	assert.Equal(t, 3, strings.Count(out.String(), shown))
	assert.NotContains(t, out.String(), "\x1b")
}

// An error of several lines keeps them; only what a terminal would cut is broken, between words.
func TestWrapLines(t *testing.T) {
	const text = "orcon: cannot do this:\n  because   of that\n  - and another long reason"
	assert.Equal(t, text+"\n", wrapLines(text, 0))
	assert.Equal(t, "orcon: cannot do\nthis:\n  because of\n  that\n  - and another\n  long reason\n", wrapLines(text, 16))
}

func TestOutput(t *testing.T) {
	value := []map[string]string{{"name": "<web>"}}
	for format, want := range map[string]string{
		asJSON: "[\n  {\n    \"name\": \"<web>\"\n  }\n]\n", asYAML: "- name: <web>\n", asTable: "people",
	} {
		var out bytes.Buffer
		o := output{formats: []string{asTable, asJSON, asYAML}}
		require.NoError(t, o.Set(format))
		require.NoError(t, o.print(screen{out: &out}, value, func() error { _, err := out.WriteString("people"); return err }))
		assert.Equal(t, want, out.String())
		require.ErrorContains(t, o.Set("xml"), "use table, json or yaml")
	}
}

// An interrupt ends every command with 130, and a second message says what stands.
func TestInterrupted(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := map[string]struct {
		why  string
		ctx  context.Context //nolint:containedctx // the input of the test
		err  error
		text string
		code int
	}{
		"Read":    {"whatever the client made of it", cancelled, errors.New("cannot list: context canceled"), "interrupted", exitInterrupted},
		"Write":   {"what is done is said", cancelled, interrupted("half is done"), "interrupted: half is done", exitInterrupted},
		"Timeout": {"an answer that came before the interrupt counts", cancelled, codeError{errors.New("late"), exitTimeout}, "late", exitTimeout},
		"Failed":  {"nothing was interrupted", t.Context(), failedError{errors.New("no")}, "no", exitFailed},
		"Silent":  {"the output says it all", t.Context(), silentError(exitFailed), "", exitFailed},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			text, code := explain(tc.ctx, tc.err)
			assert.Equal(t, tc.text, text, tc.why)
			assert.Equal(t, tc.code, code, tc.why)
		})
	}
}

// An unanswered question ends with an interrupt.
func TestInterruptedQuestion(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = w.Close(), r.Close() })
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	root := newRoot("orcon")
	root.SetContext(cancelled)
	root.SetIn(r)
	root.SetErr(&bytes.Buffer{})
	_, code := explain(cancelled, ask(root, "Do this?"))
	assert.Equal(t, exitInterrupted, code)
}

// As a kubectl plugin, usage and examples read kubectl orcon.
func TestCalledAsPlugin(t *testing.T) {
	for file, want := range map[string]string{"/usr/bin/kubectl-orcon": "kubectl orcon", "kubectl-orcon.exe": "kubectl orcon", "/bin/orcon": "orcon"} {
		assert.Equal(t, want, calledAs(file))
		var out bytes.Buffer
		require.Zero(t, run(t.Context(), []string{file, "sim", "--help"}, nil, &out, &out))
		assert.Contains(t, out.String(), "\n  "+want+" sim FILE... [flags]\n")
		assert.Contains(t, out.String(), "\n  "+want+" sim shop.txtar\n")
	}
}

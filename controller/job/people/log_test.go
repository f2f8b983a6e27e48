package people_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/people"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/log"
)

// chunk stores a chunk as the jobs API of keepers does.
func (b *bench) chunk(t *testing.T, fence int64, stream string, number int64, head log.Head, content string) {
	t.Helper()
	name, err := log.Key(stream, number)
	require.NoError(t, err)
	text, err := json.Marshal(head)
	require.NoError(t, err)
	put(t, b.store, blob.Key{Workspace: "w", Fence: fence, Name: name}, string(text)+"\n"+content)
}

// logOf returns the log of run deploy-1.
func (b *bench) logOf(t *testing.T, query url.Values) (int, string) {
	t.Helper()
	return b.send(t, request{person: "ann", path: wire.Path("ns", wire.Runs, "deploy-1", wire.Log), query: query})
}

// JOBS.md J11: the log is read from the store, and states with its place and size what is missing.
func TestLog(t *testing.T) {
	type stored struct {
		stream  string
		number  int64
		head    log.Head
		content string
	}
	tests := map[string]struct {
		why    string
		chunks []stored
		want   string
	}{
		"Whole": {"in order of their numbers", []stored{
			{"stdout", 1, log.Head{}, "one\ntw"}, {"stdout", 2, log.Head{Position: 6}, "o\n"},
		}, "one\ntwo\n"},
		"Both": {"two outputs in order of time", []stored{
			{"stdout", 1, log.Head{}, "a\n"}, {"stderr", 1, log.Head{}, "b\n"}, {"stdout", 2, log.Head{Position: 2}, "c\n"},
		}, "a\nb\nc\n"},
		"Hole": {"bytes that the keeper lost", []stored{
			{"stdout", 1, log.Head{}, "one"}, {"stdout", 2, log.Head{Position: 10, Missing: 7}, "x\n"},
		}, "one\n[orcon: 7 bytes of stdout are missing here]\nx\n"},
		"Begin": {"also at the beginning", []stored{{"stderr", 1, log.Head{Position: 5, Missing: 5}, "x\n"}},
			"[orcon: 5 bytes of stderr are missing here]\nx\n"},
		"Lost": {"a chunk that the store lost", []stored{
			{"stdout", 1, log.Head{}, "one\n"}, {"stdout", 3, log.Head{Position: 9}, "x\n"},
		}, "one\n[orcon: 5 bytes of stdout are missing here]\nx\n"},
		"Limit": {"chunks beyond the limit, once", []stored{
			{"stdout", 1, log.Head{}, "one\n"}, {"stdout", 2, log.Head{Position: 4, Dropped: 3}, ""}, {"stdout", 3, log.Head{Position: 7, Dropped: 4}, ""},
		}, "one\n[orcon: 7 bytes of stdout are missing here]\n"},
		"End": {"a keeper that lost the end as well", []stored{
			{"stdout", 1, log.Head{}, "one\n"}, {"stdout", 2, log.Head{Position: 4, Dropped: 3}, ""}, {"stdout", 3, log.Head{Position: 9, Missing: 2}, ""},
		}, "one\n[orcon: 5 bytes of stdout are missing here]\n"},
		"Others": {"other streams, and what is not a chunk", []stored{{"app.log", 1, log.Head{}, "x"}, {"stdout", 1, log.Head{}, "a\n"}}, "a\n"},
		"Empty":  {"a run without output", nil, ""},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			b := newBench(t)
			b.set(people.Run{Workspace: "w", Attempt: 1, Fence: 4, Ended: true})
			put(t, b.store, blob.Key{Workspace: "w", Fence: 4, Name: "log-x"}, "x")
			b.chunk(t, 3, "stdout", 1, log.Head{}, "another run\n")
			for _, c := range tc.chunks {
				b.chunk(t, 4, c.stream, c.number, c.head, c.content)
			}
			code, text := b.logOf(t, nil)
			assert.Equal(t, http.StatusOK, code)
			assert.Equal(t, tc.want, text, tc.why)
		})
	}
}

// The attempts of a run have consecutive fences.
func TestLogOfAnAttempt(t *testing.T) {
	b := newBench(t)
	b.set(people.Run{Workspace: "w", Attempt: 3, Fence: 7, Ended: true})
	for fence, text := range map[int64]string{5: "first\n", 6: "second\n", 7: "third\n"} {
		b.chunk(t, fence, "stdout", 1, log.Head{}, text)
	}
	for attempt, want := range map[string]string{"1": "first\n", "2": "second\n", "3": "third\n", "": "third\n"} {
		_, text := b.logOf(t, url.Values{"attempt": {attempt}})
		assert.Equal(t, want, text, attempt)
	}
}

func TestLogsRefused(t *testing.T) {
	b := newBench(t)
	b.set(people.Run{Workspace: "w", Attempt: 2, Fence: 7})
	tests := map[string]struct {
		why    string
		query  url.Values
		reason metav1.StatusReason
		says   string
	}{
		"Attempt": {"there is none", url.Values{"attempt": {"3"}}, metav1.StatusReasonNotFound, "it has 2 attempts, not 3"},
		"Number":  {"attempts count from 1", url.Values{"attempt": {"0"}}, metav1.StatusReasonBadRequest, `"0" is not a number from 1`},
		"Word":    {"in digits", url.Values{"attempt": {"one"}}, metav1.StatusReasonBadRequest, `"one" is not a number from 1`},
		"Since":   {"a duration", url.Values{"since": {"now"}}, metav1.StatusReasonBadRequest, `"now" is not a duration`},
		"Past":    {"a positive one", url.Values{"since": {"-1m"}}, metav1.StatusReasonBadRequest, `"-1m" is not a duration`},
		"Follow":  {"true or false", url.Values{"follow": {"yes"}}, metav1.StatusReasonBadRequest, `"yes" is neither true nor false`},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			code, text := b.logOf(t, tc.query)
			refused(t, text, code, tc.reason, tc.says)
		})
	}
	b.set(people.Run{Workspace: "w"})
	code, text := b.logOf(t, nil)
	refused(t, text, code, metav1.StatusReasonNotFound, "the run has not started")
	b.set(people.Run{Workspace: "w", Attempt: 1, Fence: 7, Ended: true})
	put(t, b.store, blob.Key{Workspace: "w", Fence: 7, Name: "log-stdout-0000000001"}, "damaged")
	code, text = b.logOf(t, nil)
	refused(t, text, code, metav1.StatusReasonServiceUnavailable, "cannot read chunk w/0000000000000000007/log-stdout-0000000001")
}

// A file below /logs is sent as a whole; one that is not there is answered with those that are (JOBS.md J11).
func TestLogFile(t *testing.T) {
	b := newBench(t)
	b.set(people.Run{Workspace: "w", Attempt: 1, Fence: 1, Ended: true})
	b.chunk(t, 1, "stdout", 1, log.Head{}, "out\n")
	stream, file := log.StreamOf("ansible.log"), log.EscapeName("ansible.log")
	b.chunk(t, 1, stream, 1, log.Head{File: file}, "one\n")
	b.chunk(t, 1, stream, 2, log.Head{File: file, Position: 9, Missing: 5}, "two\n")
	_, text := b.logOf(t, url.Values{"file": {"/logs/ansible.log"}})
	assert.Equal(t, "one\n[5 bytes of this log are missing here]\ntwo\n", text)
	code, text := b.logOf(t, url.Values{"file": {"/logs/other"}})
	refused(t, text, code, metav1.StatusReasonNotFound, `there is no "/logs/other": use one of /logs/ansible.log, stdout`)
	code, text = b.logOf(t, url.Values{"file": {"/logs/ansible.log"}, "follow": {"true"}})
	refused(t, text, code, metav1.StatusReasonBadRequest, "leave follow and since out")
}

// What was stored before a time is left out, and not stated as missing.
func TestLogSince(t *testing.T) {
	b := newBench(t)
	b.set(people.Run{Workspace: "w", Attempt: 1, Fence: 1, Ended: true})
	b.store.next(at.Add(-time.Hour))
	b.chunk(t, 1, "stdout", 1, log.Head{}, "old\n")
	b.store.next(at.Add(-time.Minute))
	b.chunk(t, 1, "stdout", 2, log.Head{Position: 4}, "new\n")
	_, text := b.logOf(t, url.Values{"since": {"10m"}})
	assert.Equal(t, "new\n", text)
	_, text = b.logOf(t, url.Values{"since": {"3h"}})
	assert.Equal(t, "old\nnew\n", text)
}

// A log that is followed goes on from the start of the run, over a retry, to what comes after its end.
func TestLogFollow(t *testing.T) {
	b := newBench(t)
	b.set(people.Run{Workspace: "w"})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+wire.Path("ns", wire.Runs, "deploy-1", wire.Log)+"?follow=true", nil)
	require.NoError(t, err)
	r.Header.Set("Person", "ann")
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	expect := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		n, err := io.ReadFull(answer.Body, got)
		require.NoError(t, err, "%q", got[:n])
		assert.Equal(t, want, string(got))
	}
	b.set(people.Run{Workspace: "w", Attempt: 1, Fence: 1})
	b.chunk(t, 1, "stdout", 1, log.Head{}, "first\n")
	expect("first\n")
	b.chunk(t, 1, "stdout", 2, log.Head{Position: 9, Missing: 3}, "more\n")
	expect("[orcon: 3 bytes of stdout are missing here]\nmore\n")
	b.chunk(t, 2, "stdout", 1, log.Head{}, "again\n")
	b.set(people.Run{Workspace: "w", Attempt: 2, Fence: 2})
	expect("again\n")
	b.set(people.Run{Workspace: "w", Attempt: 2, Fence: 2, Ended: true})
	b.chunk(t, 2, "stderr", 1, log.Head{}, "late\n")
	expect("late\n")
	rest := make([]byte, 1)
	n, _ := answer.Body.Read(rest)
	assert.Zero(t, n, "it ends with the run")
}

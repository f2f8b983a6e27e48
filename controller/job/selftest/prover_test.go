package selftest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/conformance"
)

// tested is a machine whose report is what a test says.
type tested struct {
	*Prover

	mutex   sync.Mutex
	subject string
	report  conformance.Report
	failure error
	driven  int
	now     time.Time
}

func newTested(t *testing.T) *tested {
	m := &tested{subject: "a", report: conformance.Golden(), now: time.Unix(1e9, 0)}
	m.Prover = &Prover{
		File: filepath.Join(t.TempDir(), "proof.json"), Clock: func() time.Time { return m.now },
		Subject: func(context.Context) (string, error) { return m.subject, m.failure },
		Drive: func(context.Context) (conformance.Report, error) {
			m.mutex.Lock()
			defer m.mutex.Unlock()
			m.driven++
			return m.report, m.failure
		},
	}
	return m
}

// JOBS.md J15: a machine is tested once, again when its runner or its engine is another one, and again while it differs.
func TestProve(t *testing.T) {
	m := newTested(t)
	assert.Zero(t, m.Proof())
	for range 2 {
		require.NoError(t, m.Prove(t.Context()))
	}
	assert.Equal(t, 1, m.driven)
	assert.Equal(t, conformance.Proof{Subject: "a", Report: conformance.Golden()}, m.Proof())

	m.subject, m.report = "b", conformance.Golden().Add("x", assert.AnError)
	require.NoError(t, m.Prove(t.Context()))
	require.NoError(t, m.Prove(t.Context()))
	assert.Equal(t, 2, m.driven)
	assert.Len(t, m.Proof().Differences(), 1)
	m.now = m.now.Add(again)
	m.report = conformance.Golden()
	require.NoError(t, m.Prove(t.Context()))
	assert.Equal(t, 3, m.driven)
	assert.Empty(t, m.Proof().Differences())
}

// What was proved outlives the agent; a file that cannot be read is no proof, and neither is one about another subject.
func TestProofIsKept(t *testing.T) {
	m := newTested(t)
	require.NoError(t, m.Prove(t.Context()))
	again := func(change func(*tested)) *tested {
		next := newTested(t)
		next.File = m.File
		change(next)
		next.Load(t.Context())
		return next
	}
	next := again(func(*tested) {})
	assert.Equal(t, m.Proof(), next.Proof())
	require.NoError(t, next.Prove(t.Context()))
	assert.Zero(t, next.driven)
	assert.Zero(t, again(func(next *tested) { next.subject = "b" }).Proof())
	assert.Zero(t, again(func(next *tested) { next.failure = assert.AnError }).Proof())
	require.NoError(t, os.WriteFile(m.File, []byte("{"), 0o600))
	assert.Zero(t, again(func(*tested) {}).Proof())
	next = newTested(t)
	next.File = filepath.Join(m.File, "below")
	require.ErrorContains(t, next.Prove(t.Context()), "cannot store what this machine has proved")
}

// A test that cannot be made proves nothing, and neither does one that is ended before its time; what was proved of another
// subject counts no more.
func TestUnproved(t *testing.T) {
	m := newTested(t)
	require.NoError(t, m.Prove(t.Context()))
	m.subject = "b"
	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, m.Prove(ended), context.Canceled)
	assert.Zero(t, m.Proof())
	m.failure = assert.AnError
	require.ErrorContains(t, m.Prove(t.Context()), "cannot test this machine: ")
	m.failure = nil
	require.NoError(t, m.Prove(t.Context()))
	assert.Equal(t, "b", m.Proof().Subject)
}

// A prover tests by itself.
func TestProves(t *testing.T) {
	m := newTested(t)
	ctx, end := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Run(ctx)
	}()
	require.Eventually(t, func() bool { return m.Proof().Subject == "a" }, time.Minute, time.Millisecond)
	end()
	<-done
	assert.Equal(t, 1, m.driven)
}

// What hinders a test is told until there is a proof.
func TestHindered(t *testing.T) {
	m := newTested(t)
	drive := m.Drive
	m.Drive = func(context.Context) (conformance.Report, error) { return conformance.Report{}, assert.AnError }
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); m.Run(ctx) }()
	require.Eventually(t, func() bool { return m.Proof().Obstacle != "" }, time.Minute, time.Millisecond)
	end()
	<-ended
	assert.Equal(t, conformance.Proof{Obstacle: assert.AnError.Error()}, m.Proof())
	require.Error(t, m.Prove(t.Context()))
	assert.NotEmpty(t, m.Proof().Obstacle, "also while it is tried again")
	m.Drive = drive
	require.NoError(t, m.Prove(t.Context()))
	m.hinder(assert.AnError)
	assert.Empty(t, m.Proof().Obstacle, "it is proved")
}

package selftest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/conformance"
)

// Prover has this machine test itself when what carries out its runs is not what it has tested, and again while the report
// differs from the golden one.
type Prover struct {
	// Subject names what carries out runs; Drive tests it.
	Subject func(ctx context.Context) (string, error)
	Drive   func(ctx context.Context) (conformance.Report, error)
	// File has the last proof, so that a restart needs no other one: see Load.
	File  string
	Clock func() time.Time

	mutex  sync.Mutex
	proof  conformance.Proof
	tested time.Time
}

const (
	// again is after which time a machine that differs is tested again, every how often that is looked at.
	again = 5 * time.Minute
	every = time.Minute
	// soon is the pause before a test is repeated that could not be made.
	soon = 10 * time.Second
)

// Proof returns the last proof; the zero value for none that is about this machine as it is.
func (p *Prover) Proof() conformance.Proof {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.proof
}

// Load takes up the stored proof if it is about this machine as it is. One that cannot be read is none.
func (p *Prover) Load(ctx context.Context) {
	var proof conformance.Proof
	text, err := os.ReadFile(filepath.Clean(p.File))
	if err == nil {
		err = json.Unmarshal(text, &proof)
	}
	if subject, unknown := p.Subject(ctx); err != nil || unknown != nil || proof.Subject != subject {
		return
	}
	p.note(proof, time.Time{})
}

// Run tests the machine when that is due, until the context ends.
func (p *Prover) Run(ctx context.Context) {
	for ctx.Err() == nil {
		pause := every
		if err := p.Prove(ctx); err != nil && ctx.Err() == nil {
			glog.Warningf("%v; trying again in %s", err, soon)
			pause = soon
			p.hinder(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// untested begins the errors of a test that could not be made.
const untested = "cannot test this machine"

// Prove tests the machine if that is due.
func (p *Prover) Prove(ctx context.Context) error {
	subject, err := p.Subject(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", untested, err)
	}
	if !p.due(subject) {
		return nil
	}
	glog.Infof("this machine tests itself: %s", subject)
	report, err := p.Drive(ctx)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return fmt.Errorf("%s: %w", untested, err)
	}
	proof := conformance.Proof{Subject: subject, Report: report}
	p.note(proof, p.Clock())
	found := proof.Differences()
	for _, d := range found {
		glog.Errorf("this machine carries out runs otherwise than the contract promises: %s", d)
	}
	if len(found) == 0 {
		glog.Info("this machine carries out runs as the contract promises")
	}
	return p.store(proof)
}

// due reports whether a subject is to be tested. A proof of another one is none.
func (p *Prover) due(subject string) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.proof.Subject != subject {
		p.proof = conformance.Proof{Obstacle: p.proof.Obstacle}
		return true
	}
	return len(p.proof.Differences()) > 0 && p.Clock().Sub(p.tested) >= again
}

// hinder notes why the machine cannot be tested, unless it is.
func (p *Prover) hinder(err error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.proof.Subject == "" {
		p.proof.Obstacle = strings.TrimPrefix(err.Error(), untested+": ")
	}
}

func (p *Prover) note(proof conformance.Proof, at time.Time) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.proof, p.tested = proof, at
}

func (p *Prover) store(proof conformance.Proof) error {
	text, err := json.Marshal(proof)
	if err == nil {
		err = os.WriteFile(p.File+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(p.File+".new", p.File)
	}
	if err != nil {
		return fmt.Errorf("cannot store what this machine has proved: %w", err)
	}
	return nil
}

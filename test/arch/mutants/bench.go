package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// longestRun is how long the tests of a room may run without a mutant.
const longestRun = 10 * time.Minute

// bench runs the tests of a room with its mutants. All are compiled at once, and each run chooses
// one: linking takes longer than most tests. The files of the room stay as they are.
type bench struct {
	root, room string
	// work holds what is compiled, and program is the compiled tests.
	work, program string
	// patience is how long the tests may run; more is a failure.
	patience time.Duration
}

// newBench returns the bench of a room, after it has seen the room's tests pass without a mutant.
func newBench(ctx context.Context, root, room string, all []mutant) (*bench, error) {
	work, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, fmt.Errorf("cannot make a folder for mutants: %w", err)
	}
	b := &bench{root: root, room: room, work: work, program: filepath.Join(work, "room.test"), patience: longestRun}
	if err := b.prepare(ctx, all); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// prepare compiles the tests of the room, and sets the patience by the time that they take.
func (b *bench) prepare(ctx context.Context, all []mutant) error {
	list, err := overlay(b.root, b.room, all, b.work)
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", list, "-o", b.program, "./"+b.room)
	c.Dir = b.root
	if printed, err := output(c); err != nil {
		return fmt.Errorf("cannot compile the tests of %s: %w\n%s", b.room, err, printed)
	}
	if _, err := os.Stat(b.program); err != nil {
		return fmt.Errorf("room %s has no tests: write one first", b.room)
	}
	began := time.Now()
	if printed, err := b.test(ctx, 0); err != nil {
		return fmt.Errorf("the tests of %s fail without a mutant: %w\n%s", b.room, err, printed)
	}
	b.patience = 10*time.Second + 5*time.Since(began) // several run at once
	return nil
}

// close removes what was compiled.
func (b *bench) close() { _ = os.RemoveAll(b.work) }

// try tries mutants until the context ends, and returns those that the tests do not notice, and how
// many were tried.
func (b *bench) try(ctx context.Context, all []mutant) (survivors []mutant, tried int) {
	var workers sync.WaitGroup
	var mu sync.Mutex
	var next atomic.Int64
	for range 2 * runtime.NumCPU() { // tests wait about as long as they compute
		workers.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(all); i = next.Add(1) - 1 {
				_, err := b.test(ctx, all[i].number)
				if ctx.Err() != nil {
					return
				}
				mu.Lock()
				if tried++; err == nil {
					survivors = append(survivors, all[i])
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	return survivors, tried
}

// test runs the compiled tests with a mutant in the folder of the room, and returns what they
// printed.
func (b *bench) test(ctx context.Context, number int) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	c := exec.CommandContext(ctx, b.program, "-test.failfast")
	c.Dir = filepath.Join(b.root, filepath.FromSlash(b.room))
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", variable, number))
	return output(c)
}

// output runs a command and returns all that it printed.
func output(c *exec.Cmd) ([]byte, error) {
	var all bytes.Buffer
	c.Stdout, c.Stderr, c.WaitDelay = &all, &all, time.Second
	err := c.Run()
	return all.Bytes(), err
}

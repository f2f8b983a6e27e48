package main

import (
	"fmt"
	"io"
	"os"
)

// both writes to standard error and to a file. What the file cannot take is lost there, and nothing else is.
type both struct {
	file, stderr *os.File
	failed       bool
}

// Write implements io.Writer.
func (b *both) Write(p []byte) (int, error) {
	n, err := b.stderr.Write(p)
	if _, lost := b.file.Write(p); lost != nil && !b.failed {
		b.failed = true
		fmt.Fprintf(b.stderr, "bundle-controller: cannot write logs to %s: %v: they go on here\n", b.file.Name(), lost)
	}
	return n, err
}

// logTo has standard error written to the end of a file too, until end is called.
func logTo(path string) (end func(), err error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // another container reads it
	if err != nil {
		return func() {}, fmt.Errorf("cannot open the log file: %w: mount a volume that can be written there, or name another "+
			"by -logFile or LOG_FILE", err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return func() {}, fmt.Errorf("cannot write to log file %s: %w", path, err)
	}
	to := &both{file: file, stderr: os.Stderr}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(to, read) // its own errors have nowhere to go
	}()
	os.Stderr = write
	return func() {
		os.Stderr = to.stderr
		_ = write.Close()
		<-done
		_ = file.Close()
	}, nil
}

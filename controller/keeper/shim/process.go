package shim

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/redaction"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// execute starts the entrypoint in a process group of its own.
func (s *Shim) execute(environment []string) error {
	if len(s.Command) == 0 {
		return errors.New("it is empty: name a program after --")
	}
	program, err := exec.LookPath(s.Command[0])
	if err != nil {
		return err
	}
	environment, err = s.prepare(append(os.Environ(), environment...))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.Exchange.Output(), 0o750); err != nil {
		return err
	}
	stdin, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer stdin.Close() //nolint:errcheck // the process has its own
	secrets := variable(environment, contract.VariableSecrets)
	stdout, err := s.stream("stdout", secrets)
	if err != nil {
		return err
	}
	stderr, err := s.stream("stderr", secrets)
	if err == nil {
		var process *os.Process
		process, err = os.StartProcess(program, s.Command, &os.ProcAttr{
			Dir: s.Folder, Env: unique(environment), Files: []*os.File{stdin, stdout, stderr},
			Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
		})
		if err == nil {
			s.main = process.Pid
			err = process.Release()
		}
		_ = stderr.Close() // the process has its own
	}
	_ = stdout.Close() // the process has its own
	return err
}

// stream returns the end of a pipe for the process, whose other end is written into segments, without the values of a
// folder of secrets. Those that are there when the process starts are known.
func (s *Shim) stream(name, secrets string) (*os.File, error) {
	known := &redaction.Mounted{Path: secrets}
	if _, err := known.Values(); err != nil {
		return nil, err
	}
	in, out, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", name, err)
	}
	to := &redaction.Cleaner{
		To: &exchange.Stream{Folder: s.Exchange.Output(), Name: name, Segment: segment, Limit: spool}, Secrets: known,
	}
	s.output.readers = append(s.output.readers, in)
	s.output.copies.Go(func() {
		_, err := io.Copy(to, in)
		if err = errors.Join(err, to.Close(), in.Close()); err != nil {
			glog.Errorf("cannot read %s to its end: %v", name, err)
		}
	})
	return out, nil
}

// reap collects children that have ended. It reports the status of the entrypoint if it is among them.
func (s *Shim) reap() (status syscall.WaitStatus, ended bool) {
	for {
		var one syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &one, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return status, ended
		}
		if pid == s.main {
			status, ended = one, true
		}
	}
}

// finish kills what the entrypoint left behind, in whatever group it is, and waits for it and for the output: nothing
// writes into the state when it returns.
func (s *Shim) finish() {
	for {
		for _, pid := range children() {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended meanwhile
		}
		_, err := syscall.Wait4(-1, nil, 0, nil)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	for _, in := range s.output.readers {
		_ = in.SetReadDeadline(time.Now().Add(drain)) // it may be closed already
	}
	s.output.copies.Wait()
}

// children returns the children of this process; those of a process that has ended are among them.
func children() []int {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	var all []int
	for _, list := range lists {
		text, _ := os.ReadFile(list) //nolint:gosec // of the kernel
		for word := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				all = append(all, pid)
			}
		}
	}
	return all
}

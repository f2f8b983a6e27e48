package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// chaosProcess is a program that is killed and started again. Methods may be called at any time.
type chaosProcess struct {
	program string
	args    []string
	env     []string
	log     string
	// user is whom the program runs as; nil for the user of the test.
	user *syscall.Credential

	mu    sync.Mutex
	cmd   *exec.Cmd
	ended chan struct{}
	// over is set where the process does not come back.
	over bool
	// exits is how often the process ended by itself.
	exits int
}

// start runs the program, unless it is over. If it ends by itself, it is started again a second later, as by a kubelet.
func (p *chaosProcess) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || p.runs() {
		return nil
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd, ended := exec.Command(p.program, p.args...), make(chan struct{})
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), p.env...), log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: p.user}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd, p.ended = cmd, ended
	go func() {
		err := cmd.Wait()
		close(ended)
		if exit := new(exec.ExitError); errors.As(err, &exit) && exit.Exited() && exit.ExitCode() != 0 {
			p.mu.Lock()
			p.exits++
			p.mu.Unlock()
			<-time.After(time.Second)
			_ = p.start() // its log has the reason
		}
	}()
	return nil
}

// signal sends a signal; it reports whether a process was there.
func (p *chaosProcess) signal(signal syscall.Signal) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd != nil && p.cmd.Process.Signal(signal) == nil
}

// grace is how long a process has to end, before it is killed as by a kubelet.
const grace = 30 * time.Second

// end sends a signal and waits until the process is gone; it reports whether one was there.
func (p *chaosProcess) end(signal syscall.Signal) bool {
	p.mu.Lock()
	cmd, ended := p.cmd, p.ended
	p.mu.Unlock()
	if cmd == nil || cmd.Process.Signal(signal) != nil {
		return false
	}
	select {
	case <-ended:
	case <-time.After(grace):
		_ = cmd.Process.Kill()
		<-ended
	}
	return true
}

// alive reports whether the process runs.
func (p *chaosProcess) alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runs()
}

// runs is alive for callers that hold the lock.
func (p *chaosProcess) runs() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// finish kills the process for good.
func (p *chaosProcess) finish() { p.finishBy(syscall.SIGKILL) }

// finishBy ends the process for good by a signal.
func (p *chaosProcess) finishBy(signal syscall.Signal) {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	p.end(signal)
}

// files returns how many files the process has open.
func (p *chaosProcess) files() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	all, _ := os.ReadDir(filepath.Join("/proc", fmt.Sprint(p.cmd.Process.Pid), "fd"))
	return len(all)
}

// failures returns how often the process ended by itself.
func (p *chaosProcess) failures() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exits
}

// last returns the end of the log.
func (p *chaosProcess) last() string {
	text, _ := os.ReadFile(p.log)
	lines := strings.Split(string(text), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

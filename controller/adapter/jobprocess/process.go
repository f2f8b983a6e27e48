package jobprocess

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// The processes of an attempt. Each has a file with its PID, and one with its log.
const (
	keeperProcess = "keeper"
	shimProcess   = "shim"
)

// startKeeper starts the keeper unless it lives. It has the lock as long as it does.
func (m *Machine) startKeeper(a attempt, at executor.Attempt) error {
	lock, err := os.OpenFile(a.path(lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close() //nolint:errcheck // the keeper has it
	switch err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil
	case err != nil:
		return err
	}
	args := []string{
		"--run", at.UID, "--attempt", strconv.Itoa(at.Number), "--place", claimant(at.Name), "--address", m.Address,
		"--token", a.path(tokenName), "--exchange", a.path(exchangeName), "--state", a.path(stateName), "--scratch", a.path(scratchName),
		"--logs", a.path(logsName), "--work", a.path(workName),
	}
	return m.start(a, keeperProcess, slices.Concat(args, m.Keeper, at.KeeperArguments()), os.Environ(), lock)
}

// startShim starts the shim unless it lives.
func (m *Machine) startShim(a attempt, at executor.Attempt) error {
	if alive, err := a.exchange().Shim().Alive(); alive || err != nil {
		return err
	}
	args := []string{"--exchange", a.path(exchangeName), "--work", a.path(workName), "--state", a.path(stateName)}
	args = slices.Concat(args, at.ShimArguments(), []string{"--"}, at.Input.Entrypoint, at.Input.Args)
	return m.start(a, shimProcess, args, environment(a, at), nil)
}

// environment returns the variables of the program, with the folders of this attempt.
func environment(a attempt, at executor.Attempt) []string {
	all := map[string]string{"PATH": os.Getenv("PATH")}
	maps.Copy(all, at.Environment())
	maps.Copy(all, map[string]string{
		contract.VariableState: a.path(stateName), contract.VariableLogs: a.path(logsName), "HOME": a.path(homeName), "TMPDIR": os.TempDir(),
		contract.VariableParameters: filepath.Join(a.path(stateName), contract.ParametersFile),
		contract.VariableOutputs:    filepath.Join(a.path(stateName), contract.OutputsFile),
	})
	for _, name := range []string{contract.VariablePlan, contract.VariableApproved} {
		if all[name] != "" {
			all[name] = filepath.Join(a.path(stateName), contract.PlanFolder)
		}
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, name+"="+all[name])
	}
	return list
}

// start starts job-runner, in a process group of its own.
func (m *Machine) start(a attempt, process string, args, env []string, lock *os.File) error {
	log, err := os.OpenFile(a.path(process+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()                                                                         //nolint:errcheck // the process has it
	c := exec.Command(m.Command[0], slices.Concat(m.Command[1:], []string{process}, args)...) //nolint:gosec,noctx // it outlives this one
	c.Env, c.Stdout, c.Stderr, c.SysProcAttr = env, log, log, &syscall.SysProcAttr{Setpgid: true}
	if lock != nil {
		c.ExtraFiles = []*os.File{lock}
	}
	if err := c.Start(); err != nil {
		return err
	}
	go func() { _ = c.Wait() }() // so that it does not stay a zombie
	return os.WriteFile(a.path(process+".pid"), []byte(strconv.Itoa(c.Process.Pid)), 0o600)
}

// exists reports whether a process is there that was started for the attempt, which its command line names.
func (a attempt) exists(process string) bool {
	pid, err := os.ReadFile(a.path(process + ".pid"))
	if err != nil {
		return false
	}
	line, err := os.ReadFile(filepath.Join("/proc", string(pid), "cmdline")) //nolint:gosec // a PID of this executor
	return err == nil && strings.Contains(string(line), string(a))
}

// signal sends a signal to a process that lives.
func (a attempt) signal(process string, s syscall.Signal) error {
	text, err := os.ReadFile(a.path(process + ".pid"))
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(string(text))
	if err == nil {
		err = syscall.Kill(pid, s)
	}
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("cannot send %s to %s: %w", s, process, err)
	}
	return nil
}

package process

import (
	"os"
	"syscall"
)

// Hide keeps processes of the same user from looking into this one, if a container runtime has started it. Containers
// that share their processes and their user could else reach through /proc into mounts of this one alone: the agent's
// token, and volumes that are theirs to read only (SAFETY.md I28, S4).
func Hide() error {
	if os.Getppid() != 0 {
		return nil // a person's, or a test's
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0); errno != 0 {
		return os.NewSyscallError("prctl", errno)
	}
	return nil
}

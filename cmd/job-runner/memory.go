package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// inMemory makes a folder of the agent's own, and returns why no secret may be there.
func inMemory(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(folder)
	if err != nil {
		return err
	}
	var on unix.Statfs_t
	if err := unix.Statfs(folder, &on); err != nil {
		return err
	}
	owner, is := info.Sys().(*syscall.Stat_t)
	switch {
	case on.Type != unix.TMPFS_MAGIC && on.Type != unix.RAMFS_MAGIC:
		return errors.New("it is on a disk: name one of a tmpfs by --secrets")
	case is && int(owner.Uid) != os.Geteuid():
		return fmt.Errorf("it belongs to uid %d, and the agent has uid %d: remove it, or name another one by --secrets", owner.Uid, os.Geteuid())
	case !info.IsDir() || !is || info.Mode().Perm() != 0o700:
		return errors.New("others may have access: remove it, or name another one by --secrets")
	}
	return nil
}

package dockerjob

import (
	"errors"
	"io/fs"
	"os"
)

// lease makes the folder of the secrets, if the attempt has some: also after a reboot, which has emptied the memory.
func lease(f Mounts) error {
	return leased(f, func(folder string) error { return os.MkdirAll(folder, 0o700) })
}

// wipe removes the secrets.
func wipe(f Mounts) error { return leased(f, os.RemoveAll) }

// leased calls a function with the folder in memory, if the attempt has secrets.
func leased(f Mounts, call func(folder string) error) error {
	folder, err := os.Readlink(f.Secrets())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return call(folder)
}

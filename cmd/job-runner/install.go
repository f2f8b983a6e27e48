package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// readable is the copy of the program in its image that may be read: the program itself may only be executed.
const readable = "/tools/job-runner"

// runInstall copies the program for another container.
func runInstall(args []string) (int, error) {
	if len(args) != 1 {
		return contract.Misused, fmt.Errorf("install needs one FILE, not %d arguments: see job-runner --help", len(args))
	}
	if err := install(readable, args[0]); err != nil {
		return contract.Misused, fmt.Errorf("cannot install the runner: %w", err)
	}
	return contract.Success, nil
}

// install copies a program. The copy appears whole, also where an earlier attempt was cut off.
func install(from, to string) error {
	in, err := os.Open(filepath.Clean(from))
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // it is only read
	out, err := os.CreateTemp(filepath.Dir(to), ".install-")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name()) //nolint:errcheck // it is gone where all went well
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Chmod(0o555), out.Close()); err != nil {
		return err
	}
	return os.Rename(out.Name(), to) //nolint:gosec // the controller names the file
}

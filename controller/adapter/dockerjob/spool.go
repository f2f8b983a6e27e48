package dockerjob

import "errors"

// spoolName is the folder of requests that wait for the controller.
const spoolName = "spool"

// Spool returns the folder of requests that wait for the controller, encrypted.
func (f Mounts) Spool() string { return f.path(spoolName) }

// Clear removes what the run has left, but for what waits for the controller. It comes after the end of the run.
func (f Mounts) Clear() error {
	var failed []error
	for _, name := range []string{stateName, logsName, contentName, homeName, temporaryName, scratchName} {
		failed = append(failed, Mounts(f.path(name)).remove())
	}
	return errors.Join(append(failed, wipe(f), Mounts(f.Exchange().Output()).remove())...)
}

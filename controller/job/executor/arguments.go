package executor

import "fmt"

// KeeperArguments returns the arguments by which a keeper has the settings of the attempt, wherever it runs.
func (a Attempt) KeeperArguments() (all []string) {
	if a.Settings.Limit > 0 {
		all = append(all, fmt.Sprintf("--limit=%d", a.Settings.Limit))
	}
	if a.Settings.Checkpoint > 0 {
		all = append(all, "--checkpoint="+a.Settings.Checkpoint.String())
	}
	for _, pattern := range a.Input.Exclude {
		all = append(all, "--exclude="+pattern)
	}
	return all
}

// ShimArguments returns the arguments by which a shim has the settings of the attempt, wherever it runs.
func (a Attempt) ShimArguments() []string {
	all := []string{"--grace=" + a.Timing.Grace.String()}
	if a.Hold > 0 {
		all = append(all, "--hold="+a.Hold.String())
	}
	for _, pattern := range a.Input.Rescue {
		all = append(all, "--rescue="+pattern)
	}
	return all
}

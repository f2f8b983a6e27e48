package helm

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	release "helm.sh/helm/v4/pkg/release/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// The phases in which hooks run: before services and workloads, and after all other objects.
const (
	before = bundle.Storage
	behind = bundle.Jobs
)

// turn is when and how often an object runs.
type turn struct {
	phase  bundle.Phase
	policy bundle.RunPolicy
}

// group orders the turns of installations and upgrades by phase, and those of an uninstallation after them.
func (t turn) group() int {
	if t.policy == bundle.OnUninstall {
		return int(bundle.Jobs) + 1
	}
	return int(t.phase)
}

// The events of Helm, those of older versions too.
//
//nolint:gochecknoglobals // tables
var (
	installs = [2]string{string(release.HookPreInstall), string(release.HookPostInstall)}
	upgrades = [2]string{string(release.HookPreUpgrade), string(release.HookPostUpgrade)}
	tests    = []string{string(release.HookTest), "test-success", "test-failure"}
	// absent are events that do not exist here: a way back is a revision like others, which runs no Job again, and nothing
	// is left that could run after an uninstallation.
	absent = []string{"crd-install", string(release.HookPostDelete), string(release.HookPreRollback), string(release.HookPostRollback)}
)

const uninstalls = string(release.HookPreDelete)

// times are the events on which a hook runs.
type times []string

// parseTimes reads the events of a hook.
func parseTimes(text string) (times, error) {
	known := slices.Concat(installs[:], upgrades[:], []string{uninstalls}, tests, absent)
	var all times
	for event := range strings.SplitSeq(text, ",") {
		event = strings.TrimSpace(event)
		if !slices.Contains(known, event) {
			if near := spelling.Nearest(event, known); near != "" {
				return nil, fmt.Errorf("event %q is unknown, did you mean %q?", event, near)
			}
			return nil, fmt.Errorf("event %q is unknown", event)
		}
		all = append(all, event)
	}
	return all, nil
}

// only explains why a hook is left out, if it runs on no event that exists here.
func (t times) only() string {
	others := slices.DeleteFunc(slices.Clone(t), func(event string) bool { return slices.Contains(tests, event) })
	switch {
	case len(others) == 0:
		return "is a Helm test and is left out"
	case slices.ContainsFunc(others, func(event string) bool { return !slices.Contains(absent, event) }):
		return ""
	}
	return fmt.Sprintf("is a hook of %s only: nothing runs then here, and it is left out", strings.Join(t, " and "))
}

// turn returns when an object of a kind runs.
func (t times) turn(kind string) (turn, error) {
	install := [2]bool{slices.Contains(t, installs[0]), slices.Contains(t, installs[1])}
	upgrade := [2]bool{slices.Contains(t, upgrades[0]), slices.Contains(t, upgrades[1])}
	none, of := [2]bool{}, turn{phase: before}
	if install[1] || upgrade[1] {
		of.phase = behind
	}
	twice := install[0] && install[1] || upgrade[0] && upgrade[1] || install != none && upgrade != none && install != upgrade
	switch uninstall := slices.Contains(t, uninstalls); {
	case twice || uninstall && (install != none || upgrade != none):
		return of, errors.New("it would run at two times")
	case uninstall:
		of = turn{phase: behind, policy: bundle.OnUninstall}
	case install == none:
		of.policy = bundle.OnUpgrade
	case upgrade == none:
		of.policy = bundle.Once
	default:
		of.policy = bundle.Always
	}
	if kind != "Job" && (of.policy == bundle.OnUninstall || of.policy == bundle.OnUpgrade) {
		return of, fmt.Errorf("a %s runs when it is created, not on such an event: make it a Job", kind)
	}
	return of, nil
}

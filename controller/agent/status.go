package agent

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// WriteStatus writes what the agent knows and what it waits for, for a person.
// No value of a databag is in it.
func (a *Agent) WriteStatus(w io.Writer) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "pod\t%s/%s\n", a.settings.Namespace, a.settings.Pod)
	fmt.Fprintf(t, "unit\t%s\n", a.view.Unit)
	fmt.Fprintf(t, "controller\t%s\n", a.controllerStatus())
	fmt.Fprintf(t, "gate\t%s\n", a.gateStatus())
	fmt.Fprintf(t, "files\t%s\n", a.filesStatus())
	if a.handlers != nil {
		fmt.Fprintf(t, "handlers\t%s\n", a.handlers.status())
	}
	if a.signals != nil {
		fmt.Fprintf(t, "signal\t%s\n", a.signals.status())
	}
	fmt.Fprintf(t, "snapshots\t%d applied, %d ignored as older\n", a.report.applied, a.report.refused)
	if a.report.refusal != "" {
		fmt.Fprintf(t, "last ignored\t%s\n", a.report.refusal)
	}
	for _, kind := range slices.Sorted(maps.Keys(a.view.Revisions)) {
		fmt.Fprintf(t, "revision\t%s %d\n", kind, a.view.Revisions[kind])
	}
	fmt.Fprint(t, "\nENDPOINT\tROLE\tID\tINTERFACE\tREMOTE\tUNITS\tKEYS\tSTATE\tWHY\n")
	for _, r := range a.view.Relations {
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%d\t%d\t%s\t%s\n",
			r.Endpoint, cmp.Or(r.Role, string(application.Requirer)), r.ID, r.Interface, r.provider(a.view.Unit.Namespace), r.Units, len(r.Bag), r.state(), cmp.Or(r.Message, r.Reason))
	}
	for _, u := range a.view.Unmet(a.settings.Consumes) {
		if !slices.ContainsFunc(a.view.Relations, func(r Relation) bool { return r.Endpoint == u.Endpoint }) {
			fmt.Fprintf(t, "%s\trequires\t-\t-\t-\t-\t-\tnone\t%s\n", u.Endpoint, u.Why)
		}
	}
	return t.Flush()
}

// String returns application/number, as RELATIONS.md names units.
func (u Unit) String() string {
	switch {
	case u.Ignored != "":
		return "none: " + u.Ignored
	case u.Application == "":
		return "not known yet"
	case !u.Known:
		return u.Application + " (no number yet)"
	default:
		return fmt.Sprintf("%s/%d", u.Application, u.Number)
	}
}

func (r Relation) state() string {
	switch {
	case r.Ended:
		return "ended"
	case !r.Present:
		return "unknown, kept"
	case r.Suspended:
		return "suspended"
	case r.Held:
		return "held"
	case r.Complete:
		return "complete"
	case r.Role == string(application.Provider) || r.Role == string(application.Peer):
		return "related"
	default:
		return "incomplete"
	}
}

func (a *Agent) controllerStatus() string {
	r := a.report
	switch {
	case r.connected:
		return fmt.Sprintf("%s, connected since %s", a.settings.Address, stamp(r.since))
	case r.since.IsZero():
		return fmt.Sprintf("%s, connecting since %s", a.settings.Address, stamp(r.started))
	default:
		return fmt.Sprintf("%s, not connected since %s: %s", a.settings.Address, stamp(r.since), r.why)
	}
}

func (a *Agent) gateStatus() string {
	if a.isOpen() {
		return fmt.Sprintf("open since %s, after %s", stamp(a.report.opened), a.report.waited())
	}
	why := cmp.Or(a.report.waiting, "the first answer of the controller")
	if len(a.view.Unmet(a.settings.Consumes)) == 0 {
		why = "its files"
	}
	return fmt.Sprintf("closed for %s, waiting for %s", a.report.waited(), why)
}

func (a *Agent) filesStatus() string {
	if a.report.failing != "" {
		return "not all are written: " + a.report.failing
	}
	if a.report.lastChange.IsZero() {
		return "unchanged since the start"
	}
	return "last changed " + stamp(a.report.lastChange)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

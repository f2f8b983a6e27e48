package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/history"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/history"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// recordOptions are the flags of record.
type recordOptions struct {
	clusterOptions

	replay, follow bool
	output         output
	// table is the output so far, with -o table.
	table *table
}

func newRecord() *cobra.Command {
	var o recordOptions
	c := &cobra.Command{
		Use:   "record RELATION",
		Short: "Show the commits to the databags of a relation: who wrote, when, why, and which keys",
		Long: `record prints the last 256 commits to the databags of a relation, in order of time. The relation is
named by its object or by its id.

On a terminal it prints a table. Elsewhere, and with -o json, it prints one JSON object a line:

    {"sequence":2,"time":"2026-01-02T03:04:05.000006Z","who":"db/0",
     "cause":"main-relation-changed (web/0)","term":1,"relation":"<UID>","owner":"db",
     "changed":{"username":"user-orders"},"before":"<version>","after":"<version>"}

sequence counts the commits to one bag, whose owner is a unit (db/0) or an application (db); without
"relation" it is the bag that the application declares for all relations. cause is the handler or the tool.
term is the leader's. Commits of one transaction of several bags have the same "transaction". An
empty value is not kept: it belongs to a secret field, or to a key in "tooLong", over 4 KiB. Each bag
keeps its last 256 commits, and 128 KiB of them; they are deleted with the bag: with its relation, or
with a departed unit once the other side's handlers have run.

--follow prints new commits until it is interrupted.

--replay prints instead the bags that all kept commits lead to, one a line, and compares them with
the stored ones. "whole" means that the bag was empty before "since", the first commit that is kept;
otherwise keys that no commit names are unknown, and "data" lacks them. "differs" names the
differences, without values.

It reads relations and databags, for which you need the cluster role edit, or view and orcon-databags. Bags
of a provider in another namespace are shown as far as you may read them.

Exit codes: 0 shown, 1 a bag differs from its record, 2 the command failed, 130 interrupted.`,
		Example: `  orcon record 7 -n shop
  orcon record 7 -n shop -f
  orcon record web-store-72f57dc936 -o json | jq -c 'select(.owner == "db") | [.time, .who, .cause]'
  orcon record 7 --replay`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	o.flags(c)
	c.ValidArgsFunction = o.complete("Relation")
	c.Flags().BoolVar(&o.replay, "replay", false, "print the bags that the commits lead to, and compare them with the stored ones")
	c.Flags().BoolVarP(&o.follow, "follow", "f", false, "print new commits until it is interrupted")
	exclude(c, "replay", "follow")
	o.output.flag(c, "auto", asTable, asJSON, asYAML)
	return c
}

func (o *recordOptions) run(c *cobra.Command, name string) error {
	if o.replay && slices.Contains([]string{asTable, asYAML}, o.output.format) {
		return fmt.Errorf("cannot print --replay as %s: it is one JSON object a line: leave -o out", o.output.format)
	}
	reader, namespace, err := o.open()
	if err != nil {
		return err
	}
	r, err := history.FindRelation(c.Context(), reader, namespace, name)
	if meta.IsNoMatchError(err) {
		return errNotInstalled
	}
	if err != nil {
		return err
	}
	s := screenOf(c)
	all, err := bags(c.Context(), s, reader, namespace, r)
	switch {
	case apierrors.IsForbidden(err):
		return o.unreadable(c.Context(), namespace, err)
	case err != nil:
		return err
	case o.replay:
		return replay(c, all)
	}
	if o.output.format == "auto" && s.width > 0 {
		o.output.format = asTable
	}
	entries := entriesOf(all)
	if err := o.printEntries(s, entries, true); err != nil || !o.follow {
		return err
	}
	return o.followEntries(c.Context(), s, entries, func() ([]domain.Entry, error) {
		all, err := bags(c.Context(), screen{out: s.out, errs: s.errs, quiet: true}, reader, namespace, r)
		return entriesOf(all), err
	})
}

// bags returns the databags of both sides of a relation, with their records.
func bags(ctx context.Context, s screen, reader client.Reader, namespace string, r relation.Relation) ([]history.RecordedBag, error) {
	var all []history.RecordedBag
	for _, end := range slices.Compact([]relation.End{r.Requirer, r.Provider}) {
		said, err := history.Bags(ctx, reader, r, end)
		if apierrors.IsForbidden(err) && end.Namespace != namespace {
			s.note(fmt.Sprintf("note: not shown: %v", err))
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, said...)
	}
	return all, nil
}

// unreadable explains that the user may not read databags, which the cluster role view does not permit.
func (o *recordOptions) unreadable(ctx context.Context, namespace string, err error) error {
	me := o.me(ctx)
	return fmt.Errorf("%w: the cluster role edit has that permission, and view has not. An administrator of the namespace permits it "+
		"alone by\nkubectl create rolebinding orcon-databags-%s -n %s --clusterrole=orcon-databags --user=%s --dry-run=client -o yaml | "+
		"kubectl apply -f -", err, objectName(me), namespace, shellWord(me))
}

// entriesOf returns the last commits to all bags, in order of time.
func entriesOf(all []history.RecordedBag) []domain.Entry {
	records := make([]domain.Log, len(all))
	for i, said := range all {
		records[i] = said.Record
	}
	return domain.Last(domain.Merge(records...))
}

// pollRecord is the time between two looks of --follow.
const pollRecord = time.Second

// followEntries prints entries that are newer than those printed, until ctx ends. An API server that is away for a while
// does not end it.
func (o *recordOptions) followEntries(ctx context.Context, s screen, printed []domain.Entry,
	look func() ([]domain.Entry, error)) error {
	seen := map[string]domain.Entry{}
	noteSeen(seen, printed)
	away := false
	ticker := time.NewTicker(pollRecord)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return silentError(exitInterrupted)
		case <-ticker.C:
		}
		all, err := look()
		switch {
		case err != nil && passes(err):
			if !away {
				s.note(fmt.Sprintf("note: no new commits are shown until the API server answers: %v", err))
			}
			away = true
			continue
		case err != nil:
			return err
		}
		away = false
		fresh := slices.DeleteFunc(all, func(e domain.Entry) bool { return !newer(e, seen[bagOf(e)]) })
		noteSeen(seen, fresh)
		if err := o.printEntries(s, fresh, false); err != nil {
			return err
		}
	}
}

// passes reports whether an error passes by itself: the API server is away, or busy.
func passes(err error) bool {
	_, away := errors.AsType[*url.Error](err)
	return away || apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err) ||
		apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// noteSeen records the last commit of each bag; entries are in order of time.
func noteSeen(seen map[string]domain.Entry, entries []domain.Entry) {
	for _, e := range entries {
		seen[bagOf(e)] = e
	}
}

// newer reports whether a commit follows the last one that was seen of its bag. A bag that is made
// again counts from 1, at a later time.
func newer(e, last domain.Entry) bool {
	return e.Sequence > last.Sequence || e.Time.After(last.Time)
}

// bagOf names the bag of an entry.
func bagOf(e domain.Entry) string { return e.Relation + " " + e.Owner }

// printEntries prints commits in the format of the command.
func (o *recordOptions) printEntries(s screen, entries []domain.Entry, header bool) error {
	if o.output.format == asYAML && len(entries) > 0 {
		return o.output.print(s, entries, nil)
	}
	if o.output.format == asYAML && header && !o.follow {
		return o.output.print(s, []domain.Entry{}, nil)
	}
	if o.output.format != asTable {
		lines, err := domain.Encode(entries)
		if err == nil {
			_, err = s.out.Write(lines)
		}
		return err
	}
	if len(entries) > 0 {
		return o.tabulate(s, entries)
	}
	if header {
		s.note("no commits yet")
	}
	return nil
}

// tabulate prints a table of commits, or continues it.
func (o *recordOptions) tabulate(s screen, entries []domain.Entry) error {
	if o.table == nil {
		o.table = s.table("TIME", "WHO", "CAUSE", "BAG", "KEYS")
		o.table.wrapped = true
	}
	layout := time.DateTime
	if time.Since(entries[0].Time) < 24*time.Hour {
		layout = time.TimeOnly
	}
	for _, e := range entries {
		o.table.row(e.Time.Local().Format(layout), e.Who, e.Cause, e.Owner, keysOf(e))
	}
	return o.table.print()
}

// keysOf returns the keys of a commit with their new values: + is an added one, - a removed one.
// Values that are not kept are left out.
func keysOf(e domain.Entry) string {
	var all []string
	list := func(sign string, bag conversation.Bag) {
		for _, key := range slices.Sorted(maps.Keys(bag)) {
			text := sign + key
			if bag[key] != "" {
				text += "=" + bag[key]
			}
			all = append(all, text)
		}
	}
	list("+", e.Added)
	list("", e.Changed)
	for _, key := range e.Removed {
		all = append(all, "-"+key)
	}
	return strings.Join(all, " ")
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// recordOptions are the flags of record.
type recordOptions struct {
	clusterOptions

	replay bool
}

func newRecord() *cobra.Command {
	var o recordOptions
	c := &cobra.Command{
		Use:   "record RELATION",
		Short: "Show what was said in a relation: who, when, why, and which keys",
		Long: `record prints what was said in a relation, which is named by its object's name or by its
id, one JSON object a line, in order of time, the last 256 commits:

    {"sequence":2,"time":"2026-01-02T03:04:05.000006Z","who":"db/0",
     "cause":"main-relation-changed (web/0)","term":1,"relation":"<UID>","owner":"db",
     "changed":{"username":"user-orders"},"before":"<version>","after":"<version>"}

sequence counts the commits to one bag, whose owner is a unit (db/0) or an application
(db); without "relation" it is what the application declares to everybody. cause is the
handler or the tool. term is the leader's. Commits of one transaction of several bags
have the same "transaction". An empty value is one that is not kept: of a field that the
interface says is secret, or of a key in "tooLong", over 4 KiB. Each bag keeps its last
256 commits, and 128 KiB of them; they go with the bag: with its relation, or with the
departed unit that nobody is owed any more.

--replay prints instead the bags that all kept commits lead to, one a line, and compares
them with what is stored. "whole" says that the bag was empty before "since", the first
commit that is kept; else keys that no commit names are not known, and "data" lacks them.
What a bag differs in stands in "differs", without values.

It reads relations and databags: whoever may view the namespace may read the record, as
by the cluster role view. Of a provider in another namespace it shows what you may read.

Exit codes: 0 all is so, 1 a bag is not what its record leads to, 2 it cannot be read.`,
		Example: `  orcon record 7 -n shop
  orcon record web-store-72f57dc936 | jq -c 'select(.owner == "db") | [.time, .who, .cause]'
  orcon record 7 --replay`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, args[0]) },
	}
	o.flags(c)
	c.Flags().BoolVar(&o.replay, "replay", false, "print what the commits lead to, and compare it with what is stored")
	return c
}

func (o *recordOptions) run(c *cobra.Command, name string) error {
	reader, namespace, err := o.open()
	if err != nil {
		return err
	}
	r, err := kube.FindRelation(c.Context(), reader, namespace, name)
	if err != nil {
		return err
	}
	var all []kube.Said
	for _, end := range slices.Compact([]relation.End{r.Requirer, r.Provider}) {
		said, err := kube.Conversation(c.Context(), reader, r, end)
		if apierrors.IsForbidden(err) && end.Namespace != namespace {
			fmt.Fprintf(c.ErrOrStderr(), "orcon: not shown: %v\n", err)
			continue
		}
		if err != nil {
			return err
		}
		all = append(all, said...)
	}
	if o.replay {
		return replay(c, all)
	}
	return printRecord(c, all)
}

// printRecord prints what was said by time.
func printRecord(c *cobra.Command, all []kube.Said) error {
	records := make([]conversation.Record, len(all))
	for i, said := range all {
		records[i] = said.Record
	}
	lines, err := conversation.EncodeEntries(conversation.Last(conversation.Merge(records...)))
	if err == nil {
		_, err = c.OutOrStdout().Write(lines)
	}
	return err
}

// replayed is what is printed of a bag.
type replayed struct {
	conversation.Replayed

	Differs []string `json:"differs,omitempty"`
}

// replay prints what each record leads to, and fails where that is not stored.
func replay(c *cobra.Command, all []kube.Said) error {
	var wrong []error
	out := json.NewEncoder(c.OutOrStdout())
	out.SetEscapeHTML(false)
	for _, said := range all {
		to, err := said.Record.Replay(said.At)
		line := replayed{Replayed: to}
		if err != nil {
			line.Differs = []string{err.Error()}
		} else {
			line.Differs = to.Differs(said.Stored)
		}
		for _, what := range line.Differs {
			wrong = append(wrong, fmt.Errorf("the bag of %s is not what its record leads to: %s", said.At.Owner, what))
		}
		if err := out.Encode(line); err != nil {
			return fmt.Errorf("cannot print the bag of %s: %w", said.At.Owner, err)
		}
	}
	if len(wrong) > 0 {
		return failedError{errors.Join(wrong...)}
	}
	return nil
}

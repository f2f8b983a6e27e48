package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/git"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content/render"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// fleetBase is the version that a plan compares with.
type fleetBase struct {
	// name names the data for a user.
	name  string
	files bundle.Tree
	chart *render.Prepared
}

// baseRevision is a revision of the repository that a folder lies in.
type baseRevision struct {
	repository git.Repository
	// name is as the user wrote it.
	name, commit string
}

// before returns the data and the chart before the change. now is the chart after it.
func (o *fleetPlanOptions) before(c *cobra.Command, chart string, now *render.Prepared) (fleetBase, error) {
	base := fleetBase{name: o.base, chart: now}
	at, err := revisionOf("--base", o.base, o.data)
	switch {
	case err != nil:
		return base, err
	case at == nil:
		base.files, err = o.fetchData(c, o.base)
	default:
		base.name = o.data + " at " + o.base
		base.files, err = o.dataAt(c, *at)
	}
	if err != nil {
		return base, err
	}
	tree, err := o.chartBefore(c, chart, at)
	if err != nil || tree == nil {
		return base, err
	}
	prepared, err := render.Prepare(*tree, o.Path, o.Format)
	if err != nil {
		return base, fmt.Errorf("cannot use the chart before the change: %w", err)
	}
	if prepared.Digest() != now.Digest() {
		base.chart = prepared
		screenOf(c).note(fmt.Sprintf("note: the chart differs too, and its changes are shown: --chart-base %s leaves them out", chart))
	}
	return base, nil
}

// revisionOf returns the revision that the value of a flag names in the repository of a folder; nil for a source.
func revisionOf(flag, value, folder string) (*baseRevision, error) {
	if r, err := bundle.ParseReference(value); err != nil || r.Origin != bundle.Local {
		return nil, err
	}
	_, missing := os.Stat(value)
	repository, err := git.Open(folder)
	if err != nil && missing == nil {
		return nil, nil //nolint:nilnil // it is a source
	}
	commit := ""
	if err == nil {
		commit, err = repository.Commit(value)
	}
	switch {
	case err == nil && missing == nil:
		return nil, fmt.Errorf("cannot use %s %q: it is a folder and a revision: write ./%s for the folder, or the revision another way, as %s",
			flag, value, value, commit[:12])
	case missing == nil:
		return nil, nil //nolint:nilnil // it is a source
	case err != nil:
		return nil, notFound(flag, value, folder, err, repository)
	}
	return &baseRevision{repository, value, commit}, nil
}

// notFound returns the error of a value that is neither a folder nor a revision.
func notFound(flag, value, folder string, err error, repository git.Repository) error {
	switch {
	case errors.Is(err, git.ErrNoRepository):
		return fmt.Errorf("cannot find %s %q: there is no such folder, and no revision either, since %s is in no work tree of git",
			flag, value, folder)
	case errors.Is(err, git.ErrUnknown):
		return fmt.Errorf("cannot find %s %q: there is no such folder, and the repository of %s has no such revision: %s", flag, value,
			folder, fetchIt(value, repository.Names()))
	}
	return fmt.Errorf("cannot use %s: %w", flag, err)
}

// fetchIt returns the cure for a revision that a repository does not have.
func fetchIt(name string, known []string) string {
	if near := spelling.Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if branch, of := strings.CutPrefix(name, "origin/"); of {
		return "fetch it: git fetch origin " + branch
	}
	return "fetch it, without --depth; git log shows what there is"
}

// files returns the files of a folder at the revision. It reports false if the folder is newer.
func (r baseRevision) files(folder string) (bundle.Tree, bool, error) {
	at, inside := r.repository.Path(folder)
	if !inside {
		return bundle.Tree{}, false, nil
	}
	return r.repository.Files(r.commit, at)
}

// dataAt returns the data at a revision. Where their folder is newer, there were none.
func (o *fleetPlanOptions) dataAt(c *cobra.Command, at baseRevision) (bundle.Tree, error) {
	files, found, err := at.files(o.data)
	switch {
	case err != nil:
		return bundle.Tree{}, fmt.Errorf("cannot use --base %s: %w", at.name, err)
	case !found:
		screenOf(c).note(fmt.Sprintf("note: %s has no folder %s: everything is new", at.name, o.data))
	}
	return files, nil
}

// chartBefore returns the chart before the change; nil if that is the one after it. A chart in the repository of the
// data is read at their revision: a change of both is applied as one.
func (o *fleetPlanOptions) chartBefore(c *cobra.Command, chart string, data *baseRevision) (*bundle.Tree, error) {
	at := data
	if o.chartBase != "" {
		var err error
		if at, err = revisionOf("--chart-base", o.chartBase, chart); err != nil {
			return nil, err
		}
		if at == nil {
			tree, err := o.fetch(c, o.chartBase)
			return &tree, err
		}
	}
	if folder, err := os.Stat(chart); at == nil || err != nil || !folder.IsDir() {
		return nil, nil //nolint:nilnil,nilerr // other charts have no revisions
	}
	tree, found, err := at.files(chart)
	if err != nil {
		return nil, fmt.Errorf("cannot read chart %s at %s: %w", chart, at.name, err)
	}
	if found {
		return &tree, nil
	}
	if _, inside := at.repository.Path(chart); inside {
		screenOf(c).note(fmt.Sprintf("note: %s has no folder %s: the data before the change are rendered by the new chart", at.name, chart))
	}
	return nil, nil //nolint:nilnil // there was no other chart
}

package agent

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// folders are the directories of the bindings volume.
type folders struct {
	bindings Bindings
	report   *report
	written  map[string]folder
}

// folder is a directory as it is. The zero folder was removed.
type folder struct {
	// source is zero if this process has not written it.
	source source
	// version is that of its files.
	version string
	// failed is set if it could not be written.
	failed bool
}

// source identifies the origin of the files of a directory, so that a bag is read only if that differs.
type source struct {
	bag databag.Ref
	// granted is the ID of the granted Secret, and content the version of its files.
	granted, content      string
	interfaceName, remote string
}

// sourceOf returns the origin of a relation's files.
func sourceOf(r conversation.Relation, contents map[string]Content) source {
	content := databag.Version(contents[r.Granted.ID].Files)
	return source{bag: r.RemoteBag, granted: r.Granted.ID, content: content, interfaceName: r.Interface, remote: r.Remote}
}

// adopt takes note of the directories that a process before this one has written, and that stay as they are.
func (f *folders) adopt(plan Plan) error {
	for name := range plan.Keep {
		if _, known := f.written[name]; known {
			continue
		}
		version, err := f.look(name)
		if err != nil {
			return err
		}
		if version != "" {
			f.written[name] = folder{version: version}
		}
	}
	return nil
}

// look returns the version of the files that a directory has; empty without one.
func (f *folders) look(name string) (string, error) {
	files, err := f.bindings.Read(name)
	if err != nil || files == nil {
		return "", err
	}
	return databag.Version(files), nil
}

// show reports whether <endpoint>/ is written for each endpoint that the start gate waits for.
func (f *folders) show(consumes []application.Endpoint) bool {
	return !slices.ContainsFunc(consumes, func(e application.Endpoint) bool {
		written := f.written[e.Name]
		return required(e) && (written.version == "" || written.failed)
	})
}

// version returns the version of all files.
func (f *folders) version() string {
	all := map[string]string{}
	for name, folder := range f.written {
		if folder.version != "" {
			all[name] = folder.version
		}
	}
	return databag.Version(all)
}

// project writes the directories that differ, one after the other, so that one bag at a time is in memory.
func (f *folders) project(v Projection, plan Plan) error {
	failed := failures{}
	for _, name := range plan.order() {
		r := plan.Write[name]
		if f.written[name].version == "" || f.written[name].source != sourceOf(r, v.Contents) {
			failed.note("write", name, f.write(name, v, r))
		}
	}
	for _, name := range plan.Remove {
		switch written, known := f.written[name]; {
		case known && written == (folder{}): // it is gone
		case plan.Keep[name] && written.source == (source{}) && !written.failed: // of a process before this one
		default:
			failed.note("remove", name, f.remove(name))
		}
	}
	return failed.err()
}

// failures are the directories that cannot be changed, by what fails and its reason: a full volume has one reason for
// all of them, and the same text after each attempt.
type failures map[[2]string][]string

// note adds a directory, if there is an error.
func (f failures) note(what, name string, err error) {
	if err != nil {
		of := [2]string{what, root(err).Error()}
		f[of] = append(f[of], name)
	}
}

// mostNamed is how many directories an error names.
const mostNamed = 8

// err returns what fails, nil for nothing.
func (f failures) err() error {
	var all []error
	for _, of := range slices.SortedFunc(maps.Keys(f), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		names, more := f[of], ""
		if left := len(names) - mostNamed; left > 0 {
			names, more = names[:mostNamed], fmt.Sprintf(" and %d more", left)
		}
		all = append(all, fmt.Errorf("cannot %s bindings %s%s: %s", of[0], strings.Join(names, ", "), more, of[1]))
	}
	return errors.Join(all...)
}

// write makes a directory show a relation.
func (f *folders) write(name string, v Projection, r conversation.Relation) error {
	files := v.files(r)
	next := folder{source: sourceOf(r, v.Contents), version: databag.Version(files)}
	if f.written[name].source != (source{}) && f.written[name].version == next.version {
		f.written[name] = next
		return nil
	}
	if err := f.bindings.Write(name, files); err != nil {
		version, _ := f.look(name) // what was there stays, if it can be read
		f.written[name] = folder{version: version, failed: true}
		return err
	}
	f.written[name] = next
	f.report.changed("wrote bindings %s: %d files", name, len(files))
	return nil
}

func (f *folders) remove(name string) error {
	if err := f.bindings.Remove(name); err != nil {
		return err
	}
	if f.written[name].version != "" {
		f.report.changed("removed bindings %s: the relation has ended", name)
	}
	f.written[name] = folder{}
	return nil
}

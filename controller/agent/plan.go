package agent

import (
	"fmt"
	"maps"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// Plan lists the directories that the bindings volume must hold. Others stay as they are.
type Plan struct {
	// Write has the relation that each directory shows.
	Write map[string]conversation.Relation
	// Remove are the directories of relations that have ended.
	Remove []string
	// Keep has the directories of living relations that cannot be shown yet: what a process before this one has written
	// there stays.
	Keep map[string]bool
}

// order returns the directories in the order in which they are written: in a volume that is almost full, those of primary
// relations have room first (TRUST.md U2).
func (p Plan) order() []string {
	names := slices.Sorted(maps.Keys(p.Write))
	slices.SortStableFunc(names, func(a, b string) int {
		primary := func(name string) bool { return p.Write[name].Endpoint == name }
		switch {
		case primary(a) == primary(b):
			return 0
		case primary(a):
			return -1
		default:
			return 1
		}
	})
	return names
}

// Plan returns the directories for what is known: <endpoint>-<id>/ for each
// relation and <endpoint>/ for the oldest one on each endpoint (SAFETY.md W2).
func (v Projection) Plan() Plan {
	plan := Plan{Write: v.directories(), Keep: hidden(v, func(r conversation.Relation) bool { return !v.read(r) })}
	for _, r := range v.View.Relations {
		unknown := r.ID == 0 // it had ended when the agent first heard of it
		if !ended(r) || unknown || !isDirectoryName(r.Endpoint) {
			continue
		}
		for _, dir := range []string{directory(r), r.Endpoint} {
			if _, used := plan.Write[dir]; !used {
				plan.Remove = append(plan.Remove, dir)
			}
		}
	}
	return plan
}

// directories returns the relation that every directory shows. One whose Secret is not read yet stays as it is.
func (v Projection) directories() map[string]conversation.Relation {
	dirs := map[string]conversation.Relation{}
	for _, r := range v.View.Relations {
		if projected(r) && v.read(r) && isDirectoryName(r.Endpoint) {
			dirs[directory(r)] = r
		}
	}
	// The short names come second: an endpoint called db-7 wins over
	// relation 7 of endpoint db.
	for _, r := range v.View.Relations {
		if first, ok := v.primary(r.Endpoint); ok && v.read(first) && isDirectoryName(r.Endpoint) {
			dirs[r.Endpoint] = first
		}
	}
	return dirs
}

// hidden returns the directories of the living relations that lack something.
func hidden(v Projection, lacks func(conversation.Relation) bool) map[string]bool {
	names := map[string]bool{}
	for _, r := range v.View.Relations {
		if !isDirectoryName(r.Endpoint) {
			continue
		}
		if projected(r) && lacks(r) {
			names[directory(r)] = true
		}
		if first, ok := v.primary(r.Endpoint); ok && lacks(first) {
			names[r.Endpoint] = true
		}
	}
	return names
}

// files returns the content of a relation's directory: the keys that may be
// files (SAFETY.md W1), what it grants in place of the reference to that, and type and
// provider, which are Orcon's whatever the bag says.
func (v Projection) files(r conversation.Relation) map[string]string {
	bag := v.View.Bag(r.RemoteBag)
	files := make(map[string]string, len(bag)+2)
	for key, value := range bag {
		if databag.FileName(key) && !refers(r, value) {
			files[key] = value
		}
	}
	maps.Copy(files, v.Contents[r.Granted.ID].Files)
	files["type"] = r.Interface
	files["provider"] = r.Remote
	return files
}

func directory(r conversation.Relation) string { return fmt.Sprintf("%s-%d", r.Endpoint, r.ID) }

// isDirectoryName tells whether an endpoint's name may begin a directory's: a
// file name with room for an id. Nothing that comes over the wire is trusted to
// be one.
func isDirectoryName(endpoint string) bool {
	return databag.FileName(endpoint) && len(endpoint) <= databag.MaxKey-len("-9223372036854775807")
}

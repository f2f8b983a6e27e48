package agent

import (
	"fmt"
	"maps"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// Plan lists the directories that the bindings volume must hold. Others stay as they are.
type Plan struct {
	// Write is the content of each directory: file name to content.
	Write map[string]map[string]string
	// Remove are the directories of relations that have ended.
	Remove []string
}

// Plan returns the directories for what is known: <endpoint>-<id>/ for each
// relation and <endpoint>/ for the oldest one on each endpoint (SAFETY.md W2).
func (v Projection) Plan() Plan {
	plan := Plan{Write: v.directories()}
	for _, r := range v.View.Relations {
		if !ended(r) || !isDirectoryName(r.Endpoint) {
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

// directories returns the content of every directory. One whose Secret is not read yet stays as it is.
func (v Projection) directories() map[string]map[string]string {
	dirs := map[string]map[string]string{}
	for _, r := range v.View.Relations {
		if projected(r) && v.read(r) && isDirectoryName(r.Endpoint) {
			dirs[directory(r)] = v.files(r)
		}
	}
	// The short names come second: an endpoint called db-7 wins over
	// relation 7 of endpoint db.
	for _, r := range v.View.Relations {
		if first, ok := v.primary(r.Endpoint); ok && v.read(first) && isDirectoryName(r.Endpoint) {
			dirs[r.Endpoint] = v.files(first)
		}
	}
	return dirs
}

// files returns the content of a relation's directory: the keys that may be
// files (SAFETY.md W1), what it grants in place of the reference to that, and type and
// provider, which are Orcon's whatever the bag says.
func (v Projection) files(r conversation.Relation) map[string]string {
	bag := v.View.Bag(r.RemoteBag)
	files := make(map[string]string, len(bag)+2)
	for key, value := range bag {
		if application.FileName(key) && !refers(r, value) {
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
	return application.FileName(endpoint) && len(endpoint) <= databag.MaxKey-len("-9223372036854775807")
}

package bundle

import (
	"slices"
	"strings"
)

// serves reports whether a definition of the sequence serves the version of an item: the cluster has that version once the
// definition is applied, also where it has the kind already.
func (s Sequence) serves(item Item) bool {
	version := item.Object.Text("apiVersion")
	version = version[strings.IndexByte(version, '/')+1:]
	return slices.ContainsFunc(s, func(i Item) bool {
		return !i.Kept && i.ID.kind() == definition && i.Object.Text("spec", "group") == item.ID.Group &&
			i.Object.Text("spec", "names", "kind") == item.ID.Kind && slices.ContainsFunc(list(i.Object.At("spec", "versions")), func(v any) bool {
			fields, _ := v.(map[string]any)
			return Object(fields).Text("name") == version && fields["served"] != false
		})
	})
}

// lists reports whether the deployment may have made an object.
func (r Record) lists(id ID) bool {
	return slices.ContainsFunc(r.Inventory, func(e Entry) bool { return e.ID == id })
}

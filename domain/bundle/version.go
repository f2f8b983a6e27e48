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

// recorded reports whether an inventory has an object, so that the deployment may have made it.
func recorded(inventory []Entry, id ID) bool {
	return slices.ContainsFunc(inventory, func(e Entry) bool { return e.ID == id })
}

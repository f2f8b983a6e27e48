package spelling

import (
	"slices"
	"strings"
)

// Keys returns an entry that lists the keys of a name, name=KEY,KEY; "" without a name, or if it is too long for a cure.
func Keys(name string, keys ...string) string {
	if text := name + "=" + strings.Join(keys, ","); name != "" && len(text) <= longest {
		return text
	}
	return ""
}

// NearKeys returns the entry name=KEY,KEY that is nearest to a wrong one, and that is right: the whole entry. It returns
// "" if nothing near is right, and for an entry that is right.
func NearKeys(entry string, right func(entry string) bool) string {
	mark := strings.IndexAny(entry, "=:")
	if mark < 0 || len(entry) > longest || right(entry) {
		return ""
	}
	keys := strings.FieldsFunc(entry[mark+1:], func(r rune) bool { return r == ',' })
	for i := range keys {
		keys[i] = strings.TrimSpace(keys[i])
	}
	keys = slices.DeleteFunc(keys, func(key string) bool { return key == "" })
	near := Keys(Name(strings.TrimSpace(entry[:mark]), "_-"), keys...)
	if !right(near) {
		return ""
	}
	return near
}

package bundle

import (
	"slices"
	"strings"
)

// unwatched describes the objects whose changes are not seen before the next look, as the end of
// a sentence about that; empty if there are none.
func unwatched(lacks []Permission) string {
	if len(lacks) == 0 {
		return ""
	}
	lacks = slices.SortedFunc(slices.Values(lacks), Permission.Compare)
	var all []string
	for i, l := range lacks {
		where := ""
		if last := i == len(lacks)-1 || lacks[i+1].Namespace != l.Namespace; last && l.Namespace != "" {
			where = " in namespace " + l.Namespace
		}
		all = append(all, thing(l.Group, l.Resource)+where)
	}
	return "; changes to " + strings.Join(all, ", ") + " are found only then: the account may not list and watch them"
}

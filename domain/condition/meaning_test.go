package condition_test

import (
	"go/ast"
	"slices"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/test/reason"
)

// Every reason that the code gives to a condition of Relations, RelatedApplications, Offers,
// Interfaces and Databags is explained, and no other.
func TestMeaningsAreThoseOfTheCode(t *testing.T) {
	var explained, written []string
	for _, m := range condition.Meanings() {
		explained = append(explained, m.Reason)
	}
	for _, room := range []string{"../relation", "../negotiation", "../schema", "../application", "../secret", "../../controller/api/convert/relation"} {
		written = append(written, reasons(t, room)...)
	}
	for _, c := range condition.Sentences() { // Ready has the type of another condition as its reason
		if slices.Contains(explained, string(c.Type)) {
			written = append(written, string(c.Type))
		}
	}
	slices.Sort(explained)
	slices.Sort(written)
	assert.Equal(t, slices.Compact(written), slices.Compact(explained))
}

func TestMeaningsAreDistinct(t *testing.T) {
	known := map[string]bool{}
	for _, m := range condition.Meanings() {
		assert.False(t, known[string(m.Type)+m.Reason], "%s %s", m.Type, m.Reason)
		known[string(m.Type)+m.Reason] = true
		assert.NotEmpty(t, m.Means, m.Reason)
	}
	for _, c := range condition.Sentences() {
		assert.False(t, known[string(c.Type)], c.Type)
		known[string(c.Type)] = true
		assert.NotEmpty(t, c.Of, c.Type)
		assert.NotEmpty(t, c.Means, c.Type)
	}
}

// reasons returns the reasons of conditions in a folder: beside constants and fields, the first
// argument of Settled, Waiting and Stuck, and the third one of New. Reasons of ends are none of conditions.
func reasons(t *testing.T, folder string) []string {
	t.Helper()
	all := reason.Literals(t, folder, func(call *ast.CallExpr) []ast.Expr {
		f, is := call.Fun.(*ast.SelectorExpr)
		switch {
		case is && slices.Contains([]string{"Settled", "Waiting", "Stuck"}, f.Sel.Name):
			return call.Args[:1]
		case is && f.Sel.Name == "New" && len(call.Args) == 4:
			return call.Args[2:3]
		}
		return nil
	})
	return slices.DeleteFunc(all, func(text string) bool {
		return text == "Deleted" || text == "NamespaceDeleted" || text == "" || !unicode.IsUpper(rune(text[0]))
	})
}

package event_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/event"
	"gitlab.ilabt.imec.be/tengu/orcon/test/reason"
)

func TestTable(t *testing.T) {
	var last string
	for _, e := range event.Relations() {
		assert.Less(t, last, e.Reason, "in order, each once")
		last = e.Reason
		assert.NotEmpty(t, e.On, e.Reason)
		for _, text := range []string{e.Meaning, e.Cure} {
			assert.True(t, text == "" || strings.HasSuffix(text, "."), "%s: %q is a sentence", e.Reason, text)
		}
		assert.NotEmpty(t, e.Meaning, e.Reason)
		assert.True(t, e.Normal || e.Cure != "", "%s: a warning has a cure", e.Reason)
	}
}

// Every reason that is written in the rooms of relations is in the table, and the table
// has no other.
func TestComplete(t *testing.T) {
	var documented []string
	for _, e := range event.Relations() {
		documented = append(documented, e.Reason)
	}
	written := []string{event.HandlerWaiting, event.RelationsReady, event.Ready, event.Related, event.Restarted, event.RestartRefused, event.Invalid, "HandlerFailed", "EndsOwed", "EndsHeld", "WritesLimited", "CommitRefused", "AgentOutdated"}
	for _, room := range []string{"../relation", "../negotiation", "../application", "../secret", "../../controller/adapter/kube/commits", "../../controller/adapter/kube/settle"} {
		written = append(written, reasons(t, room)...)
	}
	slices.Sort(written)
	assert.Equal(t, slices.Compact(written), documented)
}

// silent returns the reasons of which no Event has one: those of a relation's end, and
// of conditions without Events.
func silent() []string {
	return []string{"Published", "InvalidDocument", "Changed", "WrongName", "BuiltIn", "Complete", "Deleted", "NamespaceDeleted", "ProgressDeadlineExceeded"}
}

// reasons returns the reasons in a folder: beside constants and fields, arguments that stand
// where a reason does.
func reasons(t *testing.T, folder string) []string {
	t.Helper()
	all := reason.Literals(t, folder, func(call *ast.CallExpr) []ast.Expr {
		if f, is := call.Fun.(*ast.SelectorExpr); is && f.Sel.Name == "New" && len(call.Args) == 4 { // condition.New
			return call.Args[2:3]
		}
		return call.Args[:min(2, len(call.Args))]
	})
	return slices.DeleteFunc(all, func(text string) bool { return !isReason(text) })
}

// isReason reports whether a text is one word as Kubernetes writes reasons.
func isReason(text string) bool {
	return len(text) > 3 && text[0] >= 'A' && text[0] <= 'Z' && strings.ToUpper(text) != text && !strings.ContainsAny(text, " .:;%/\n-'=\"") && !slices.Contains(silent(), text)
}

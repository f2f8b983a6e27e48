package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// hostile is a text that would break out of a page that does not escape it.
const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)>'{{.}}</style>`

// The page needs nothing from elsewhere, runs nothing, and shows whatever it is given as
// text: names, values and words of others.
func TestPrintPage(t *testing.T) {
	id := bundle.ID{Kind: hostile, Group: hostile, Namespace: hostile, Name: hostile}
	p := bundle.Plan{
		Owner: hostile, Digest: hostile, Base: 2, Sequence: bundle.Sequence{{Object: bundle.Object{"data": "hunter2"}}},
		Actions: []bundle.Action{
			{Verb: bundle.Update, ID: id, Why: hostile, Force: []string{hostile}, Restarts: true, Pods: 3, Changes: []bundle.Change{{Path: hostile, Before: hostile, After: hostile, Manager: hostile}}},
			{Verb: bundle.None, ID: id}, {Verb: bundle.None, ID: bundle.ID{Kind: hostile}},
			{Verb: bundle.Delete, ID: id, Phase: bundle.Services},
		},
		Refused:    []bundle.Refusal{{Rule: hostile, Message: hostile}},
		Conflicts:  []bundle.Conflict{{ID: id, Holder: hostile}},
		Holds:      []bundle.Hold{{Reason: bundle.Confirm, Objects: []bundle.ID{id}}},
		Unverified: []bundle.Unverified{{ID: id, Why: hostile}},
		Grants:     []bundle.Grant{{To: hostile, Rule: bundle.Rule{Verbs: []string{hostile}, Groups: []string{hostile}, Resources: []string{hostile}}, Role: id}},
	}
	var out bytes.Buffer
	require.NoError(t, printPage(&out, p))
	text := out.String()
	for _, tag := range regexp.MustCompile(`<[^>]*>`).FindAllString(text, -1) {
		assert.NotRegexp(t, `(?i)script|<img|onerror|alert|src=|href=|url\(|@import`, tag, "nothing breaks out")
	}
	assert.Equal(t, 1, strings.Count(text, "</style>"))
	assert.Contains(t, text, "default-src 'none'", "and nothing could be fetched if it did")
	for _, shown := range []string{"its 3 pods restart", "against revision 2", "When all is healthy", "1 in conflict, 1 unchanged", "Permissions that it grants", "Waits for a person", "In the way", "Refused by the policy"} {
		assert.Contains(t, text, shown)
	}
	assert.NotContains(t, text, "hunter2", "BUNDLES.md 10: objects hold what Secrets hold")
}

// What is the same for many is said once.
func TestUnverified(t *testing.T) {
	var list []bundle.PreviewUnverified
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		list = append(list, bundle.PreviewUnverified{PreviewObject: bundle.PreviewObject{Kind: "Engine", Name: name}, After: "crds", Why: "no kind yet"})
	}
	assert.Equal(t, []string{"phase crds: no kind yet: Engine a, Engine b, Engine c, and 2 more"}, unverified(list))
}

package data

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bombs are files that need hours, or gigabytes, unless they are bounded.
func bombs() map[string]string {
	const head = "$schema: /app-sre/integration-1.yml\nname: a\n"
	var keys strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&keys, "    k%d: 1\n", i)
	}
	aliases := "a: &a {b: 1}\n"
	for i := range 40 {
		aliases += fmt.Sprintf("%c%d: &n%d [*%s, *%[4]s]\n", 'x', i, i, map[bool]string{true: "a", false: fmt.Sprint("n", i-1)}[i == 0])
	}
	return map[string]string{
		"Keys":    head + "managed:\n- namespace: {$ref: /n.yml}\n  spec:\n" + keys.String(),
		"Values":  head + "x: [" + strings.Repeat("a,", 2_000_000) + "]\n",
		"Nested":  head + "x: " + strings.Repeat("- ", 5_000) + "a\n",
		"Aliases": head + aliases + "managed: *n39\n",
		"Itself":  head + "managed: &a [*a]\n",
		"Entries": head + "e: &e {namespace: {$ref: /n.yml}}\nmanaged: [" + strings.Repeat("*e,", 150_000) + "]\n",
	}
}

// TRUST.md U6: data are read by the controller of all namespaces, within seconds whatever they hold.
func TestDataAreBounded(t *testing.T) {
	for label, text := range bombs() {
		t.Run(label, func(t *testing.T) {
			began := time.Now()
			d := Read(map[string][]byte{"a.yml": []byte(text)}, Options{})
			assert.Less(t, time.Since(began), 5*time.Second)
			require.Len(t, d.Integrations, 1)
			if label != "Keys" {
				assert.NotEmpty(t, d.Integrations[0].Held)
			}
		})
	}
	many := map[string][]byte{}
	for i := range 100 {
		many[fmt.Sprintf("%d.yml", i)] = []byte("$schema: /app-sre/integration-1.yml\nx: [" + strings.Repeat("a,", 90_000) + "]\n")
	}
	d := Read(many, Options{})
	require.Len(t, d.Integrations, 100)
	assert.Contains(t, fmt.Sprint(d.Integrations[99].Held), "the data have more than 2000000 values: use fewer files")
	_, err := Files(map[string][]byte{"b.json": []byte(`{"data": {"/a.yml": {"$schema": "/app-sre/integration-1.yml", "x": [` +
		strings.Repeat("1,", 1_000_000) + `1]}}}`)})
	require.ErrorContains(t, err, "it has more than 100000 values: split it")
}

// FuzzAtMost shows that the values of a text, counted before it is parsed, are no fewer than those that it has.
func FuzzAtMost(f *testing.F) {
	for _, text := range []string{"a: b", "- - a", "? a\n: b", "[a, {b: c}]", "{a, b}", "[a: b]", "- ? a", "a: &b c\nd: *b", "|\n a", "[[[]]]", "-\ta", "?\ta"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := open("a.yml", []byte(text))
		v, problems := d.root()
		if len(problems) == 0 {
			assert.LessOrEqual(t, (sizesOf(v)), 4*atMost([]byte(text)))
		}
	})
}

// sizesOf returns how many values a document has, without what aliases stand for.
func sizesOf(v value) int {
	count, all := 0, append(v.node.Content[:0:0], v.node)
	for len(all) > 0 {
		one := all[len(all)-1]
		all, count = append(all[:len(all)-1], one.Content...), count+1
	}
	return count
}

// A file of a bundle that is not read may have any size.
func TestUnreadFileOfABundle(t *testing.T) {
	text, err := json.Marshal(map[string]any{"data": map[string]any{"/x.yml": map[string]any{"$schema": "/other.yml", "x": make([]int, 500_000)}}})
	require.NoError(t, err)
	files, err := Files(map[string][]byte{"b.json": text})
	require.NoError(t, err)
	assert.JSONEq(t, `{"$schema": "/other.yml"}`, string(files["/x.yml"]))
}

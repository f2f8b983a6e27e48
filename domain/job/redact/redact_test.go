package redact_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/redact"
)

// whole returns a text as it leaves in one part.
func whole(text string, values ...string) string {
	r := redact.New(values...)
	return string(r.Next([]byte(text))) + string(r.Rest())
}

// JOBS.md J14: known values are redacted before chunks leave.
func TestRedact(t *testing.T) {
	const key = "-----BEGIN KEY-----\nMIIEow\nIBAAKC\n-----END KEY-----\n"
	for name, c := range map[string]struct {
		why, text, want string
		values          []string
	}{
		"Plain":    {"as it is", "password=hunter2!", "password=[redacted]", []string{"hunter2!"}},
		"Twice":    {"each time", "s3cret s3cret", "[redacted] [redacted]", []string{"s3cret"}},
		"None":     {"a text without it", "nothing here", "nothing here", []string{"s3cret"}},
		"Empty":    {"an empty value is in each text", "abc", "abc", []string{""}},
		"Short":    {"a short one is in too many", "abc", "abc", []string{"abc"}},
		"Newline":  {"a file's last line has an end that output may lack", "pw: s3cret.", "pw: [redacted].", []string{"s3cret\n"}},
		"Lines":    {"a tool prints a key line by line", "> MIIEow\n> IBAAKC", "> [redacted]\n> [redacted]", []string{key}},
		"JSON":     {"a tool prints JSON", `{"p":"a\"b\\c<d"}`, `{"p":"[redacted]"}`, []string{`a"b\c<d`}},
		"HTML":     {"Go escapes HTML", `{"p":"a\"b\u003cd"}`, `{"p":"[redacted]"}`, []string{`a"b<d`}},
		"URL":      {"a DSN holds it", "postgres://u:p%40ss%2Fword@db", "postgres://u:[redacted]@db", []string{"p@ss/word"}},
		"Base64":   {"a Secret's manifest holds it", "data: " + base64.StdEncoding.EncodeToString([]byte("s3cret")), "data: [redacted]", []string{"s3cret"}},
		"Longest":  {"one value begins another", "token-long", "[redacted]", []string{"token", "token-long"}},
		"Overlaps": {"the first one counts", "abcdefgh", "[redacted]gh", []string{"cdefgh", "abcdef"}},
		"Restart":  {"a beginning that is none", "aaaaab", "a[redacted]", []string{"aaaab"}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, whole(c.text, c.values...), c.why)
		})
	}
}

// A value is found wherever the parts of a stream end, and nothing else is lost.
func TestParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.StringMatching(`[ab\n"]{0,8}`), 0, 3).Draw(t, "values")
		text := rapid.StringMatching(`[ab\n"c]{0,60}`).Draw(t, "text")
		want := whole(text, values...)
		r, got := redact.New(values...), ""
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			got += string(r.Next([]byte(rest[:n])))
			rest = rest[n:]
		}
		got += string(r.Rest())
		assert.Equal(t, want, got)
		for _, value := range values {
			if len(value) >= redact.Shortest {
				assert.NotContains(t, got, value)
			}
		}
	})
}

// FuzzRedact: no form of a value is left, whatever the text.
func FuzzRedact(f *testing.F) {
	f.Add("the s3cret is s3cret", "s3cret", 5)
	f.Fuzz(func(t *testing.T, text, value string, at int) {
		if len(value) < redact.Shortest || strings.Contains(redact.Mask, value) {
			return
		}
		at = max(0, min(at, len(text)))
		r := redact.New(value)
		got := string(r.Next([]byte(text[:at]))) + string(r.Next([]byte(text[at:]))) + string(r.Rest())
		for _, part := range strings.Split(strings.ReplaceAll(got, redact.Mask, "\x00"), "\x00") {
			assert.NotContains(t, part, value)
		}
		if !strings.Contains(got, redact.Mask) {
			assert.Equal(t, text, got)
		}
	})
}

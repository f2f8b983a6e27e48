package redact_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/redact"
)

// learned returns what finds values.
func learned(values ...string) *redact.Values {
	v := &redact.Values{}
	v.Learn(values...)
	return v
}

// whole returns a text as it leaves in one part.
func whole(text string, values ...string) string {
	out, _ := learned(values...).Replace([]byte(text), true)
	return string(out)
}

// JOBS.md J14: known values are replaced, in the forms that tools write.
func TestRedact(t *testing.T) {
	const key = "-----BEGIN KEY-----\nMIIEowIBAAKC\nAQEAtests\nabc=\n-----END KEY-----\n"
	for name, c := range map[string]struct {
		why, text, want string
		values          []string
	}{
		"Plain":    {"as it is", "password=hunter2!", "password=[redacted]", []string{"hunter2!"}},
		"Twice":    {"each time", "s3cret s3cret", "[redacted] [redacted]", []string{"s3cret"}},
		"None":     {"a text without it", "nothing here", "nothing here", []string{"s3cret"}},
		"Empty":    {"an empty value is in each text", "abc", "abc", []string{""}},
		"Short":    {"a short one is in too many", "abc YWJj", "abc YWJj", []string{"abc", "abc\n"}},
		"Newline":  {"a file's last line has an end that output may lack", "pw: s3cret.", "pw: [redacted].", []string{"s3cret\n"}},
		"Lines":    {"a tool prints a key line by line", "> MIIEowIBAAKC\n> AQEAtests\n> abc=", "> [redacted]\n> [redacted]\n> abc=", []string{key}},
		"Key":      {"a tool prints a key", "key:\n" + key + ".", "key:\n[redacted]\n.", []string{key}},
		"JSON":     {"a tool prints JSON", `{"p":"a\"b\\c<d"}`, `{"p":"[redacted]"}`, []string{`a"b\c<d`}},
		"JSONKey":  {"a key in JSON", strings.ReplaceAll(key, "\n", `\n`), `[redacted]\n`, []string{key}},
		"HTML":     {"Go escapes HTML", `{"p":"a\"b\u003cd"}`, `{"p":"[redacted]"}`, []string{`a"b<d`}},
		"URL":      {"a DSN holds it", "postgres://u:p%40ss%2Fword@db", "postgres://u:[redacted]@db", []string{"p@ss/word"}},
		"Query":    {"a form holds it", "?p=a+b%26c", "?p=[redacted]", []string{"a b&c"}},
		"Base64":   {"a Secret's manifest holds it", "data: " + base64.StdEncoding.EncodeToString([]byte("s3cret-")), "data: [redacted]", []string{"s3cret-"}},
		"Basic":    {"a header of HTTP holds it", "Basic " + base64.StdEncoding.EncodeToString([]byte("admin:s3cret")), "Basic YWRtaW46[redacted]", []string{"s3cret"}},
		"Longest":  {"one value begins another", "token-long", "[redacted]", []string{"token", "token-long"}},
		"Overlaps": {"the first one counts", "abcdefgh", "[redacted]gh", []string{"cdefgh", "abcdef"}},
		"Restart":  {"a beginning that is none", "aaaaab", "a[redacted]", []string{"aaaab"}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, whole(c.text, c.values...), c.why)
		})
	}
}

// JOBS.md J14: base64 is found in lines of the usual lengths, and wherever a value stands in a longer one.
func TestBase64(t *testing.T) {
	value := strings.Repeat("0123456789abcdef", 12)
	for _, width := range []int{64, 76} {
		var lines []string
		for rest := base64.StdEncoding.EncodeToString([]byte(value)); rest != ""; rest = rest[min(width, len(rest)):] {
			lines = append(lines, "  "+rest[:min(width, len(rest))])
		}
		got := whole(strings.Join(lines, "\n"), value)
		assert.Empty(t, strings.Trim(strings.ReplaceAll(got, redact.Mask, ""), " \n"))
	}
	for before := range 4 {
		for after := range 4 {
			text := strings.Repeat("x", before) + value + strings.Repeat("y", after)
			got := whole(base64.RawURLEncoding.EncodeToString([]byte(text)), value)
			assert.Contains(t, got, redact.Mask)
			assert.LessOrEqual(t, len(got), len(redact.Mask)+2*8, "all but what depends on its neighbours is replaced")
		}
	}
}

// JOBS.md J14: what is learned later is found from then on, and what was known stays known.
func TestLearn(t *testing.T) {
	v, s := learned("first-value"), redact.Stream{}
	assert.Equal(t, "second-value ", string(s.Next(v, []byte("second-value "), false)))
	v.Learn("second-value", "first-value")
	assert.Equal(t, "[redacted] [redacted]", string(s.Next(v, []byte("second-value first-value"), false)))
}

// JOBS.md J14: a large value is found in pieces, and little of a text is held back for it.
func TestLarge(t *testing.T) {
	value := strings.Repeat("<0123456789>", 100<<10)
	v := learned(value)
	out, read := v.Replace([]byte("a"+value+"b"), true)
	assert.Equal(t, 1200<<10+2, read)
	assert.Equal(t, "ab", strings.ReplaceAll(string(out), redact.Mask, ""))
	_, read = v.Replace([]byte(value[:256<<10]), false)
	assert.Positive(t, read, "a chunk of a log is larger than what is held back")
}

// A value is found wherever the parts of a stream end, and nothing else is lost.
func TestParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.StringMatching(`[ab\n"]{0,8}`), 0, 3).Draw(t, "values")
		text := rapid.StringMatching(`[ab\n"c]{0,60}`).Draw(t, "text")
		want := whole(text, values...)
		v, s, got := learned(values...), redact.Stream{}, ""
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			got += string(s.Next(v, []byte(rest[:n]), false))
			rest = rest[n:]
		}
		got += string(s.Next(v, nil, true))
		assert.Equal(t, want, got)
		for _, value := range values {
			if trimmed := strings.TrimSpace(value); len(trimmed) >= redact.Shortest {
				assert.NotContains(t, got, trimmed)
			}
		}
	})
}

// FuzzRedact: no form of a value is left, whatever the value, and a text without one stays as it is.
func FuzzRedact(f *testing.F) {
	f.Add("the s3cret is s3cret", "s3cret", 5)
	f.Add("", "a\nb c/%\x00\"<", 0)
	f.Fuzz(func(t *testing.T, text, value string, at int) {
		trimmed := strings.TrimSpace(value)
		if len(trimmed) < redact.Shortest || len(trimmed) > 1<<10 || strings.Contains(redact.Mask, trimmed) {
			return
		}
		at = max(0, min(at, len(text)))
		v, s := learned(value), redact.Stream{}
		got := string(s.Next(v, []byte(text[:at]), false)) + string(s.Next(v, []byte(text[at:]), false)) + string(s.Next(v, nil, true))
		for part := range strings.SplitSeq(got, redact.Mask) {
			assert.NotContains(t, part, trimmed)
		}
		if !strings.Contains(got, redact.Mask) {
			assert.Equal(t, text, got)
		}
		inJSON, err := json.Marshal(trimmed)
		require.NoError(t, err)
		for _, form := range []string{
			string(inJSON), url.QueryEscape(trimmed), url.PathEscape(trimmed), base64.StdEncoding.EncodeToString([]byte(value)),
		} {
			assert.Contains(t, whole(" "+form+" ", value), redact.Mask)
		}
	})
}

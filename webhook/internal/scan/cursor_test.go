package scan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/webhook/internal/scan"
)

// thing has a member of each type that a cursor reads.
type thing struct {
	Text   string            `json:"text"`
	Bool   bool              `json:"bool"`
	Int    *int64            `json:"int"`
	Texts  map[string]string `json:"texts"`
	List   []string          `json:"list"`
	Nested struct {
		Text string `json:"text"`
	} `json:"nested"`
}

func readThing(c *scan.Cursor, to *thing) {
	for c.Open('{'); c.More('}'); {
		switch string(c.Key()) {
		case "text":
			to.Text = c.Text()
		case "bool":
			to.Bool = c.Bool()
		case "int":
			to.Int = c.Int()
		case "texts":
			to.Texts = c.Texts()
		case "list":
			if c.Null() {
				to.List = nil
				continue
			}
			to.List = []string{}
			for c.Open('['); c.More(']'); {
				to.List = append(to.List, c.Text())
			}
		case "nested":
			for c.Open('{'); c.More('}'); {
				if string(c.Key()) == "text" {
					to.Nested.Text = c.Text()
				} else {
					c.Skip()
				}
			}
		default:
			c.Skip()
		}
	}
}

func TestCursor(t *testing.T) {
	tests := map[string]struct {
		why  string
		text string
		want error
	}{
		"All":           {why: "each type", text: ` { "text" : "a\"b\u00e9\\" , "bool":true,"int":-7,"texts":{"a":"b","c/d":"é"},"list":["x",null,"y"],"nested":{"z":[{"}":"]"}],"text":"t"}} `},
		"Empty":         {why: "nothing", text: `{}`},
		"Null":          {why: "is nothing", text: `null`},
		"Nulls":         {why: "are nothing", text: `{"text":null,"bool":null,"int":null,"texts":null,"list":null,"nested":null}`},
		"Unknown":       {why: "is stepped over", text: `{"a":1.5e7,"b":[[],{},"\\",true],"text":"t","c":{"text":"no"}}`},
		"EscapedKey":    {why: "is the same key", text: `{"t\u0065xt":"a"}`},
		"Nothing":       {why: "no value", text: ``, want: scan.ErrSyntax},
		"Open":          {why: "no end", text: `{"text":"a"`, want: scan.ErrSyntax},
		"OpenString":    {why: "no end", text: `{"text":"a`, want: scan.ErrSyntax},
		"OpenSkipped":   {why: "no end", text: `{"x":["a`, want: scan.ErrSyntax},
		"NoColon":       {why: "not JSON", text: `{"text" "a"}`, want: scan.ErrSyntax},
		"NoComma":       {why: "not JSON", text: `{"text":"a" "bool":true}`, want: scan.ErrSyntax},
		"TwoCommas":     {why: "not JSON", text: `{"text":"a",,"bool":true}`, want: scan.ErrSyntax},
		"TrailingComma": {why: "not JSON", text: `{"list":["a",]}`, want: scan.ErrSyntax},
		"LeadingComma":  {why: "not JSON", text: `{,"text":"a"}`, want: scan.ErrSyntax},
		"More":          {why: "one value", text: `{} {}`, want: scan.ErrSyntax},
		"Word":          {why: "not JSON", text: `{"bool":truth}`, want: scan.ErrSyntax},
		"BareKey":       {why: "not JSON", text: `{text:"a"}`, want: scan.ErrSyntax},
		"ControlChar":   {why: "not JSON", text: "{\"text\":\"a\nb\"}", want: scan.ErrSyntax},
		"NumberForText": {why: "another type", text: `{"text":1}`, want: scan.ErrType},
		"TextForBool":   {why: "another type", text: `{"bool":"true"}`, want: scan.ErrType},
		"Fraction":      {why: "another type", text: `{"int":1.5}`, want: scan.ErrType},
		"ListForMap":    {why: "another type", text: `{"texts":[]}`, want: scan.ErrType},
		"Text":          {why: "another type", text: `"text"`, want: scan.ErrType},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got, want thing
			c := scan.New([]byte(tc.text))
			readThing(c, &got)
			c.End()
			if tc.want != nil {
				require.ErrorIs(t, c.Err(), tc.want, tc.why)
				return
			}
			require.NoError(t, c.Err(), tc.why)
			require.NoError(t, json.Unmarshal([]byte(tc.text), &want))
			assert.Equal(t, want, got, tc.why)
		})
	}
}

func TestCursorDecode(t *testing.T) {
	var got struct{ A int }
	c := scan.New([]byte(`{"A":3}`))
	c.Decode(&got)
	require.NoError(t, c.Err())
	assert.Equal(t, 3, got.A)
	c = scan.New([]byte(`{"A":"x"}`))
	c.Decode(&got)
	require.ErrorIs(t, c.Err(), scan.ErrType)
	c = scan.New([]byte(`{"A" 1}`))
	c.Decode(&got)
	require.ErrorIs(t, c.Err(), scan.ErrSyntax)
}

// FuzzCursor: what encoding/json reads, a cursor reads the same, and no text
// stops it. Keys that differ in case are left out: encoding/json takes them for
// one another, and Kubernetes does not write them.
func FuzzCursor(f *testing.F) {
	f.Add(`{"text":"a\u00e9","bool":true,"int":7,"texts":{"a":"b"},"list":["x"],"nested":{"text":"t"}}`)
	f.Add(`{"x":{"y":["}",{"\\":1}]},"text":"a"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var got, want thing
		c := scan.New([]byte(text))
		readThing(c, &got)
		c.End()
		var loose map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &loose) != nil || json.Unmarshal([]byte(text), &want) != nil {
			return // what is not JSON may be found out or stepped over
		}
		if repeats(text) {
			return
		}
		require.NoError(t, c.Err())
		require.Equal(t, want, got)
	})
}

// repeats reports whether an object in text has keys that encoding/json takes
// for one another.
func repeats(text string) bool {
	decoder := json.NewDecoder(strings.NewReader(text))
	seen := map[string]bool{}
	for {
		token, err := decoder.Token()
		if err != nil {
			return false
		}
		if t, ok := token.(string); ok {
			// Values count as keys here, which leaves out a few texts more.
			key := strings.ToLower(strings.ToUpper(t))
			if seen[key] || key != t {
				return true
			}
			seen[key] = true
		}
	}
}

package tool_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// text is what people and programs put into a bag, and what is hard to print.
func text() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.StringMatching(`[ \n\t:#'"{}\[\],&*!|>%@\-?=~0-9a-z]{0,12}`),
		rapid.SampledFrom([]string{"", "~", "null", "yes", "n", "1e3", "0x1f", "1_000", "12:30:45", "2026-03-01", "<<", "=", "- a", "a: b", "|", ">-", "\n", "\n\n", " \n a", "a\n\n", "a\n ", "\ta\nb", "\r\n", "\u2028", "\u0085", "\ufeff", "---", "...", "{}", "a #b", "%TAG"}),
	)
}

func bag() *rapid.Generator[map[string]string] { return rapid.MapOfN(text(), text(), 0, 6) }

func runIn(w *world, name string, args ...string) tool.Result {
	return tool.Run(tool.Call{Name: name, Args: args}, w.context())
}

// A bag that is printed can be read back as it was, in both formats.
func TestPrintedBagsParseBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, want := newWorld(), bag().Draw(t, "bag")
		w.relation("uid-db").RemoteBag = w.contents.Put(want)
		for format, parse := range parsers() {
			result := runIn(w, "relation-get", "-r", "db:7", "--app", "--format", format)
			require.Zero(t, result.ExitCode, "%s", result.Stderr)
			got := map[string]string{}
			require.NoError(t, parse(result.Stdout, &got), "%s:\n%s", format, result.Stdout)
			require.Equal(t, want, got, "%s:\n%s", format, result.Stdout)
		}
		smart := runIn(w, "relation-get", "-r", "db:7", "--app")
		asYAML := runIn(w, "relation-get", "-r", "db:7", "--app", "--format", "yaml")
		require.Equal(t, asYAML, smart, "a map in smart is YAML")
	})
}

// So can one value, and smart prints it as it is.
func TestPrintedValuesParseBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, want := newWorld(), text().Draw(t, "value")
		w.relation("uid-db").RemoteBag = w.contents.Put(map[string]string{"key": want})
		for format, parse := range parsers() {
			result := runIn(w, "relation-get", "key", "-r", "db:7", "--app", "--format", format)
			require.Zero(t, result.ExitCode, "%s", result.Stderr)
			got := "unread"
			require.NoError(t, parse(result.Stdout, &got), "%s:\n%s", format, result.Stdout)
			require.Equal(t, want, got, "%s:\n%s", format, result.Stdout)
		}
		smart := string(runIn(w, "relation-get", "key", "-r", "db:7", "--app").Stdout)
		if want == "" {
			require.Empty(t, smart, "nothing is no line")
		} else {
			require.Equal(t, want+"\n", smart)
		}
	})
}

func parsers() map[string]func([]byte, any) error {
	return map[string]func([]byte, any) error{"yaml": yaml.Unmarshal, "json": json.Unmarshal}
}

// Lists in maps in lists are laid out by Orcon itself: they say the same in both
// formats.
func TestNestedParsesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		address := rapid.Custom(func(t *rapid.T) tool.Address {
			return tool.Address{Hostname: text().Draw(t, "hostname"), IP: text().Draw(t, "ip"), CIDR: text().Draw(t, "cidr")}
		})
		link := rapid.Custom(func(t *rapid.T) tool.Interface {
			return tool.Interface{Name: text().Draw(t, "name"), MAC: text().Draw(t, "mac"), Addresses: rapid.SliceOfN(address, 0, 3).Draw(t, "addresses")}
		})
		w.network["db"] = tool.Network{Bind: rapid.SliceOfN(link, 1, 3).Draw(t, "bind"), Ingress: rapid.SliceOfN(text(), 0, 3).Draw(t, "ingress"), Egress: rapid.SliceOfN(text(), 0, 3).Draw(t, "egress")}
		var fromYAML, fromJSON any
		printed := runIn(w, "network-get", "db").Stdout
		require.NoError(t, yaml.Unmarshal(printed, &fromYAML), "%s", printed)
		require.NoError(t, json.Unmarshal(runIn(w, "network-get", "db", "--format", "json").Stdout, &fromJSON))
		require.Equal(t, fromJSON, withoutSecondNames(fromYAML), "%s", printed)
	})
}

func withoutSecondNames(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range []string{"macaddress", "interfacename", "address"} {
			delete(v, name)
		}
		for key := range v {
			v[key] = withoutSecondNames(v[key])
		}
	case []any:
		for i := range v {
			v[i] = withoutSecondNames(v[i])
		}
	}
	return v
}

// What a file or an argument sets is what is read (RELATIONS.md P3).
func TestWhatIsSetIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, keys := newWorld(), bag().Draw(t, "bag")
		delete(keys, "")
		w.relation("uid-db").OwnBag = w.contents.Put(conversation.Bag{"old": "value"})
		var args []string
		inFile := map[string]string{}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			value := keys[key]
			if strings.Contains(key, "=") || rapid.Bool().Draw(t, "in file") {
				inFile[key] = value
			} else {
				args = append(args, key+"="+value)
			}
		}
		file, err := json.Marshal(inFile)
		require.NoError(t, err)
		result := tool.Run(tool.Call{Name: "relation-set", Args: append([]string{"-r", "db:7", "--file", "-", "--"}, args...), Files: map[string][]byte{"-": file}}, w.context())
		require.Zero(t, result.ExitCode, "%s %s", result.Stderr, file)
		want := conversation.Bag{"old": "value"}
		for key, value := range keys {
			want[key] = value
			if value == "" {
				delete(want, key)
			}
		}
		got, err := w.Read(conversation.ForUnit("uid-db", unit("web/0")))
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

// A secret of any bytes is stored and read as it was, through all three ways in
// and out, and never stands in an error.
func TestSecretsKeepTheirBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		content := rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "content")
		encoded := base64.StdEncoding.EncodeToString(content)
		call := tool.Call{Name: "secret-add", Files: map[string][]byte{"f": content}, Args: []string{"file#file=f", "encoded#base64=" + encoded, "plain=" + string(content)}}
		require.Zero(t, tool.Run(call, w.context()).ExitCode)
		for _, key := range []string{"file", "encoded", "plain"} {
			require.Equal(t, content, w.secrets[len(w.secrets)-1].content[key], key)
			require.Equal(t, encoded+"\n", string(runIn(w, "secret-get", "new00000000000000000", key+"#base64", "--format", "smart").Stdout))
			require.Equal(t, string(content)+"\n", string(runIn(w, "secret-get", "new00000000000000000", key, "--format", "smart").Stdout))
			var got string
			require.NoError(t, yaml.Unmarshal(runIn(w, "secret-get", "new00000000000000000", key).Stdout, &got))
			require.Equal(t, string(content), got)
		}
	})
}

// A call is given what Needs names, and then never lacks a file.
func TestNeedsAreEnough(t *testing.T) {
	words := []string{"-", "--file", "--file=a", "one#file=b", "two#file=-", "three=x", "-o", "out", "secret:" + ownSecret, "--label=l", "--", "-r", "db:7", "a=b", "--app", "--help"}
	rapid.Check(t, func(t *rapid.T) {
		call := tool.Call{
			Name: rapid.SampledFrom(tool.Names()).Draw(t, "tool"), Args: rapid.SliceOfN(rapid.SampledFrom(words), 0, 5).Draw(t, "args"),
			Files: map[string][]byte{},
		}
		need := tool.Needs(call.Name, call.Args)
		for _, file := range need.Files {
			call.Files[file] = []byte("{}")
		}
		assert.Len(t, slices.Compact(slices.Sorted(slices.Values(need.Files))), len(need.Files), "each once")
		result := tool.Run(call, newWorld().context())
		assert.NotContains(t, string(result.Stderr), "not sent along")
		if result.Output.Path != "" {
			assert.Equal(t, need.Output, result.Output.Path)
		}
	})
}

// A snapshot has no order: what is printed does not depend on it.
func TestOrderDoesNotMatter(t *testing.T) {
	calls := []string{"relation-ids website", "relation-list -r db:7", "relation-list", "relation-get -r db:7 host", "relation-list -r website:7", "relation-list -r website:3"}
	rapid.Check(t, func(t *rapid.T) {
		w, usual := newWorld(), newWorld()
		w.snapshot.Relations = rapid.Permutation(w.snapshot.Relations).Draw(t, "relations")
		db := w.relation("uid-db")
		db.Units = rapid.Permutation(db.Units).Draw(t, "units")
		for _, call := range calls {
			argv := split(call)
			require.Equal(t, runIn(usual, argv[0], argv[1:]...), runIn(w, argv[0], argv[1:]...), call)
		}
	})
}

package tool_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// FuzzRun calls every tool with any arguments: it does not panic, and what it
// leaves is what a client can act on.
func FuzzRun(f *testing.F) {
	for _, args := range []string{"-r\x00db:7\x00host\x00pg/0", "--file\x00-", "--help", "a=b\x00c", "--\x00-", "-o\x00f", "secret:" + ownSecret + "\x00-r\x007", "active", "db\x00--bind-address", "-test.v", "-=", "--r", "\xff"} {
		f.Add(args, "db:7", "a: b")
	}
	f.Fuzz(func(t *testing.T, args, id, file string) {
		for _, name := range tool.Names() {
			call := tool.Call{Name: name, Args: strings.Split(args, "\x00"), Env: map[string]string{tool.RelationID: id, tool.RemoteUnit: id}, Files: map[string][]byte{}}
			for _, need := range tool.Needs(name, call.Args).Files {
				call.Files[need] = []byte(file)
			}
			w := newWorld()
			result := tool.Run(call, w.context())
			if result.ExitCode == 0 {
				assert.Empty(t, result.Stderr)
				continue
			}
			assert.Contains(t, []int{1, 2}, result.ExitCode)
			assert.Regexp(t, `^ERROR [^\n]+\n$`, string(result.Stderr), "one line")
			assert.Empty(t, result.Stdout)
			assert.Empty(t, result.Output)
			if result.ExitCode == 2 {
				assert.Empty(t, w.did, "a call that is wrong does nothing")
			}
		}
	})
}

// FuzzSecretKey gives a secret one key in any form: what is stored has a proper
// key, and what is refused is not repeated.
func FuzzSecretKey(f *testing.F) {
	for _, spec := range []string{"token", "token#base64", "token#file", "to-ken1", "-x", "a", "token#", "#base64", "token#base64#file", "TOKEN", "a--b"} {
		f.Add(spec, "aGVsbG8=")
	}
	key := regexp.MustCompile(`^[a-z](-?[a-z0-9]){2,}$`)
	f.Fuzz(func(t *testing.T, spec, value string) {
		const marker = "S3CRET!"
		w := newWorld()
		result := tool.Run(tool.Call{Name: "secret-add", Args: []string{"--", spec + "=" + value + marker}, Files: map[string][]byte{value + marker: []byte("content")}}, w.context())
		if result.ExitCode != 0 {
			assert.NotContains(t, string(result.Stderr), marker)
			return
		}
		for stored, content := range w.secrets[len(w.secrets)-1].content {
			assert.Regexp(t, key, stored)
			assert.NotEmpty(t, content)
			assert.True(t, strings.HasPrefix(spec, stored))
		}
	})
}

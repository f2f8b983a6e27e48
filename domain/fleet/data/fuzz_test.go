package data_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/tools/txtar"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
)

// FuzzRead reads any file beside good ones.
func FuzzRead(f *testing.F) {
	f.Add([]byte("$schema: /app-sre/integration-1.yml\nname: x\nmanaged:\n- namespace: {$ref: /ns/stage.yml}\n  spec: {resources: {}}\n"))
	f.Add([]byte("$schema: /app-sre/integration-1.yml\nmanaged: &a [*a]\n"))
	f.Add([]byte("$schema: /app-sre/integration-1.yml\n? [a]\n: &b {<<: *b}\n"))
	f.Add([]byte(`{"$schema": "/app-sre/integration-1.yml", "name": "x", "managed": [{"sharding": {"strategy": 1}}]}`))
	f.Add([]byte("$schema: /openshift/namespace-1.yml\n$ref: /f\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		contents := map[string][]byte{"/f": content, "/int/x.yml": txtar.Parse([]byte(head + "  spec: {resources: {}}\n")).Files[0].Data}
		for _, file := range txtar.Parse([]byte(estate)).Files {
			contents[file.Name] = file.Data
		}
		d := data.Read(contents, data.Options{})
		for _, i := range d.Integrations {
			if i.Location.File == "/f" {
				assert.True(t, i.Name != "" || len(i.Held) > 0, "an integration without a name is held")
			}
		}
	})
}

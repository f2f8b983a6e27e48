package data_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
)

// FLEET.md O2: nothing is deleted for an error.
func TestPresence(t *testing.T) {
	const good = "  spec: {resources: {}}\n"
	const bad = "-- /ns/stage.yml --\n$schema: /openshift/namespace-1.yml\nname: [\n"
	tests := map[string]struct {
		why, files, file, namespace string
		want                        data.Presence
	}{
		"Present":        {why: "an entry names it", files: head + good, file: "/int/x.yml", namespace: "/ns/stage.yml", want: data.Present},
		"NoSlash":        {why: "paths are paths", files: head + good, file: "int/x.yml", namespace: "ns/stage.yml", want: data.Present},
		"Absent":         {why: "no entry names it", files: head + good, file: "/int/x.yml", namespace: "/ns/lean.yml", want: data.Absent},
		"Gone":           {why: "no file, no entry", files: head + good, file: "/int/y.yml", namespace: "/ns/stage.yml", want: data.Absent},
		"HeldNamed":      {why: "a held file that names it", files: head + good + "colour: red\n", file: "/int/x.yml", namespace: "/ns/stage.yml", want: data.Present},
		"Held":           {why: "a held file may have lost it by its error", files: head + good + "colour: red\n", file: "/int/x.yml", namespace: "/ns/lean.yml", want: data.Uncertain},
		"OtherHeld":      {why: "another file's error is not this one's", files: head + good + "colour: red\n", file: "/int/y.yml", namespace: "/ns/lean.yml", want: data.Absent},
		"BadNamespace":   {why: "its path is known by the reference", files: head + good + bad, file: "/int/x.yml", namespace: "/ns/stage.yml", want: data.Present},
		"OtherNamespace": {why: "and so it is not another one", files: head + good + bad, file: "/int/x.yml", namespace: "/ns/lean.yml", want: data.Absent},
		"OtherKind": {
			why: "a schema that changed is an error until the file is gone", files: "-- /int/x.yml --\n$schema: /app-sre/app-1.yml\n",
			file: "/int/x.yml", namespace: "/ns/stage.yml", want: data.Uncertain,
		},
		"Any":       {why: "any file", files: head + good, namespace: "/ns/stage.yml", want: data.Present},
		"AnyAbsent": {why: "no file", files: head + good, namespace: "/ns/lean.yml", want: data.Absent},
		"AnyHeld":   {why: "a held file may name any", files: head + good + "colour: red\n", namespace: "/ns/lean.yml", want: data.Uncertain},
		"AnyHeldNamed": {
			why:   "an error elsewhere does not hide it",
			files: "-- /int/a.yml --\n$schema: /app-sre/integration-1.yml\nname: [\n" + head + good, namespace: "/ns/stage.yml", want: data.Present,
		},
		"AnyDisguised": {
			why: "a misspelt schema may name any", files: "-- /int/x.yml --\nname: x\nmanaged: []\n", namespace: "/ns/lean.yml", want: data.Uncertain,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, read(tc.files, data.Options{}).Presence(tc.file, tc.namespace), tc.why)
		})
	}
}

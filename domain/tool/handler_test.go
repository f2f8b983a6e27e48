package tool

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMisnamed(t *testing.T) {
	tests := map[string]struct {
		why, file, meant string
		misnamed         bool
	}{
		"Event":       {why: "the name of an event", file: "store-relation-changed"},
		"Secret":      {why: "an event of no relation", file: "secret-rotate"},
		"Leader":      {why: "the same", file: "leader-elected"},
		"Hyphens":     {why: "an endpoint may have hyphens, and look like an event", file: "my-relation-db-relation-broken"},
		"Letter":      {why: "one letter is missing", file: "store-relation-create", meant: "store-relation-created", misnamed: true},
		"SecretTypo":  {why: "the same without a relation", file: "secret-change", meant: "secret-changed", misnamed: true},
		"Unknown":     {why: "it looks like an event, and is none", file: "store-relation-upgrade-now", misnamed: true},
		"Helper":      {why: "handlers may read helpers", file: "lib.sh"},
		"Mounted":     {why: "the kubelet's own entry of a ConfigMap", file: "..data"},
		"OnlyAnEvent": {why: "an endpoint is missing, but the file may be a helper", file: "-relation-created"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			meant, misnamed := Misnamed(tc.file)
			assert.Equal(t, tc.meant, meant, tc.why)
			assert.Equal(t, tc.misnamed, misnamed, tc.why)
		})
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What fails the check, and with which cure (TRUST.md R9).
func TestRun(t *testing.T) {
	const begun = `{"config": {"db": "file:///db"}}`
	imported := `{"finding": {"osv": "GO-2026-1", "fixed_version": "v1.2.3", "trace": [{"module": "example.org/x", "version": "v1.2.2", "package": "example.org/x/y"}]}}`
	required := `{"finding": {"osv": "GO-2026-2", "trace": [{"module": "example.org/z", "version": "v1.0.0"}]}}`
	uncorrected := `{"finding": {"osv": "GO-2026-3", "trace": [{"module": "example.org/x", "version": "v1.2.2", "package": "example.org/x"}]}}`
	tests := map[string]struct {
		why, found, exceptions string
		ok                     bool
		prints, err            string
	}{
		"Nothing":     {why: "nothing is known", found: begun, ok: true, prints: "0 known"},
		"Required":    {why: "no package of the module is imported", found: begun + required, ok: true, prints: "0 known"},
		"Imported":    {why: "it is built in", found: begun + imported, prints: "GO-2026-1: package example.org/x/y of example.org/x v1.2.2: upgrade example.org/x to v1.2.3"},
		"Uncorrected": {why: "there is no later version", found: begun + uncorrected, prints: "do without the package"},
		"Excused":     {why: "it has a day", found: begun + imported, exceptions: "# why\n\nGO-2026-1 2026-11-26 it is late\n", ok: true, prints: "1 excused"},
		"Over":        {why: "the day is over", found: begun + imported, exceptions: "GO-2026-1 2026-11-25 it is late\n", prints: "its exception ended on 2026-11-25"},
		"Stale":       {why: "it was corrected", found: begun, exceptions: "GO-2026-1 2026-12-31 it is late\n", prints: "GO-2026-1 is excused and was not found"},
		"NoDay":       {why: "an exception has a day", found: begun, exceptions: "GO-2026-1 it is late\n", err: `"GO-2026-1 it is late"`},
		"NoScan":      {why: "the scan failed before it began", err: "EOF"},
		"Broken":      {why: "the scan ended in the middle", found: begun + `{"finding"`, err: "unexpected EOF"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "exceptions.txt")
			require.NoError(t, os.WriteFile(path, []byte(tc.exceptions), 0o600))
			var out strings.Builder
			ok, err := run(path, strings.NewReader(tc.found), &out, time.Date(2026, 11, 26, 23, 0, 0, 0, time.UTC))
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err, tc.why)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.ok, ok, tc.why)
			assert.Contains(t, out.String(), tc.prints, tc.why)
		})
	}
}

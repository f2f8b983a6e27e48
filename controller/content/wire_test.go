package content

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/destination"
)

// What callers act on survives the way between processes, and so does each text.
func TestErrorsAreAnswered(t *testing.T) {
	refused := fmt.Errorf("cannot dial: %w", &destination.RefusedError{Kind: "a loopback address"})
	tests := map[string]struct {
		why              string
		in               error
		refused, limited bool
	}{
		"Plain":   {"most errors are texts", errors.New("the chart is wrong"), false, false},
		"Refused": {"it has a reason of its own (TRUST.md R4)", refused, true, false},
		"Limit":   {"it is about a size", fmt.Errorf("%w: 100 files", bundle.ErrLimit), false, true},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			var wire bytes.Buffer
			require.NoError(t, writeHead(&wire, failed(tc.in)))
			var read outcome
			require.NoError(t, readHead(&wire, &read))
			err := read.err()
			require.EqualError(t, err, tc.in.Error(), tc.why)
			_, isRefused := errors.AsType[*destination.RefusedError](err)
			assert.Equal(t, tc.refused, isRefused, tc.why)
			assert.Equal(t, tc.limited, errors.Is(err, bundle.ErrLimit), tc.why)
			assert.False(t, Exceeded(err), "it is no limit of a process")
		})
	}
	require.NoError(t, outcome{Digest: "sha256:0"}.err())
}

// A head that is cut off, too long or damaged is an error.
func TestReadHeadRefuses(t *testing.T) {
	tests := map[string]struct{ why, wire string }{
		"Nothing": {"the child died", ""},
		"Length":  {"it died in the length", "\x00\x00"},
		"Cut":     {"it died in the head", "\x00\x00\x00\x09{\"Err"},
		"Text":    {"a library wrote to standard output", "panic: something"},
		"Long":    {"it would fill the memory", string(binary.BigEndian.AppendUint32(nil, maxHead+1)) + "{}"},
		"Damaged": {"not JSON", "\x00\x00\x00\x02]]"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			var read outcome
			assert.ErrorContains(t, readHead(strings.NewReader(tc.wire), &read), "cannot read the head", tc.why)
		})
	}
}

// FuzzReadHead reads heads that anything may have written.
func FuzzReadHead(f *testing.F) {
	var wire bytes.Buffer
	require.NoError(f, writeHead(&wire, request{Render: &renderRequest{Layers: []layerHead{{"a", 1}}}}))
	f.Add(wire.Bytes())
	f.Add([]byte("\x00\x00\x00\x02{}"))
	f.Fuzz(func(t *testing.T, wire []byte) {
		var r request
		if readHead(bytes.NewReader(wire), &r) != nil {
			return
		}
		var again bytes.Buffer
		require.NoError(t, writeHead(&again, r))
		var same request
		require.NoError(t, readHead(&again, &same))
		assert.Equal(t, r.Render == nil, same.Render == nil)
	})
}

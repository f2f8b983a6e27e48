package databag_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

func TestLimits(t *testing.T) {
	long := strings.Repeat("k", databag.MaxKey)
	assert.Nil(t, databag.CheckPair(long, strings.Repeat("v", databag.MaxValue)))
	tests := map[string]struct{ key, value, named, reason string }{
		"Key":       {long + "k", "", long[:40] + "…", "a key has at most 253 bytes, this one has 254"},
		"Value":     {"a", strings.Repeat("v", databag.MaxValue+1), "a", "a value has at most 65536 bytes, this one has 65537"},
		"KeyText":   {"\xff", "", "\xff", "it is not UTF-8"},
		"ValueText": {"a", "\xff", "a", "it is not UTF-8"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			breach := databag.CheckPair(tc.key, tc.value)
			require.NotNil(t, breach)
			assert.Equal(t, tc.named, breach.Key)
			assert.Equal(t, tc.reason, breach.Reason)
			assert.NotEmpty(t, breach.Cure)
		})
	}
	full := map[string]string{"k": strings.Repeat("v", databag.MaxBag-1)}
	assert.Nil(t, databag.CheckSize(full))
	full["k"] += "v"
	require.NotNil(t, databag.CheckSize(full))
	assert.Equal(t, "a databag has at most 524288 bytes, this one has 524289", databag.CheckSize(full).Reason)
}

// TRUST.md U1: what Kubernetes writes longer than people do is limited too, and what is over a limit may shrink.
func TestEncoded(t *testing.T) {
	markup := map[string]string{"k": strings.Repeat("<", 160<<10)}
	require.NotNil(t, databag.CheckSize(markup))
	assert.Equal(t, "a databag has at most 917504 bytes as Kubernetes encodes it, this one, of 163841 bytes, has 983056", databag.CheckSize(markup).Reason)
	names := map[string]string{strings.Repeat("k", databag.MaxKey): "v"}
	assert.Greater(t, databag.Encoded(names), 2*databag.MaxKey, "names are written twice")

	tests := map[string]struct {
		why           string
		before, after map[string]string
		fits          bool
	}{
		"Fits":    {why: "it is within both limits", after: map[string]string{"k": "<"}, fits: true},
		"New":     {why: "it is too large", after: markup},
		"Same":    {why: "it does not grow", before: markup, after: markup, fits: true},
		"Shrinks": {why: "it is less than before, although too large", before: map[string]string{"k": strings.Repeat("<", 200<<10)}, after: markup, fits: true},
		"Grows":   {why: "it is more than before", before: map[string]string{"k": strings.Repeat("<", 159<<10)}, after: markup},
		"Keys":    {why: "it has too many keys", after: keys(databag.MaxKeys + 1)},
		"AllKeys": {why: "it has as many keys as it may", after: keys(databag.MaxKeys), fits: true},
		"Fewer":   {why: "it has fewer keys than before", before: keys(databag.MaxKeys + 2), after: keys(databag.MaxKeys + 1), fits: true},
		"MoreKeys": {
			why: "it is fewer bytes, of more keys", before: map[string]string{"k": strings.Repeat("v", databag.MaxBag+1)}, after: keys(databag.MaxKeys + 1),
		},
		"Swaps": {why: "it is fewer bytes, and more as they are encoded", before: map[string]string{"k": strings.Repeat("v", databag.MaxBag+1)}, after: markup},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.fits, databag.CheckChange(test.before, test.after) == nil, test.why)
		})
	}
}

// keys returns a databag of many keys.
func keys(many int) map[string]string {
	bag := make(map[string]string, many)
	for n := range many {
		bag[strconv.Itoa(n)] = "v"
	}
	return bag
}

// What is counted is never less than what JSON has.
func TestEncodedIsEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bag := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "bag")
		text, err := json.Marshal(bag)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, databag.Encoded(bag)+2, len(text))
	})
}

func FuzzEncodedText(f *testing.F) {
	for _, text := range []string{"", "a\"<>&", "\u2028\x00\n", "\xff\ufffd", "\xef"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		written, err := json.Marshal(text)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, databag.EncodedText(text), len(written)+1)
	})
}

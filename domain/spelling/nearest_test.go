package spelling_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

func TestNearest(t *testing.T) {
	known := []string{"app", "format", "relation", "relation-get", "relation-set"}
	tests := map[string]struct {
		why     string
		written string
		want    string
	}{
		"Missing":  {why: "a letter was left out", written: "frmat", want: "format"},
		"Swapped":  {why: "two letters changed places", written: "raletion", want: "relation"},
		"Equals":   {why: "of two that are as near the first", written: "relation-bet", want: "relation-get"},
		"Far":      {why: "a word that is nothing like any", written: "persistence"},
		"Short":    {why: "three letters that all differ are no typing mistake", written: "xyz"},
		"Nothing":  {why: "nothing was written", written: ""},
		"Itself":   {why: "a known word is nearest to itself", written: "format", want: "format"},
		"TooLong":  {why: "longer by more than a slip", written: "formatters"},
		"ShortOne": {why: "one letter of three is a slip", written: "ap", want: "app"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			assert.Equal(t, tc.want, spelling.Nearest(tc.written, known), tc.why)
		})
	}
}

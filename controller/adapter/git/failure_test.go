package git_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// TestErrorsQuoteNothing has a server answer with a text of its own: an error names the status and the
// cure (TRUST.md R4).
func TestErrorsQuoteNothing(t *testing.T) {
	for status, want := range map[int]string{
		http.StatusUnauthorized: "use credentials", http.StatusForbidden: "use credentials", http.StatusNotFound: "check the address",
		http.StatusTeapot: "418 I'm a teapot", http.StatusOK: "damaged",
	} {
		p := newProject(t)
		address := p.served(func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(status)
			return writes(w, "hush")
		})
		_, _, err := client().Fetch(t.Context(), bundle.Reference{Location: address})
		require.ErrorContains(t, err, want)
		assert.NotContains(t, err.Error(), "hush")
	}
}

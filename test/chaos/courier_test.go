package chaos_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos"
)

// What a server gets, and which answers arrive, of four messages that are treated in each way.
func TestCourier(t *testing.T) {
	tests := map[chaos.Kind]struct{ received, answers string }{
		"":                    {"1 2 3 4", "1 2 3 4"},
		chaos.MessageLost:     {"2 4", "- 2 - 4"},
		chaos.AnswerLost:      {"1 2 3 4", "- 2 - 4"},
		chaos.MessageRepeated: {"1 1 2 2 3 3 4 4", "1 2 3 4"},
		chaos.MessageLate:     {"1 2 3 4", "1 2 3 4"},
	}
	for kind, tc := range tests {
		t.Run(string(kind), func(t *testing.T) {
			var mu sync.Mutex
			var received []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				body, _ := io.ReadAll(r.Body)
				received = append(received, string(body))
				w.WriteHeader(http.StatusAccepted)
				_, _ = w.Write(body)
			}))
			defer server.Close()
			courier, err := chaos.NewCourier(server.URL)
			require.NoError(t, err)
			defer courier.Close()
			courier.Treat("/one/", kind)
			var answers []string
			for body := range strings.FieldsSeq("1 2 3 4") {
				answers = append(answers, posted(courier.Address()+"/one/x", body))
			}
			assert.Equal(t, tc.received, strings.Join(received, " "))
			assert.Equal(t, tc.answers, strings.Join(answers, " "))
			assert.Equal(t, 4, courier.Count("/one/"))
			assert.Equal(t, "5", posted(courier.Address()+"/other/x", "5"))
			if kind == chaos.MessageLate {
				assert.Equal(t, 4, courier.Repeat(t.Context(), "/one/"))
				assert.Equal(t, "4 3 2 1", strings.Join(received[5:], " "))
			}
		})
	}
}

// posted returns the answer to a body; "-" for none.
func posted(url, body string) string {
	// A PUT, and a connection of its own: the client repeats nothing.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, _ := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	answer, err := client.Do(r)
	if err != nil {
		return "-"
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusAccepted {
		return answer.Status
	}
	return string(text)
}

package content_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/destination"
)

// A GraphQL server is fetched from anew each time, by a child, under the rules of all servers (FLEET.md D5, TRUST.md R4).
func TestGraphQL(t *testing.T) {
	sum, path := strings.Repeat("a", 64), "/int/a.yml"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		switch {
		case r.URL.Path == "/sha256":
			_, _ = io.WriteString(w, sum)
		case strings.Contains(string(text), "__type("):
			_, _ = io.WriteString(w, `{"data": {"t0": null}}`)
		default:
			_, _ = io.WriteString(w, `{"data": {"awsaccounts_v1": [], "clusters_v1": [], "ocm_instances_v1": [], "integrations_v1": [
				{"path": "`+path+`", "name": "a", "upstream": null}]}}`)
		}
	}))
	defer server.Close()
	d := newDesk(t)
	source := content.Source{Reference: bundle.Reference{Origin: bundle.GraphQL, Location: server.URL + "/graphql"}}
	f := d.fetch(source)
	assert.Equal(t, "graphql+"+server.URL+"/graphql#sha256="+sum, f.Resolved[0].String())
	tree, err := f.Tree()
	require.NoError(t, err)
	assert.Equal(t, map[string][]byte{"int/a.yml": []byte(`{"$schema":"/app-sre/integration-1.yml","name":"a","path":"/int/a.yml"}`)}, tree.Contents())
	path = "/int/b.yml"
	tree, err = d.fetch(source).Tree()
	require.NoError(t, err)
	assert.Equal(t, []string{"int/b.yml"}, tree.Paths(), "nothing of it is kept")
	assert.Empty(t, d.left())

	d.Destinations = func(context.Context) (destination.Rules, error) { return destination.Rules{}, nil }
	_, err = d.Fetch(t.Context(), []content.Source{source}, d.configMaps)
	_, refused := errors.AsType[*destination.RefusedError](err)
	assert.True(t, refused, "%v", err)
}

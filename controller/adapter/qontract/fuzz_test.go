package qontract_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/qontract"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/web"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
)

// answers are those to the checksum, the schema and each list.
type answers [3][]byte

// RoundTrip implements http.RoundTripper.
func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	text := a[0]
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		if text = a[2]; strings.Contains(string(body), "__type(") {
			text = a[1]
		}
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(text)), Request: r}, nil
}

// FuzzFetch reads any answers: what is accepted is a complete list of files that can be read.
func FuzzFetch(f *testing.F) {
	f.Add([]byte(sha), []byte(`{"data": {"t20": {"fields": [{"name": "x", "type": {"kind": "LIST", "ofType": null}}]}}}`),
		[]byte(`{"data": {"awsaccounts_v1": [], "clusters_v1": [], "ocm_instances_v1": [], "integrations_v1": [{"path": "/a.yml", "labels": "{}", "managed": [{"spec": null, "sharding": [null]}]}]}}`))
	f.Add([]byte(sha), []byte(`{"data": {"t0": null}}`), []byte(`{"data": {"integrations_v1": [], "awsaccounts_v1": [], "clusters_v1": [], "ocm_instances_v1": []}}`))
	f.Fuzz(func(t *testing.T, sum, schema, list []byte) {
		c := qontract.Client{Client: web.Client{Transport: answers{sum, schema, list}, Silence: time.Second, Pause: time.Nanosecond}}
		tree, digest, err := c.Fetch(t.Context(), "http://localhost/graphql")
		if err != nil {
			require.Equal(t, bundle.Tree{}, tree)
			return
		}
		require.Len(t, digest, len("sha256:")+64)
		d := data.Read(tree.Contents(), data.Options{})
		for _, path := range tree.Paths() {
			assert.True(t, d.Has(path))
		}
	})
}

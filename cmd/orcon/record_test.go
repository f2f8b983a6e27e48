package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/history"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/history"
)

// saying is a bag whose unit has said things, and what is stored of it.
func saying(unit string, stored map[string]string, contents ...map[string]string) history.RecordedBag {
	said := history.RecordedBag{At: conversation.Address{Relation: "uid", Owner: unit}, Stored: stored}
	var was map[string]string
	for i, is := range contents {
		e := domain.Entry{Time: time.Unix(int64(i), 0), Who: unit, Cause: "relation-set", Address: said.At}
		said.Record = said.Record.Append(e, was, is, nil)
		was = is
	}
	return said
}

func TestRecordPrintsByTime(t *testing.T) {
	var out bytes.Buffer
	o := recordOptions{}
	all := entriesOf([]history.RecordedBag{
		saying("web/0", nil, map[string]string{"a": "1"}, map[string]string{"a": "<2>"}), saying("db/0", nil, map[string]string{"b": "1"}),
	})
	require.NoError(t, o.printEntries(screen{out: &out}, all, true))
	entries, err := domain.Parse(out.Bytes())
	require.NoError(t, err)
	require.Len(t, entries, 3)
	assert.Equal(t, []string{"web/0", "db/0", "web/0"}, []string{entries[0].Owner, entries[1].Owner, entries[2].Owner})
	assert.Contains(t, out.String(), `"changed":{"a":"<2>"}`)

	out.Reset()
	o.output.format = asYAML
	require.NoError(t, o.printEntries(screen{out: &out}, all, true))
	require.NoError(t, o.printEntries(screen{out: &out}, nil, false))
	var list []map[string]any
	require.NoError(t, yaml.Unmarshal(out.Bytes(), &list))
	assert.Len(t, list, 3, "a look that finds nothing new adds nothing")

	out.Reset()
	require.NoError(t, o.printEntries(screen{out: &out}, nil, true))
	assert.Equal(t, "[]\n", out.String(), "an empty list is one")

	out.Reset()
	o.output.format = asTable
	require.NoError(t, o.printEntries(screen{out: &out}, all, true))
	lines := strings.Split(out.String(), "\n")
	assert.Equal(t, []string{"TIME", "WHO", "CAUSE", "BAG", "KEYS"}, strings.Fields(lines[0]))
	require.NoError(t, o.printEntries(screen{out: &out}, all[1:2], false))
	assert.Equal(t, lines[2], strings.Split(strings.TrimSpace(out.String()), "\n")[len(all)+1], "later commits stand in the same columns, without a header")
	assert.True(t, strings.HasSuffix(lines[1], "   web/0   relation-set   web/0   +a=1"), lines[1])
	assert.True(t, strings.HasSuffix(lines[3], "a=<2>"), lines[3])
}

// --follow prints each new commit once, until it is interrupted.
func TestRecordFollows(t *testing.T) {
	var out bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	contents := []map[string]string{{"a": "1"}, {"a": "2"}, {"a": "3"}}
	looks := 1
	err := (&recordOptions{}).followEntries(ctx, screen{out: &out}, entriesOf([]history.RecordedBag{saying("web/0", nil, contents[:1]...)}), func() ([]domain.Entry, error) {
		if looks++; looks == len(contents) {
			cancel()
		}
		return entriesOf([]history.RecordedBag{saying("web/0", nil, contents[:looks]...)}), nil
	})
	assert.Equal(t, silentError(exitInterrupted), err)
	entries, err := domain.Parse(out.Bytes())
	require.NoError(t, err)
	require.Len(t, entries, 2)
	assert.Equal(t, []string{"2", "3"}, []string{entries[0].Changed["a"], entries[1].Changed["a"]})
}

// --follow goes on when the API server is back, as after the change of its leader, and ends where the user may not read.
func TestRecordFollowsBeyondAnOutage(t *testing.T) {
	var out, errs bytes.Buffer
	busy := apierrors.NewServiceUnavailable("busy")
	gone := &url.Error{Op: "Get", URL: "https://a", Err: errors.New("connection refused")}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "databags"}, "", errors.New("no"))
	answers := []error{fmt.Errorf("cannot list the databags: %w", busy), gone, nil, forbidden}
	look := func() (all []domain.Entry, err error) {
		err, answers = answers[0], answers[1:]
		return entriesOf([]history.RecordedBag{saying("web/0", nil, map[string]string{"a": "1"})}), err
	}
	err := (&recordOptions{}).followEntries(t.Context(), screen{out: &out, errs: &errs}, nil, look)
	assert.Equal(t, error(forbidden), err)
	entries, err := domain.Parse(out.Bytes())
	require.NoError(t, err)
	assert.Len(t, entries, 1)
	assert.Equal(t, "note: no new commits are shown until the API server answers: cannot list the databags: busy\n", errs.String(), "once")
}

// A bag that is made again counts from 1: what is said in it then is no less new.
func TestRecordFollowsABagThatIsMadeAgain(t *testing.T) {
	seen := map[string]domain.Entry{}
	before := domain.Entry{Address: conversation.Address{Relation: "uid", Owner: "db/1"}, Sequence: 7, Time: time.Unix(7, 0)}
	noteSeen(seen, []domain.Entry{before})
	again := before
	again.Sequence, again.Time = 1, time.Unix(60, 0)
	assert.False(t, newer(before, seen[bagOf(before)]), "it was shown")
	assert.True(t, newer(again, seen[bagOf(again)]))
}

func TestReplay(t *testing.T) {
	is := map[string]string{"a": "1"}
	gap := saying("web/3", is, is)
	gap.Record.Entries = append(gap.Record.Entries, gap.Record.Entries[0])
	tests := map[string]struct {
		why  string
		said history.RecordedBag
		// out is a part of what is printed, and wrong of why it fails; empty where it does not.
		out, wrong string
	}{
		"Same":    {"it leads to what is stored", saying("web/0", is, is), `{"relation":"uid","owner":"web/0","commits":1,"since":1,"whole":true,"data":{"a":"1"},"version":"`, ""},
		"Unsaid":  {"nobody has said anything", saying("web/1", nil), `"commits":0,"since":0,"whole":true,"data":{}`, ""},
		"Differs": {"a value never leaves", saying("web/2", map[string]string{"a": "hunter2"}, is), `"differs":["a: another value is stored"`, "the bag of web/2 is not what its record leads to: a: another value is stored"},
		"Gap":     {"it was tampered with", gap, `"differs":["cannot replay entry 1`, "the bag of web/3"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			c := &cobra.Command{}
			c.SetOut(&out)
			err := replay(c, []history.RecordedBag{tc.said})
			assert.Contains(t, out.String(), tc.out, tc.why)
			assert.NotContains(t, out.String(), "hunter2")
			if tc.wrong == "" {
				require.NoError(t, err, tc.why)
				return
			}
			var no failedError
			require.ErrorAs(t, err, &no, tc.why)
			assert.Contains(t, err.Error(), tc.wrong, tc.why)
		})
	}
}

func TestRecordNeedsACluster(t *testing.T) {
	code, out, errs := call("", "record", "7", "--kubeconfig", "nothing")
	assert.Equal(t, exitMisuse, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, "nothing")
	code, _, errs = call("", append([]string{"record", "7"}, answering(t, map[string]string{"/apis": `{"kind":"APIGroupList","groups":[]}`, "/apis/orcon.tengu.io/v1alpha1": `{"kind":"APIResourceList","groupVersion":"orcon.tengu.io/v1alpha1","resources":[]}`})...)...)
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "Orcon is not installed in this cluster, or one of its definitions is missing: orcon check")
	code, _, errs = call("", "record", "7", "--replay", "-o", "yaml")
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "cannot print --replay as yaml")
	code, _, _ = call("", "record")
	assert.Equal(t, exitMisuse, code, "a relation must be named")
}

// The cluster role view does not permit to read databags: the error names the roles that do, and how to get one.
func TestRecordNeedsDatabags(t *testing.T) {
	kinds := strings.Replace(kindsOf, `"resources":[`, `"resources":[{"name":"databags","kind":"Databag","namespaced":true},`, 1)
	related := `{"apiVersion":"orcon.tengu.io/v1alpha1","kind":"Relation","metadata":{"namespace":"shop","name":"web-db"},"spec":{` +
		`"requirer":{"application":"web","endpoint":"store"},"provider":{"application":"db","endpoint":"main"},"interface":"pg"},"state":{"id":7}}`
	code, out, errs := call("", append([]string{"record", "7"}, answering(t, map[string]string{
		"/apis/orcon.tengu.io/v1alpha1": kinds, group + "namespaces/shop/databags": "",
		group + "namespaces/shop/relations": listOf("Relation", related),
	})...)...)
	assert.Equal(t, exitMisuse, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, "the cluster role edit has that permission, and view has not")
	assert.Contains(t, errs, "\nkubectl create rolebinding orcon-databags-USER -n shop --clusterrole=orcon-databags --user=USER "+
		"--dry-run=client -o yaml | kubectl apply -f -")
}

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
	"gitlab.ilabt.imec.be/tengu/orcon/test/docs"
)

// The commands of the page do what it shows, in its order (JOBS.md J6).
func TestRecoverALostRun(t *testing.T) {
	j := newJobCluster(t)
	j.push(t, map[string]string{"terraform.tfstate": "{ }\n"})
	j.lose(t, map[string]string{"terraform.tfstate": "{\"a\":1}\n"})
	j.add("web-1", 3*time.Hour, func(r *v1alpha1.JobRun) {
		r.Status.Fence = 1
		end(r, "Succeeded", "it succeeded; its state is committed", nil)
	})
	j.add("web-2", 20*time.Minute, func(r *v1alpha1.JobRun) {
		r.Status.Phase, r.Status.Attempt, r.Status.Fence = "Lost", 1, 2
		r.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Message: "its pod ended without an outcome; its process may still run"}}
	})
	put := func(fence, name, content string) {
		key, err := blob.ParseKey("w/000000000000000000" + fence + "/" + name)
		require.NoError(t, err)
		require.NoError(t, j.store.Put(t.Context(), key, strings.NewReader(content)))
	}
	put("2", "log-stdout-0000000001", "{}\ncreating network\ncreating machine 1 of 3\n")
	put("2", "log-stdout-0000000002", `{"position":553,"missing":512}`+"\n")
	j.looked = func(_ int, r *v1alpha1.JobRun) {
		if r.Name != "web-3" || r.State != nil {
			return
		}
		j.change(t, func(w workspace.Workspace) (workspace.Workspace, error) {
			w.Fence = 3
			return w, nil
		})
		put("3", "log-stdout-0000000001", "{}\ncreating machine 2 of 3\n")
		r.Status.Fence = 3
		end(r, "Succeeded", "it succeeded", nil)
	}
	pages, err := docs.Pages("../..")
	require.NoError(t, err)
	ran := 0
	for _, p := range pages {
		for _, b := range p.Blocks {
			if b.Test != "ran by TestRecoverALostRun" {
				continue
			}
			for _, c := range docs.CommandsOf(b) {
				args := wordsOf(c.Script)
				require.Equal(t, []string{"orcon", "job"}, args[:2], "%s:%d", p.File, c.Line)
				code, out, errs := j.call("", args[2:]...)
				assert.LessOrEqual(t, code, exitFailed, "%s:%d: %s", p.File, c.Line, errs)
				assert.True(t, docs.Matches(c.Want, out), "%s:%d: %s\nprints\n%s%s", p.File, c.Line, c.Script, out, errs)
				ran++
			}
		}
	}
	assert.Equal(t, 8, ran)
}

// wordsOf splits a command line; a text in double quotes is one word.
func wordsOf(line string) (words []string) {
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			words = append(words, part)
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	return words
}

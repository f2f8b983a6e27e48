package main

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/restmapper"
)

// slowUser answers a question once a time has passed.
type slowUser struct {
	io.Reader

	after time.Duration
}

func (u slowUser) Read(p []byte) (int, error) {
	<-time.After(u.after)
	return u.Reader.Read(p)
}

// The time limit of leave is that of the work: who reads for longer what is about to happen still has all of it.
func TestLeaveWaitsForTheAnswer(t *testing.T) {
	const limit = 2 * time.Second
	for _, way := range []string{"--keep", "--end"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			args := append([]string{"orcon", "leave", way, "--timeout", limit.String()}, answering(t, nil)...)
			code := run(context.Background(), args, slowUser{bytes.NewBufferString("y\n"), limit + 100*time.Millisecond}, &out, &errs)
			assert.Zero(t, code, "%s%s", out.String(), errs.String())
		})
	}
}

// What leave has the user delete in all namespaces is Orcon's, also in a cluster that has a kind of the same name: Fleet
// of Rancher has BundleDeployments too, and kubectl takes the first group for a name without one.
func TestLeaveDeletesNoOtherKind(t *testing.T) {
	served := func(group string) *restmapper.APIGroupResources {
		version := metav1.GroupVersionForDiscovery{GroupVersion: group + "/v1alpha1", Version: "v1alpha1"}
		return &restmapper.APIGroupResources{
			Group: metav1.APIGroup{Name: group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version},
			VersionedResources: map[string][]metav1.APIResource{"v1alpha1": {
				{Name: "bundledeployments", SingularName: "bundledeployment", Kind: "BundleDeployment", Namespaced: true},
			}},
		}
	}
	kubectl := restmapper.NewDiscoveryRESTMapper([]*restmapper.APIGroupResources{served("fleet.cattle.io"), served("orcon.tengu.io")})
	code, _, errs := call("", append([]string{"leave", "--end"}, answering(t, map[string]string{
		group + "bundledeployments": listOf("BundleDeployment", `{"metadata":{"namespace":"shop","name":"blog"}}`),
	})...)...)
	assert.Equal(t, exitMisuse, code)
	words := regexp.MustCompile(`kubectl delete (\S+) --all -A`).FindStringSubmatch(errs)
	require.Len(t, words, 2, errs)
	deleted, err := kubectl.ResourceFor(schema.ParseGroupResource(words[1]).WithVersion(""))
	require.NoError(t, err)
	assert.Equal(t, "orcon.tengu.io", deleted.Group, errs)
}

// What leave has the user delete in all namespaces is deleted in the cluster that the user has named, and not in that of
// the current context, where the command is pasted.
func TestLeaveDeletesInItsCluster(t *testing.T) {
	kinds := strings.Replace(kindsOf, `"resources":[`, `"resources":[
		{"name":"integrationsets","kind":"IntegrationSet","namespaced":true},{"name":"jobworkspaces","kind":"JobWorkspace","namespaced":true},`, 1)
	for kind, plural := range map[string]string{
		"IntegrationSet": "integrationsets", "BundleDeployment": "bundledeployments", "JobWorkspace": "jobworkspaces",
	} {
		args := append([]string{"leave", "--end", "--context", "a"}, answering(t, map[string]string{
			"/apis/orcon.tengu.io/v1alpha1": kinds,
			group + plural:                  listOf(kind, `{"metadata":{"namespace":"shop","name":"blog"}}`),
		})...)
		code, _, errs := call("", args...)
		assert.Equal(t, exitMisuse, code)
		assert.Contains(t, errs, "kubectl delete "+plural+".orcon.tengu.io --all -A --kubeconfig "+args[len(args)-1]+" --context a\n")
	}
}

// A JobRun that the job controller has yet to end would keep its definition: leave does not take the controller away
// before. One that is done is deleted with the definition.
func TestLeaveWaitsForRuns(t *testing.T) {
	kinds := strings.Replace(kindsOf, `"resources":[`, `"resources":[{"name":"jobruns","kind":"JobRun","namespaced":true},`, 1)
	of := func(finalizers string) []string {
		return append([]string{"leave", "--end", "--yes"}, answering(t, map[string]string{
			"/apis/orcon.tengu.io/v1alpha1": kinds,
			group + "jobruns": listOf("JobRun", `{"metadata":{"namespace":"lab","name":"net-1","deletionTimestamp":"2026-01-02T03:04:05Z",`+
				`"finalizers":[`+finalizers+`]}}`),
		})...)
	}
	args := of(`"orcon.tengu.io/job"`)
	code, out, errs := call("", args...)
	assert.Equal(t, exitMisuse, code, out)
	cluster := " --kubeconfig " + args[len(args)-1]
	assert.Contains(t, errs, "cannot leave yet: only the job controller can end 1 JobRuns, the first is lab/net-1: delete them first: "+
		"kubectl delete jobruns.orcon.tengu.io --all -A"+cluster+"; if it does not run, orcon release"+cluster+" lets them go")
	code, _, errs = call("", of("")...)
	assert.Zero(t, code, errs)
}

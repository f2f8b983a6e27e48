package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// relatedTo writes an application of complete relations, made of one object, with units.
func relatedTo(name, source, units string) string {
	return `{"metadata":{"namespace":"shop","name":"` + name + `"},"state":{"units":[` + units + `]},"status":{"sources":["` + source + `"],` + readyNow + `}}`
}

// podOf writes a pod of a controller that was created at a second, with its status and, first, further metadata.
func podOf(name, controller string, second int, status string, metadata ...string) string {
	owner := ""
	if kind, of, controlled := strings.Cut(controller, "/"); controlled {
		api := map[string]string{"ReplicaSet": "apps/v1", "Job": "batch/v1"}[kind]
		owner = fmt.Sprintf(`"ownerReferences":[{"apiVersion":%q,"kind":%q,"name":%q,"uid":"u-%[3]s","controller":true}],`, api, kind, of)
	}
	return fmt.Sprintf(`{"metadata":{%s%s"namespace":"shop","name":%q,"uid":"%[3]s","creationTimestamp":"2026-11-29T14:00:%02[4]dZ","labels":{"pod-template-hash":"5d9"}},
		"spec":{"nodeName":"n1"},"status":{%[5]s}}`, strings.Join(metadata, ""), owner, name, second, status)
}

// The outcomes of pods.
const (
	refusedPod = `"phase":"Failed","reason":"NodeAffinity","message":"Pod was rejected: node(s) didn't match."`
	evictedPod = `"phase":"Failed","reason":"Evicted","message":"low on memory. ","containerStatuses":[{"name":"app","state":{"terminated":{"exitCode":137}}}]`
	exitedPod  = `"phase":"Failed","containerStatuses":[{"name":"app","state":{"terminated":{"exitCode":1,"reason":"Error"}}}]`
	runningPod = `"phase":"Running","containerStatuses":[{"name":"app","ready":true,"state":{"running":{}}}]`
	crashedPod = `"phase":"Running","containerStatuses":[{"name":"app","state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":1,"reason":"Error"}}}]`
	endedPod   = `"phase":"Succeeded","containerStatuses":[{"name":"app","state":{"terminated":{"exitCode":0}}},{"name":"proxy","state":{"terminated":{"exitCode":143}}}]`
	pendingPod = `"phase":"Pending","conditions":[{"type":"PodScheduled","status":"True"}]`
	unreadyPod = `"phase":"Running","containerStatuses":[{"name":"app","ready":false,"state":{"running":{}}}]`
	lostPod    = `"phase":"Running","conditions":[{"type":"ContainersReady","status":"True"},{"type":"Ready","status":"False"}],
		"containerStatuses":[{"name":"app","ready":true,"state":{"running":{}}}]`
	gatedPod = `"phase":"Running","conditions":[{"type":"ContainersReady","status":"True"},
		{"type":"Ready","status":"False","reason":"ReadinessGatesNotReady","message":"the readiness gate lb is not True"}]`
)

// What happens to pods after they were created is shown with their application, whether they have an agent or not, and
// no longer than it lasts.
func TestStatusShowsPodsThatFail(t *testing.T) {
	const (
		web  = "ReplicaSet/web-5d9"
		sets = "/apis/apps/v1/namespaces/shop/replicasets/"
		jobs = "/apis/batch/v1/namespaces/shop/jobs/"
	)
	set := func(name string, replicas, ready int) string {
		return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"namespace":"shop","name":%q,"uid":"u-%[1]s",
			"ownerReferences":[{"kind":"Deployment","name":"web","controller":true}]},"spec":{"replicas":%d},"status":{"readyReplicas":%d}}`, name, replicas, ready)
	}
	job := func(name, owner, conditions string) string {
		return fmt.Sprintf(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"namespace":"shop","name":%q,"uid":"u-%[1]s"%s},"status":{"conditions":[%s]}}`, name, owner, conditions)
	}
	night := `,"ownerReferences":[{"kind":"CronJob","name":"night","controller":true}]`
	webs := relatedTo("web", "Deployment/web", "")
	tests := map[string]struct {
		why, application string
		pods             []string
		answers          map[string]string
		want             string
	}{
		"Refused": {
			"a node refuses each pod that the ReplicaSet makes", webs, []string{podOf("a", web, 1, refusedPod), podOf("b", web, 2, refusedPod), podOf("c", web, 3, pendingPod)},
			map[string]string{sets + "web-5d9": set("web-5d9", 1, 0)},
			"web    ready   pods fail\n\napplication web: ready\n  2 pods have failed, the last: pod b has failed: NodeAffinity: Pod was rejected: node(s) didn't match; " +
				"see kubectl -n shop describe pod b\n",
		},
		"OneOfThree": {
			"the others run", webs, []string{podOf("a", web, 1, runningPod), podOf("b", web, 1, runningPod), podOf("c", web, 1, refusedPod)},
			map[string]string{sets + "web-5d9": set("web-5d9", 3, 2)}, "  pod c has failed: NodeAffinity: Pod was rejected",
		},
		"Evicted": {
			"by its reason, and not by the exit code that it led to", webs, []string{podOf("a", web, 1, evictedPod), podOf("b", web, 2, pendingPod)},
			map[string]string{sets + "web-5d9": set("web-5d9", 1, 0)}, "  pod a has failed: Evicted: low on memory; see kubectl -n shop describe pod a\n",
		},
		"Replaced": {
			"another pod has begun since", webs, []string{podOf("a", web, 1, evictedPod), podOf("b", web, 2, unreadyPod)},
			map[string]string{sets + "web-5d9": set("web-5d9", 1, 0)}, "web    ready   \n",
		},
		"Enough": {
			"a spare pod was refused, and none is missing", webs, []string{podOf("a", web, 1, runningPod), podOf("b", web, 2, refusedPod)},
			map[string]string{sets + "web-5d9": set("web-5d9", 1, 1)}, "web    ready   \n",
		},
		"RolledOut": {
			"of an earlier ReplicaSet", webs, []string{podOf("a", "ReplicaSet/web-old", 1, refusedPod), podOf("b", web, 2, runningPod)},
			map[string]string{sets + "web-old": set("web-old", 0, 0)}, "web    ready   \n",
		},
		"SetGone": {
			"the ReplicaSet is gone", webs, []string{podOf("a", web, 1, refusedPod)}, nil, "web    ready   \n",
		},
		"SetUnread": {
			"the user may not read ReplicaSets", webs, []string{podOf("a", web, 1, refusedPod)}, map[string]string{sets + "web-5d9": ""}, "pods fail\n",
		},
		"NoAgent": {
			"a provider has no agent, so that its pods are no units", webs, []string{podOf("a", web, 1, crashedPod), podOf("b", web, 1, runningPod)}, nil,
			"web    ready   trouble with 1 of 2 pods\n\napplication web: ready\n  container app of pod a exited with code 1 (Error); see kubectl -n shop logs a -c app\n",
		},
		"Job": {
			"a Job tries again, and not at once", relatedTo("once", "Job/once", `{"number":0,"pod":"a","departureReason":"replaced"}`), []string{podOf("a", "Job/once", 1, exitedPod)},
			map[string]string{jobs + "once": job("once", "", "")}, "once   ready   pods fail\n\napplication once: ready\n  container app of pod a exited with code 1 (Error); see kubectl",
		},
		"JobDone": {
			"the first attempt has failed, the second one has not", relatedTo("once", "Job/once", `{"number":0,"pod":"a","departureReason":"replaced"},{"number":1,"pod":"b","departureReason":"replaced"}`),
			[]string{podOf("a", "Job/once", 1, exitedPod), podOf("b", "Job/once", 2, endedPod)},
			map[string]string{jobs + "once": job("once", "", `{"type":"Complete","status":"True"}`)}, "once   ready   \n",
		},
		"JobFailed": {
			"which has taken its pods along", relatedTo("once", "Job/once", ""), nil, map[string]string{
				jobs[:len(jobs)-1]: listOf("Job", job("once", "", `{"type":"Failed","status":"True","message":"Job has reached the specified backoff limit"}`))},
			"  Job once has failed: Job has reached the specified backoff limit; see kubectl -n shop describe job once\n",
		},
		"JobAndPod": {
			"and why", relatedTo("once", "Job/once", ""), []string{podOf("a", "Job/once", 1, exitedPod)}, map[string]string{
				jobs + "once":      job("once", "", `{"type":"Failed","status":"True"}`),
				jobs[:len(jobs)-1]: listOf("Job", job("once", "", `{"type":"Failed","status":"True","message":"Job was active longer than specified deadline"}`))},
			"  Job once has failed: Job was active longer than specified deadline: container app of pod a exited with code 1 (Error); see kubectl -n shop logs a -c app\n",
		},
		"CronJob": {
			"the last run has failed", relatedTo("night", "CronJob/night", ""), []string{podOf("a", "Job/night-1", 1, endedPod), podOf("b", "Job/night-2", 2, exitedPod)},
			map[string]string{jobs + "night-2": job("night-2", night, "")}, "night   ready   pods fail\n",
		},
		"CronJobWell": {
			"an earlier run has failed", relatedTo("night", "CronJob/night", ""), []string{podOf("a", "Job/night-1", 1, exitedPod), podOf("b", "Job/night-2", 2, endedPod)},
			map[string]string{jobs + "night-1": job("night-1", night, "")}, "night   ready   \n",
		},
		"Bare": {
			"no workload makes another one", `{"metadata":{"namespace":"shop","name":"once"},"status":{` + readyNow + `}}`, []string{podOf("once", "", 1, refusedPod)}, nil,
			"once   ready   trouble with 1 of 1 pods\n\napplication once: ready\n  pod once has failed: NodeAffinity: ",
		},
		"Stuck": {
			"its node is away, and a StatefulSet makes no other one", relatedTo("db", "StatefulSet/db", `{"number":0,"pod":"db-0"}`),
			[]string{podOf("db-0", "StatefulSet/db", 1, runningPod, `"deletionTimestamp":"2026-01-01T00:00:00Z",`)}, nil,
			"  pod db-0 was to end by 2026-01-01T00:00:00Z, and node n1 has not confirmed that; see kubectl get nodes\n",
		},
		"Finalizer": {
			"who holds it", relatedTo("db", "StatefulSet/db", `{"number":0,"pod":"db-0"}`),
			[]string{podOf("db-0", "StatefulSet/db", 1, endedPod, `"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["a/b"],`)}, nil,
			"  pod db-0 was to end by 2026-01-01T00:00:00Z, and is kept by its finalizers: a/b\n",
		},
		"Ending": {
			"it has time", webs, []string{podOf("a", web, 1, crashedPod, `"deletionTimestamp":"2126-01-01T00:00:00Z",`)}, nil, "web    ready   \n",
		},
		"Lost": {
			"the node reports no more", webs, []string{podOf("a", web, 1, lostPod)}, nil,
			"  pod a is not ready although its containers were, so that node n1 may not answer; see kubectl get nodes\n",
		},
		"Gated": {"a readiness gate", webs, []string{podOf("a", web, 1, gatedPod)}, nil, "  pod a is not ready: the readiness gate lb is not True\n"},
		"Probe": {
			"it runs, and its probe fails", webs, []string{podOf("a", web, 1, unreadyPod)},
			map[string]string{"/api/v1/namespaces/shop/events": listOf("Event", `{"metadata":{"namespace":"shop"},"type":"Warning","reason":"Unhealthy",
				"involvedObject":{"kind":"Pod","name":"a","uid":"a","fieldPath":"spec.containers{app}"},"message":"Readiness probe failed: refused"}`)},
			"  container app of pod a is not ready: Readiness probe failed: refused; see kubectl -n shop logs a -c app\n",
		},
		"Unready": {"it may become ready", webs, []string{podOf("a", web, 1, unreadyPod)}, nil, "web    ready   \n"},
		"Departed": {
			"the name of a pod that is there again", relatedTo("once", "Pod/once", `{"number":0,"pod":"once","departureReason":"replaced"},{"number":1,"pod":"once"}`),
			[]string{podOf("once", "", 1, crashedPod)}, nil, "once   ready   trouble with 1 of 1 pods\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			answers := shopOf(test.application, test.answers)
			answers["/api/v1/namespaces/shop/pods"] = `{"kind":"PodList","apiVersion":"v1","items":[` + strings.Join(test.pods, ",") + `]}`
			code, out, _ := call("", append([]string{"status"}, answering(t, answers)...)...)
			assert.Equal(t, 0, code, "its relations are ready")
			assert.Contains(t, out, test.want, test.why)
			if strings.HasSuffix(test.want, " \n") {
				assert.NotContains(t, out, "\n\napplication", test.why)
			}
		})
	}
}

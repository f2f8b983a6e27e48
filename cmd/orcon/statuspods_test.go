package main

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// What keeps the pods of an application from existing, or from beginning, is shown with it: its relations are complete,
// and nothing of it runs.
func TestStatusShowsPodsThatDoNotBegin(t *testing.T) {
	const (
		quota = `pods \"web-5d9-x\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=9, limited: pods=9`
		since = `"lastTimestamp":"2026-11-29T14:00:00Z"`
		// begins is the beginning of the status of a pod that has a node and no sandbox.
		begins = `"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"True"},{"type":"PodReadyToStartContainers","status":"False"}],`
	)
	application := func(name, source, units string) string {
		return `{"metadata":{"namespace":"shop","name":"` + name + `"},"state":{"units":[` + units + `]},"status":{"sources":["` + source + `"],` + readyNow + `}}`
	}
	event := func(about, reason, message string) string {
		return `{"metadata":{"namespace":"shop"},"type":"Warning","involvedObject":{` + about + `},"reason":"` + reason + `","message":"` + message + `",` + since + `}`
	}
	tests := map[string]struct {
		why, application string
		answers          map[string]string
		want             string
	}{
		"Quota": {
			"a ReplicaSet makes no pods", application("web", "Deployment/web", ""), map[string]string{
				"/api/v1/namespaces/shop/events": listOf("Event", event(`"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-5d9","uid":"u1"`,
					"FailedCreate", "(combined from similar events): Error creating: "+quota)),
				"/apis/apps/v1/namespaces/shop/replicasets/web-5d9": `{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"namespace":"shop","name":"web-5d9","uid":"u1",
					"ownerReferences":[{"kind":"Deployment","name":"web","controller":true}]},"spec":{"replicas":2},"status":{"replicas":1}}`,
			},
			"web    ready   pods are missing\n\napplication web: ready\n  ReplicaSet web-5d9 cannot create pods: pods \"web-5d9-x\" is forbidden: " +
				"exceeded quota: q, requested: pods=1, used: pods=9, limited: pods=9\n",
		},
		"StatefulSet": {
			"and so a StatefulSet", application("db", "StatefulSet/db", ""), map[string]string{
				"/api/v1/namespaces/shop/events": listOf("Event", event(`"apiVersion":"apps/v1","kind":"StatefulSet","name":"db","uid":"u1"`,
					"FailedCreate", `Create Pod db-0 in StatefulSet db failed error: no`)),
				"/apis/apps/v1/namespaces/shop/statefulsets/db": `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"namespace":"shop","name":"db","uid":"u1"},"spec":{"replicas":1},"status":{"replicas":0}}`,
			},
			"application db: ready\n  StatefulSet db cannot create pods: Create Pod db-0 in StatefulSet db failed error: no\n",
		},
		"DaemonSet": {
			"and a DaemonSet", application("log", "DaemonSet/log", ""), map[string]string{
				"/api/v1/namespaces/shop/events": listOf("Event", event(`"apiVersion":"apps/v1","kind":"DaemonSet","name":"log","uid":"u1"`, "FailedCreate", `Error creating: no`)),
				"/apis/apps/v1/namespaces/shop/daemonsets/log": `{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"namespace":"shop","name":"log","uid":"u1"},
					"status":{"desiredNumberScheduled":2,"currentNumberScheduled":1}}`,
			},
			"application log: ready\n  DaemonSet log cannot create pods: no\n",
		},
		"CronJob": {
			"and the Job of a CronJob", application("night", "CronJob/night", ""), map[string]string{
				"/api/v1/namespaces/shop/events": listOf("Event", event(`"apiVersion":"batch/v1","kind":"Job","name":"night-1","uid":"u1"`, "FailedCreate", `Error creating: no`)),
				"/apis/batch/v1/namespaces/shop/jobs/night-1": `{"apiVersion":"batch/v1","kind":"Job","metadata":{"namespace":"shop","name":"night-1","uid":"u1",
					"ownerReferences":[{"kind":"CronJob","name":"night","controller":true}]},"spec":{},"status":{"ready":0}}`,
			},
			"application night: ready\n  Job night-1 cannot create pods: no\n",
		},
		"Mended": {
			"a quota that was full and is not any more", application("web", "Deployment/web", ""), map[string]string{
				"/api/v1/namespaces/shop/events": listOf("Event", event(`"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-5d9","uid":"u1"`, "FailedCreate", quota)),
				"/apis/apps/v1/namespaces/shop/replicasets/web-5d9": `{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"namespace":"shop","name":"web-5d9","uid":"u1",
					"ownerReferences":[{"kind":"Deployment","name":"web","controller":true}]},"spec":{"replicas":2},"status":{"replicas":2}}`,
			},
			"web    ready   \n",
		},
		"Anew": {
			"a Job of the same name that failed before is another one", application("once", "Job/once", ""), map[string]string{
				"/api/v1/namespaces/shop/events": listOf("Event", event(`"apiVersion":"batch/v1","kind":"Job","name":"once","uid":"u1"`, "FailedCreate", `no`)),
				"/apis/batch/v1/namespaces/shop/jobs/once": `{"apiVersion":"batch/v1","kind":"Job","metadata":{"namespace":"shop","name":"once","uid":"u2"},
					"spec":{},"status":{"ready":0}}`,
			},
			"once   ready   \n",
		},
		"Mount": {
			"a volume cannot be mounted", application("web", "Deployment/web", `{"number":0,"pod":"web-a"}`), map[string]string{
				"/api/v1/namespaces/shop/pods": `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"namespace":"shop","name":"web-a","uid":"p1"},` + begins +
					`"initContainerStatuses":[{"name":"relation-agent","state":{"waiting":{"reason":"PodInitializing"}}}]}}]}`,
				"/api/v1/namespaces/shop/events": listOf("Event", event(`"kind":"Pod","name":"web-a","uid":"p1"`, "WaitingForRelations", "waits for db")+","+
					event(`"kind":"Pod","name":"web-a","uid":"p1"`, "FailedMount", `MountVolume.SetUp failed for volume \"s\" : secret \"missing\" not found`)+","+
					event(`"kind":"Pod","name":"web-a","uid":"p0"`, "FailedMount", `of the pod before`)),
			},
			"web    ready   trouble with 1 of 1 pods\n\napplication web: ready\n  pod web-a has not begun: MountVolume.SetUp failed for volume \"s\" : " +
				"secret \"missing\" not found\n",
		},
		"Begun": {
			"what failed before the pod began is past", application("web", "Deployment/web", `{"number":0,"pod":"web-a"}`), map[string]string{
				"/api/v1/namespaces/shop/pods": `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"namespace":"shop","name":"web-a","uid":"p1"},
					"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"True"},{"type":"PodReadyToStartContainers","status":"True"}]}}]}`,
				"/api/v1/namespaces/shop/events": listOf("Event", event(`"kind":"Pod","name":"web-a","uid":"p1"`, "FailedMount", `MountVolume.SetUp failed`)),
			},
			"web    ready   \n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			answers := shopOf(test.application, test.answers)
			code, out, _ := call("", append([]string{"status"}, answering(t, answers)...)...)
			assert.Equal(t, 0, code, "its relations are ready")
			assert.Contains(t, out, test.want, test.why)
			if strings.HasSuffix(test.want, " \n") {
				assert.NotContains(t, out, "\n\napplication", test.why)
			}
		})
	}
}

// shopOf returns the answers of a cluster that has workloads, with one application in namespace shop, and further answers.
func shopOf(application string, more map[string]string) map[string]string {
	answers := map[string]string{
		"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"secrets","kind":"Secret","namespaced":true},
				{"name":"events","kind":"Event","namespaced":true},{"name":"namespaces","kind":"Namespace"},{"name":"pods","kind":"Pod","namespaced":true}]}`,
		"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"orcon.tengu.io","versions":[{"groupVersion":"orcon.tengu.io/v1alpha1","version":"v1alpha1"}]},
				{"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}]},{"name":"batch","versions":[{"groupVersion":"batch/v1","version":"v1"}]}]}`,
		"/apis/apps/v1": `{"kind":"APIResourceList","groupVersion":"apps/v1","resources":[{"name":"deployments","kind":"Deployment","namespaced":true},
				{"name":"replicasets","kind":"ReplicaSet","namespaced":true},{"name":"statefulsets","kind":"StatefulSet","namespaced":true},
				{"name":"daemonsets","kind":"DaemonSet","namespaced":true}]}`,
		"/apis/batch/v1": `{"kind":"APIResourceList","groupVersion":"batch/v1","resources":[{"name":"jobs","kind":"Job","namespaced":true}]}`,
		group + "namespaces/shop/relatedapplications": listOf("RelatedApplication", application),
		group + "namespaces/shop/relations":           listOf("Relation", ""),
		group + "namespaces/shop/offers":              listOf("Offer", ""),
		group + "namespaces/shop/bundledeployments":   listOf("BundleDeployment", ""),
	}
	maps.Copy(answers, more)
	return answers
}

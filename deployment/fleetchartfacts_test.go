package deployment_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// facts describes objects in short sentences.
func facts(t *testing.T, v values) []string {
	t.Helper()
	var all []string
	note := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for _, object := range rendered(t, v) {
		switch o := strict(t, object).(type) {
		case *appsv1.Deployment:
			note("Deployment %s, %d replicas, %d revisions, selector %v", o.Name, *o.Spec.Replicas, *o.Spec.RevisionHistoryLimit, o.Spec.Selector.MatchLabels)
			note("labels %v, of pods %v", o.Labels, o.Spec.Template.Labels)
			all = append(all, pod(o.Spec.Template.Spec)...)
		case *appsv1.StatefulSet:
			claim := o.Spec.VolumeClaimTemplates[0]
			note("StatefulSet %s, %d replicas", o.Name, *o.Spec.Replicas)
			note("claim %s %s %s %v", claim.Name, claim.Spec.Resources.Requests.Storage(), *claim.Spec.StorageClassName, claim.Spec.AccessModes)
			all = append(all, pod(o.Spec.Template.Spec)...)
		case *batchv1.CronJob:
			note("CronJob %s, schedule %s, %s, history %d and %d", o.Name, o.Spec.Schedule, o.Spec.ConcurrencyPolicy,
				*o.Spec.SuccessfulJobsHistoryLimit, *o.Spec.FailedJobsHistoryLimit)
			note("restart %s, labels of pods %v", o.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy, o.Spec.JobTemplate.Spec.Template.Labels)
			all = append(all, pod(o.Spec.JobTemplate.Spec.Template.Spec)...)
		case *corev1.Service:
			note("Service %s, port %d to %s, selector %v", o.Name, o.Spec.Ports[0].Port, o.Spec.Ports[0].TargetPort.String(), o.Spec.Selector)
		}
	}
	return all
}

// pod describes what runs in a pod. Names must not repeat: the API server would refuse them.
func pod(p corev1.PodSpec) []string {
	all := []string{"account " + p.ServiceAccountName}
	for _, v := range p.Volumes {
		all = append(all, "volume "+v.Name)
	}
	for _, c := range p.InitContainers {
		all = append(all, container("first ", c)...)
	}
	for _, c := range p.Containers {
		all = append(all, container("", c)...)
	}
	return all
}

func container(order string, c corev1.Container) []string {
	all := []string{strings.TrimSpace(fmt.Sprintf("%s%s runs %s %s", order, c.Name, c.Image, c.ImagePullPolicy))}
	for _, m := range c.VolumeMounts {
		all = append(all, fmt.Sprintf("%s mounts %s at %s", c.Name, m.Name, m.MountPath))
	}
	for _, e := range c.Env {
		switch {
		case e.ValueFrom == nil:
			all = append(all, fmt.Sprintf("%s has %s=%s", c.Name, e.Name, e.Value))
		case e.ValueFrom.SecretKeyRef != nil:
			all = append(all, fmt.Sprintf("%s has %s of Secret %s/%s", c.Name, e.Name, e.ValueFrom.SecretKeyRef.Name, e.ValueFrom.SecretKeyRef.Key))
		}
	}
	return all
}

// FLEET.md C1: the facts of the reference chart's objects.
func TestFleetChartFacts(t *testing.T) {
	tests := map[string]struct {
		why       string
		values    values
		has, lack []string
	}{
		"Deployment": {
			why: "an integration without cache or cron", values: integration(nil),
			has: []string{
				"Deployment qontract-reconcile-dns-zones, 1 replicas, 5 revisions, selector map[app:qontract-reconcile-dns-zones]",
				"labels map[app:qontract-reconcile-dns-zones], of pods map[app:qontract-reconcile-dns-zones component:qontract-reconcile]",
				"account qontract-reconcile", "int runs quay.io/app-sre/qontract-reconcile:latest", "int has SHARDS=1", "int has SHARD_ID=0",
				"int mounts qontract-reconcile-toml at /config", "int mounts tmp-dir at /tmp", "int has DRY_RUN=--dry-run",
				"int has UNLEASH_API_URL of Secret unleash/API_URL", "fluentd has AWS_REGION of Secret app-interface-cloudwatch/aws_region",
				"config mounts fluentd-config at /fluentd/etc/", "fluentd mounts fluentd-config at /fluentd/etc/",
			},
			lack: []string{"volume buffer", "volume cache", "volume internal-certificates", "int has APP_INTERFACE_STATE_BUCKET_ACCOUNT=app-sre", "int has ENVIRONMENT_NAME=app-interface"},
		},
		"Cache": {
			why: "a claim with the defaults", values: integration(values{"cache": true}),
			has: []string{"StatefulSet qontract-reconcile-dns-zones, 1 replicas", "claim cache 1Gi gp2 [ReadWriteOnce]", "int mounts cache at /.cache"},
		},
		"Storage": {
			why: "a claim of a size and class", values: integration(values{"cache": true, "storage": "5Gi", "storageClassName": "standard"}),
			has: []string{"claim cache 5Gi standard [ReadWriteOnce]"},
		},
		"CronJob": {
			why: "no log, no shard, no label of its pods", values: cronjob(nil),
			has: []string{
				"CronJob qontract-reconcile-dns-zones, schedule 0 * * * *, Allow, history 3 and 1", "restart OnFailure, labels of pods map[]", "int has RUN_ONCE=true",
			},
			lack: []string{"volume logs", "int has SHARDS=1", "int has SLEEP_DURATION_SECS=300"},
		},
		"CronJobImage": {why: "its image is the parameter's", values: cronjob(values{"imageRef": "other"}), has: []string{"int runs quay.io/app-sre/qontract-reconcile:latest"}},
		"History": {
			why: "0 is a number", values: cronjob(values{"successfulJobHistoryLimit": 0, "failedJobHistoryLimit": 0}),
			has: []string{"CronJob qontract-reconcile-dns-zones, schedule 0 * * * *, Allow, history 0 and 0"},
		},
		"Pushgateway": {why: "with credentials", values: cronjob(values{"enablePushgateway": true}), has: []string{
			"int has PUSHGATEWAY_ENABLED=true", "int has PUSHGATEWAY_URL of Secret push-gateway-auth-url/server",
			"int has PUSHGATEWAY_USERNAME of Secret push-gateway-auth-url/username", "int has PUSHGATEWAY_PASSWORD of Secret push-gateway-auth-url/password",
		}},
		"Dashdotdb":    {why: "with its Secret", values: cronjob(values{"dashdotdb": true}), has: []string{"int has DASHDOTDB_SECRET of Secret dashdotdb/AUTH_VAULT_PATH"}},
		"Certificates": {why: "copied before the start", values: integration(values{"internalCertificates": true}), has: []string{"first internal-certificates runs quay.io/app-sre/internal-redhat-ca:latest Always", "int mounts internal-certificates at /etc/pki/"}},
		"State": {
			why: "a bucket, by an account of AWS", values: integration(values{"state": true}),
			has: []string{
				"int has APP_INTERFACE_STATE_BUCKET of Secret app-interface/aws.s3.bucket", "int has AWS_CONFIG_FILE=/aws/config", "int mounts aws-config at /aws",
				"int mounts bound-qontract-reconcile-sa-token at /var/run/secrets/openshift/serviceaccount",
			},
		},
		"Unleash": {why: "left out", values: integration(values{"disableUnleash": true}), lack: []string{"int has UNLEASH_API_URL of Secret unleash/API_URL"}},
		"Slack": {
			why: "its address and channel", values: integration(values{"logs": values{"slack": true}}),
			has:  []string{"config has SLACK_WEBHOOK_URL of Secret app-interface/slack.webhook_url", "config has SLACK_CHANNEL=sd-app-sre-reconcile-stage"},
			lack: []string{"config has SLACK_RECONCILE_ERR_CHANNEL_NAME=sd-app-sre-reconcile-errors-stage", "int has PREFIX_LOG_LEVEL=true"},
		},
		"Trigger": {
			why: "another channel", values: integration(values{"logs": values{"slack": true, "googleChat": true}, "trigger": true}),
			has: []string{"config has SLACK_CHANNEL=sd-app-sre-triggers-stage", "config has GOOGLE_CHAT_WEBHOOK_URL of Secret app-interface/google_chat.triggers_url"},
		},
		"Errors": {
			why: "need the address of their channel alone", values: integration(values{"logs": values{"slackErrorFilter": true}}),
			has: []string{"config has SLACK_ERRORS_ONLY_WEBHOOK_URL of Secret app-interface/slack.errors_only_webhook_url", "config has SLACK_ICON_EMOJI=:bust_in_silhouette:"},
		},
		"GoogleChat": {
			why: "messages wait in a buffer", values: integration(values{"logs": values{"googleChat": true}}),
			has: []string{"int has PREFIX_LOG_LEVEL=true", "volume buffer", "fluentd mounts buffer at /fluentd/buffer"},
		},
		"Manager": {
			why: "the manager of integrations has its own settings", values: integration(values{"name": "integrations-manager"}),
			has: []string{"int has MANAGER_DRY_RUN=--dry-run", "int has INTEGRATIONS_MANAGER_UPSTREAM="},
		},
		"Environment": {
			why: "what it passes on", values: integration(values{"environmentAware": true}),
			has: []string{"int has ENVIRONMENT_NAME=app-interface", "int has IMAGE_TAG=latest", "int has CLOUDWATCH_SECRET=app-interface-cloudwatch"},
		},
		"Integer": {
			why: "a shard 0 that is a number is none, as in values written by hand", values: integration(values{"shard_specs": []any{values{"shards": 1, "shard_id": 0}}}),
			has: []string{"Deployment qontract-reconcile-dns-zones, 1 replicas, 5 revisions, selector map[app:qontract-reconcile-dns-zones]"}, lack: []string{"int has SHARD_ID=0"},
		},
		"Texts": {
			why: "no text of the data is read as YAML, but for quotes around all of it",
			values: integration(values{
				"imageRef": "a: b #c", "command": "x: y", "extraEnv": []any{
					values{"name": "QUOTED", "value": `"true"`}, values{"name": "SINGLE", "value": `'it''s'`}, values{"name": "TWO", "value": `"a", "b"`},
					values{"name": "PLAIN", "value": `a: "b" # c`}, values{"name": "BOOLEAN", "value": "yes"}, values{"name": "EMPTY", "value": ""},
				},
			}),
			has: []string{
				"int runs quay.io/app-sre/qontract-reconcile:a: b #c", "int has COMMAND_NAME=x: y", "int has QUOTED=true", "int has SINGLE=it's",
				`int has TWO="a", "b"`, `int has PLAIN=a: "b" # c`, "int has BOOLEAN=yes", "int has EMPTY=",
			},
		},
		"Service": {why: "shared by a namespace", values: values{}, has: []string{"Service qontract-reconcile, port 80 to 9090, selector map[component:qontract-reconcile]"}},
		"Shared": {
			why: "shards have one selector", values: integration(values{"shard_specs": []any{values{"shard_name_suffix": "-acc-1"}}}),
			has: []string{"Deployment qontract-reconcile-dns-zones-acc-1, 1 replicas, 5 revisions, selector map[app:qontract-reconcile-dns-zones]"},
		},
		"PerShard": {
			why:    "selectors that differ, on request",
			values: with(integration(values{"shard_specs": []any{values{"shard_name_suffix": "-acc-1"}}}), values{"selectors": "PerShard"}),
			has: []string{
				"Deployment qontract-reconcile-dns-zones-acc-1, 1 replicas, 5 revisions, selector map[app:qontract-reconcile-dns-zones shard:acc-1]",
				"labels map[app:qontract-reconcile-dns-zones], of pods map[app:qontract-reconcile-dns-zones component:qontract-reconcile shard:acc-1]",
			},
		},
		"Government": {
			why: "each name once, also with Google Chat", values: with(integration(values{"logs": values{"googleChat": true}}), values{"gov_slack": "true"}),
			has: []string{"config has GOV_SLACK_WEBHOOK_URL of Secret app-interface/slack.webhook_url"},
		},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			all := facts(t, tc.values)
			assert.Len(t, slices.Compact(slices.Sorted(slices.Values(all))), len(all), "nothing is there twice")
			for _, fact := range tc.has {
				assert.Contains(t, all, fact, tc.why)
			}
			for _, fact := range tc.lack {
				assert.NotContains(t, all, fact, tc.why)
			}
		})
	}
}

// with adds values for the whole chart.
func with(v, globals values) values {
	maps.Copy(v, globals)
	return v
}

// What is wrong is found before anything is made of it.
func TestFleetChartRefuses(t *testing.T) {
	tests := map[string]struct {
		why    string
		values values
		errs   string
	}{
		"Field":    {"a misspelt field", integration(values{"cach": true}), "cach"},
		"Type":     {"a text for a boolean", integration(values{"state": "yes"}), "integrations.0.state"},
		"Policy":   {"a policy that Kubernetes does not have", cronjob(values{"concurrencyPolicy": "allow"}), "cronjobs.0.concurrencyPolicy"},
		"Schedule": {"a CronJob without a schedule", values{"cronjobs": []any{values{"name": "x"}}}, "cron"},
		"Name":     {"a name that would be YAML", integration(values{"name": "a: b"}), "integrations.0.name"},
		"Suffix":   {"a suffix that would be YAML", integration(values{"shard_specs": []any{values{"shard_name_suffix": "-a\nb"}}}), "shard_name_suffix"},
		"Variable": {"a variable without a source", integration(values{"extraEnv": []any{values{"name": "A"}}}), "extraEnv"},
		"Global":   {"a misspelt value", with(integration(nil), values{"excludService": true}), "excludService"},
		"Digest":   {"an image that would end in @", with(integration(nil), values{"imageDigests": true}), "IMAGE_DIGEST"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			_, err := renderFleet(t, tc.values, nil)
			require.ErrorContains(t, err, tc.errs, tc.why)
		})
	}
}

func TestFleetChartParameters(t *testing.T) {
	digests := map[string]string{
		"IMAGE_TAG": "v7", "IMAGE_DIGEST": "sha256:a", "BUSYBOX_IMAGE_DIGEST": "sha256:b", "FLUENTD_IMAGE_DIGEST": "sha256:c",
		"DNS_ZONES_MEMORY_LIMIT": "9Gi", "BUSYBOX_IMAGE_PULL_POLICY": "IfNotPresent",
	}
	objects, err := renderFleet(t, with(integration(nil), values{"imageDigests": true}), digests)
	require.NoError(t, err)
	d, ok := strict(t, objects[0]).(*appsv1.Deployment)
	require.True(t, ok)
	p := d.Spec.Template.Spec
	assert.Equal(t, "quay.io/app-sre/qontract-reconcile:v7@sha256:a", p.Containers[0].Image)
	assert.Equal(t, "registry.access.redhat.com/ubi8/ubi-minimal:latest@sha256:b", p.InitContainers[0].Image)
	assert.Equal(t, corev1.PullIfNotPresent, p.InitContainers[0].ImagePullPolicy)
	assert.Equal(t, "9Gi", p.Containers[0].Resources.Limits.Memory().String(), "an environment can change resources")
}

// The shell fills in what only the pod knows, and leaves the rest of fluentd's configuration alone.
func TestFleetChartLogScript(t *testing.T) {
	objects := rendered(t, integration(values{"logs": values{"slack": true, "googleChat": true}}))
	d, ok := strict(t, objects[0]).(*appsv1.Deployment)
	require.True(t, ok)
	file := filepath.Join(t.TempDir(), "fluent.conf")
	script := strings.Replace(d.Spec.Template.Spec.InitContainers[0].Args[0], "/fluentd/etc/fluent.conf", file, 1)
	run := exec.CommandContext(t.Context(), "/bin/sh", "-euc", script)
	run.Env = []string{"SLACK_WEBHOOK_URL=https://slack", "GOOGLE_CHAT_WEBHOOK_URL=https://chat?a=b", "POD_NAME=p-1", "LOG_GROUP_NAME=group"}
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, line := range []string{
		"webhook_url https://slack", "message \"```[dns-zones] %s```\"", `webhook_url "https://chat?a=b&threadKey=p-1"`,
		`text "<%= Time.at(time) %> [p-1] <%= record['message'] %>\n\n"`, `pattern /^\[ERROR\]/`, "log_group_name group",
	} {
		assert.Contains(t, string(text), line)
	}
}

// Every text of the data reaches the pod as it is.
func TestFleetChartKeepsTexts(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.StringMatching(`[ -~\n\tä€]{1,20}`).Filter(func(s string) bool {
			return !strings.Contains(s, "${") && !strings.ContainsAny(s[:1]+s[len(s)-1:], `"'`)
		})
		args, command, value := text.Draw(r, "args"), text.Draw(r, "command"), text.Draw(r, "value")
		all := facts(t, integration(values{
			"command": command, "extraEnv": []any{values{"name": "A", "value": value}},
			"shard_specs": []any{values{"shard_id": "0", "extra_args": args}},
		}))
		for _, fact := range []string{"COMMAND_NAME=" + command, "INTEGRATION_EXTRA_ARGS=" + args, "A=" + value} {
			require.Contains(r, all, "int has "+fact)
		}
	})
}

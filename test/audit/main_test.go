package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const manifests = `
kind: ClusterRole
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: all}
rules:
- {verbs: [get, watch], apiGroups: [""], resources: [pods]}
- {verbs: [create, patch], apiGroups: [""], resources: [configmaps]}
- {verbs: [patch], apiGroups: [apps], resources: [deployments/status], resourceNames: [web]}
---
kind: Role
apiVersion: rbac.authorization.k8s.io/v1
metadata: {namespace: orcon-system, name: own}
rules:
- {verbs: [update], apiGroups: [coordination.k8s.io], resources: [leases]}
---
kind: ClusterRoleBinding
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: all}
roleRef: {kind: ClusterRole, name: all}
subjects: [{kind: ServiceAccount, namespace: orcon-system, name: controller}, {kind: Group, name: people}]
---
kind: RoleBinding
apiVersion: rbac.authorization.k8s.io/v1
metadata: {namespace: orcon-system, name: own}
roleRef: {kind: Role, name: own}
subjects: [{kind: ServiceAccount, name: controller}]
`

// line is a line of an audit log.
func line(user, verb, object, rest string) string {
	return `{"verb":"` + verb + `","user":{"username":"` + user + `"},"objectRef":{` + object + `}` + rest + "}\n"
}

func TestRun(t *testing.T) {
	const controller = accounts + "controller"
	pods := line(controller, "get", `"resource":"pods","namespace":"a","name":"x"`, "") + line(controller, "watch", `"resource":"pods"`, "")
	status := line(controller, "patch", `"resource":"deployments","apiGroup":"apps","subresource":"status","namespace":"a","name":"web"`, "")
	lease := line(controller, "update", `"resource":"leases","apiGroup":"coordination.k8s.io","namespace":"orcon-system","name":"x"`, "")
	applied := func(code int) string {
		return line(controller, "patch", `"resource":"configmaps","namespace":"a","name":"x"`, fmt.Sprintf(`,"responseStatus":{"code":%d}`, code))
	}
	made := applied(http.StatusCreated) // which needs both verbs
	removes := line(accounts+"relations-controller", "get", `"resource":"secrets","namespace":"granting","name":"orders-db-admin"`, `,"annotations":{"authorization.k8s.io/decision":"forbid"}`)
	tests := map[string]struct {
		why, log, want string
		ok             bool
	}{
		"Excused": {
			why: "a reason is given", log: made + pods + status + lease + removes, ok: true,
			want: "forbidden: relations-controller get secrets granting/orders-db-admin: TestDocs/share-a-secret.md relates before the namespace opens its Secret (SAFETY.md S1)\n",
		},
		"Numbered": {
			why: "also in a namespace whose name has a number",
			log: made + pods + status + lease + strings.NewReplacer("relations-controller", "job-controller", "granting", "e2e-12-3",
				"orders-db-admin", "account-outputs").Replace(removes), ok: true,
			want: "forbidden: job-controller get secrets e2e-12-3/account-outputs: TestRunsAreJobs/Secrets shows what a run waits for before the namespace permits it\n",
		},
		"Unmade": {
			why: "an apply that creates nothing", log: pods + status + lease + applied(200), want: "not used: controller create configmaps\n",
		},
		"Used":   {why: "each right was needed", log: made + pods + status + lease, ok: true},
		"Others": {why: "other accounts count for nothing", log: made + status + lease + strings.ReplaceAll(pods, controller, "ann"), want: "not used: controller get pods\nnot used: controller watch pods\n"},
		"Name": {
			why: "a right of one object", log: made + pods + lease + strings.ReplaceAll(status, `"web"`, `"db"`), want: "not used: controller patch deployments/status.apps web\n",
		},
		"Namespace": {
			why: "a right of one namespace", log: made + pods + status + strings.ReplaceAll(lease, "orcon-system", "shop"),
			want: "not used: controller update leases.coordination.k8s.io in orcon-system\n",
		},
		"AsOther": {
			why: "what it did as another account", log: made + pods + status + line(controller, "update", `"resource":"leases","apiGroup":"coordination.k8s.io","namespace":"orcon-system"`, `,"impersonatedUser":{"username":"x"}`),
			want: "not used: controller update leases.coordination.k8s.io in orcon-system\n",
		},
		"TakenBack": {
			why: "it was permitted until the namespace was deleted", ok: true,
			log: made + pods + status + lease + line(controller, "get", `"resource":"pods","namespace":"a","name":"x"`, `,"annotations":{"authorization.k8s.io/decision":"forbid"}`),
		},
		"Forbidden": {
			why: "a right too few", log: made + pods + status + lease + line(controller, "list", `"resource":"nodes"`, `,"annotations":{"authorization.k8s.io/decision":"forbid"}`),
			want: "forbidden: controller list nodes /\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(folder, "a.log"), []byte(test.log), 0o600))
			var out strings.Builder
			ok, err := run(folder, false, strings.NewReader(manifests), &out)
			require.NoError(t, err)
			assert.Equal(t, test.ok, ok, test.why)
			_, rest, _ := strings.Cut(out.String(), "\n")
			assert.Equal(t, test.want, rest, test.why)
		})
	}
}

// A part of the tests needs no right to be used, and is forbidden nothing either.
func TestRunOfAPart(t *testing.T) {
	folder := t.TempDir()
	write := func(log string) (ok bool, out string) {
		var b strings.Builder
		require.NoError(t, os.WriteFile(filepath.Join(folder, "a.log"), []byte(log), 0o600))
		ok, err := run(folder, true, strings.NewReader(manifests), &b)
		require.NoError(t, err)
		return ok, b.String()
	}
	get := func(rest string) string {
		return line(accounts+"controller", "get", `"resource":"pods","namespace":"a","name":"x"`, rest)
	}
	ok, out := write(get(""))
	assert.True(t, ok, out)
	assert.NotContains(t, out, "not used")
	ok, out = write(get(`,"annotations":{"authorization.k8s.io/decision":"forbid"}`))
	assert.False(t, ok)
	assert.Contains(t, out, "forbidden: controller get pods a/x\n")
}

// Without a log nothing is shown.
func TestRunWithoutLogs(t *testing.T) {
	var out strings.Builder
	ok, err := run(t.TempDir(), false, strings.NewReader(manifests), &out)
	require.NoError(t, err)
	assert.False(t, ok)
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a.log"), []byte("no JSON\n"), 0o600))
	_, err = run(folder, false, strings.NewReader(manifests), &out)
	require.ErrorContains(t, err, "cannot read an audit log")
	_, err = run(folder, false, strings.NewReader("a: ["), &out)
	require.ErrorContains(t, err, "cannot read manifests")
}

// What another cluster permits does not excuse that this one forbids it.
func TestRunOfTwoClusters(t *testing.T) {
	folder := t.TempDir()
	nodes := func(rest string) []byte {
		return []byte(line(accounts+"controller", "list", `"resource":"nodes"`, rest))
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a.log"), nodes(""), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "b.log"), nodes(`,"annotations":{"authorization.k8s.io/decision":"forbid"}`), 0o600))
	var out strings.Builder
	_, err := run(folder, false, strings.NewReader(manifests), &out)
	require.NoError(t, err)
	assert.Contains(t, out.String(), "forbidden: controller list nodes /\n")
}

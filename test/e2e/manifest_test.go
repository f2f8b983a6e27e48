package e2e

import (
	"fmt"
	"strings"
)

// consumesDB is the declaration of most consumers here.
const consumesDB = `tengu.io/consumes: db, tengu.io/relations: db-endpoint`

// external is an ExternalName Service that provides an interface of a name.
func external(name, provides, host string) string {
	return `
apiVersion: v1
kind: Service
metadata: {name: ` + name + `, labels: {tengu.io/provides: ` + provides + `}}
spec: {type: ExternalName, externalName: ` + host + `}
`
}

// sleeper is a workload of one pod that does nothing, with annotations on its
// metadata as YAML flow entries.
func sleeper(kind, name, annotations string) string {
	return workload{kind: kind, name: name, annotations: annotations}.yaml()
}

// workload is a workload of one container.
type workload struct {
	kind, name string
	// annotations of its metadata, as YAML flow entries.
	annotations string
	// podAnnotations of its template.
	podAnnotations string
	// script that the container runs; to sleep by default.
	script string
	// env of the container, as YAML flow entries.
	env string
	// replicas, or completions of a Job, all at once; 1 by default.
	replicas int
	// grace of its pods in seconds; 1 by default.
	grace int
}

func (w workload) yaml() string {
	w.replicas, w.grace = max(w.replicas, 1), max(w.grace, 1)
	if w.script == "" {
		w.script = "exec sleep infinity"
	}
	if w.kind == "Pod" {
		return w.head("v1", ", labels: {app: "+w.name+"}") + "spec:" + w.pod("Never", "  ")
	}
	version, restart := "apps/v1", "Always"
	extra := fmt.Sprintf("\n  selector: {matchLabels: {app: %s}}", w.name)
	switch w.kind {
	case "Deployment":
		extra += fmt.Sprintf("\n  replicas: %d", w.replicas)
	case "StatefulSet":
		extra += fmt.Sprintf("\n  replicas: %d\n  serviceName: %s", w.replicas, w.name)
	case "Job":
		version, restart = "batch/v1", "Never"
		extra = fmt.Sprintf("\n  backoffLimit: 0\n  parallelism: %d\n  completions: %d", w.replicas, w.replicas)
	}
	return w.head(version, "") + "spec:" + extra + `
  template:
    metadata: {labels: {app: ` + w.name + `}, annotations: {` + w.podAnnotations + `}}
    spec:` + w.pod(restart, "      ")
}

func (w workload) head(version, more string) string {
	return fmt.Sprintf("\napiVersion: %s\nkind: %s\nmetadata: {name: %s, annotations: {%s}%s}\n", version, w.kind, w.name, w.annotations, more)
}

func (w workload) pod(restart, indent string) string {
	lines := []string{
		"restartPolicy: " + restart,
		fmt.Sprintf("terminationGracePeriodSeconds: %d", w.grace),
		"containers:",
		"- name: main",
		`  image: "busybox:stable"`,
		"  imagePullPolicy: IfNotPresent",
		"  env: [" + w.env + "]",
		"  command:",
		"  - sh",
		"  - -c",
		"  - |",
	}
	for line := range strings.SplitSeq(strings.TrimSpace(w.script), "\n") {
		lines = append(lines, "    "+line)
	}
	return "\n" + indent + strings.Join(lines, "\n"+indent) + "\n"
}

// complete is a script that fails unless variables and files of endpoint db are
// there, all of them and of that provider.
func complete(provider, host string) string {
	return fmt.Sprintf(`set -eu
[ "$DB" = %[2]s ] && [ "$DB_HOST" = %[2]s ] && [ "$SERVICE_BINDING_ROOT" = /bindings ]
cd /bindings/db
[ "$(cat type) $(cat provider) $(cat host)" = "db %[1]s %[2]s" ]
[ "$(cat ../db-*/host)" = %[2]s ]
`, provider, host)
}

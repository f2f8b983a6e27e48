package injection

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// ErrManifest says that a manifest cannot be read as a Kubernetes object.
var ErrManifest = errors.New("not a Kubernetes object")

// Inject does to a manifest, in JSON, what the webhook would do to the object
// in an opted-in namespace, offline (INJECTION.md I15): a pod is injected, a
// workload's pod template too. It returns the manifest as it was where there
// is nothing to do, and the decision, whose Skip is empty for kinds without
// pods. Services are those that may select the pods.
func Inject(settings Settings, manifest []byte, services []Service) ([]byte, Decision, error) {
	document, err := decodeManifest(manifest)
	if err != nil {
		return nil, Decision{}, err
	}
	path, isPod := podPath(document)
	if path == "" && !isPod {
		return manifest, Decision{}, nil
	}
	ensureMetadata(document, path)
	copied, told, err := copyInto(document, path, services)
	if err != nil {
		return nil, Decision{}, err
	}
	var shape Shape
	if err := shapeAt(document, path, &shape); err != nil {
		return nil, Decision{}, err
	}
	judged := lent(document, path, shape)
	d := For(settings, namespaceOf(document), &judged)
	if d.Skip.Reason == Undeclared { // most likely by a key that is misspelt
		d = undeclared(&judged, d.Skip)
	}
	d.Told = append(told, d.Told...)
	if d.Injection == nil && !copied {
		return manifest, d, nil
	}
	if d.Injection != nil {
		if err := apply(document, Operations(path, &shape, d.Injection)); err != nil {
			return nil, Decision{}, err
		}
	}
	out, err := json.Marshal(document)
	if err != nil {
		return nil, Decision{}, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	return out, d, nil
}

// undeclared judges an object whose pods get nothing, as its own admission does.
func undeclared(pod *Shape, skip Skip) Decision {
	declared, problems := application.Parse(pod.Metadata.Labels, pod.Metadata.Annotations)
	if refused := application.Refusals(problems); refused != nil {
		return Decision{Refused: refused, Declared: declared}
	}
	return Decision{Skip: skip, Told: problems, Declared: declared}
}

// lent returns a template to be judged with what its workload declares and is not copied, and with the workload's name, which
// pods show.
func lent(document map[string]any, path string, shape Shape) Shape {
	if name, named := at(document, "/metadata/name").(string); named {
		shape.Metadata.Name = name
	}
	labels, _ := at(document, "/metadata/labels").(map[string]any)
	if path == "" || labels[application.KeyInject] == "false" {
		return shape
	}
	all := map[string]string{}
	own, _ := at(document, "/metadata/annotations").(map[string]any)
	for key, value := range own {
		if text, isText := value.(string); isText && application.Declares(key) && !application.OfPod(key, text) {
			all[key] = text
		}
	}
	maps.Copy(all, shape.Metadata.Annotations)
	shape.Metadata.Annotations = all
	return shape
}

// copyInto does what the workload's own admission does.
func copyInto(document map[string]any, path string, services []Service) (copied bool, told []application.Problem, err error) {
	if path == "" {
		return false, nil, nil
	}
	w := Workload{Path: path}
	if err := convert(document["metadata"], &w.Metadata); err != nil {
		return false, nil, err
	}
	if err := shapeAt(document, path, &w.Template); err != nil {
		return false, nil, err
	}
	_, operations, told := Copies(w, services)
	err = apply(document, operations)
	return len(operations) > 0, told, err
}

// podPath returns where the pod template of a document is; empty for a pod.
func podPath(document map[string]any) (path string, isPod bool) {
	switch document["kind"] {
	case "Pod":
		return "", true
	case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job":
		path = "/spec/template"
	case "CronJob":
		path = "/spec/jobTemplate/spec/template"
	default:
		return "", false
	}
	if _, ok := at(document, path).(map[string]any); !ok {
		return "", false
	}
	return path, false
}

func ensureMetadata(document map[string]any, path string) {
	if pod, ok := at(document, path).(map[string]any); ok && pod["metadata"] == nil {
		pod["metadata"] = map[string]any{}
	}
}

func namespaceOf(document map[string]any) string {
	namespace, _ := at(document, "/metadata/namespace").(string)
	return namespace
}

func shapeAt(document map[string]any, path string, shape *Shape) error {
	return convert(at(document, path), shape)
}

// convert reads a part of a document into what is known of it.
func convert(from, to any) error {
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrManifest, err)
	}
	return nil
}

// decodeManifest keeps numbers as they are written.
func decodeManifest(manifest []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(manifest))
	decoder.UseNumber()
	var document map[string]any
	if err := decoder.Decode(&document); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	if document == nil {
		return nil, fmt.Errorf("%w: it is null", ErrManifest)
	}
	return document, nil
}

// at returns the value at a pointer made of map keys; nil if there is none.
func at(document any, pointer string) any {
	if pointer == "" {
		return document
	}
	for key := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		m, ok := document.(map[string]any)
		if !ok {
			return nil
		}
		document = m[key]
	}
	return document
}

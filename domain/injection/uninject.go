package injection

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// Uninject takes out of a manifest, in JSON, what Inject put in, and what the
// webhook copied to a pod template (INJECTION.md I15). What is not injected is
// returned as it was. Lists and maps that become empty are left out.
func Uninject(manifest []byte) ([]byte, error) {
	document, err := decodeManifest(manifest)
	if err != nil {
		return nil, err
	}
	path, isPod := podPath(document)
	pod, ok := at(document, path).(map[string]any)
	if !ok || path == "" && !isPod {
		return manifest, nil
	}
	u := uninjector{pod: pod}
	u.spec, _ = pod["spec"].(map[string]any)
	if !u.injected() && !u.copied() {
		return manifest, nil
	}
	u.readRecord()
	if u.injected() {
		u.injectedBefore = true
		u.containers()
		u.lists()
	}
	u.metadata()
	if empty, _ := pod["metadata"].(map[string]any); len(empty) == 0 {
		delete(pod, "metadata")
	}
	out, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	return out, nil
}

type uninjector struct {
	pod, spec map[string]any
	record    Record
	// injectedBefore is set where the manifest had an agent.
	injectedBefore bool
}

func (u *uninjector) injected() bool {
	return slices.ContainsFunc(items(u.spec, "initContainers"), func(c map[string]any) bool { return c["name"] == AgentContainer })
}

func (u *uninjector) copied() bool {
	return at(u.pod, "/metadata/annotations") != nil && u.annotation(application.KeyCopied) != ""
}

func (u *uninjector) annotation(key string) string {
	annotations, _ := at(u.pod, "/metadata/annotations").(map[string]any)
	text, _ := annotations[key].(string)
	return text
}

// readRecord takes a record that cannot be read for none.
func (u *uninjector) readRecord() {
	if err := json.Unmarshal([]byte(u.annotation(application.KeyRecord)), &u.record); err != nil {
		u.record = Record{}
	}
}

// items returns the objects of a list.
func items(of map[string]any, key string) []map[string]any {
	list, _ := of[key].([]any)
	var objects []map[string]any
	for _, item := range list {
		if object, ok := item.(map[string]any); ok {
			objects = append(objects, object)
		}
	}
	return objects
}

// without deletes items of a list, and the list when none is left.
func without(of map[string]any, key string, drop func(item map[string]any, index int) bool) {
	list, ok := of[key].([]any)
	if !ok {
		return
	}
	kept := []any{}
	for i, item := range list {
		if object, ok := item.(map[string]any); !ok || !drop(object, i) {
			kept = append(kept, item)
		}
	}
	of[key] = kept
	if len(kept) == 0 {
		delete(of, key)
	}
}

func named(names ...string) func(map[string]any, int) bool {
	return func(item map[string]any, _ int) bool {
		name, _ := item["name"].(string)
		return slices.Contains(names, name)
	}
}

func (u *uninjector) containers() {
	for _, list := range []string{"initContainers", "containers"} {
		for _, c := range items(u.spec, list) {
			u.variables(c)
			without(c, "volumeMounts", named(volumeBindings, volumeTools, volumeRun))
		}
	}
	without(u.spec, "initContainers", named(append(containerNames(), u.record.InitContainers...)...))
}

// variables takes out ours, which are the first of the container's. Whether
// SERVICE_BINDING_ROOT was the author's is in the record.
func (u *uninjector) variables(c map[string]any) {
	name, _ := c["name"].(string)
	served := slices.ContainsFunc(items(c, "volumeMounts"), func(m map[string]any) bool { return m["name"] == volumeBindings })
	own := slices.Contains(u.record.Kept[name], bindingRoot)
	without(c, "env", func(v map[string]any, _ int) bool {
		if v["name"] == bindingRoot {
			return served && !own
		}
		source, _ := v["valueFrom"].(map[string]any)
		file, _ := source["fileKeyRef"].(map[string]any)
		return file != nil && file["volumeName"] == volumeRun
	})
}

func (u *uninjector) lists() {
	without(u.spec, "volumes", named(volumeNames()...))
	without(u.spec, "imagePullSecrets", named(u.record.ImagePullSecrets...))
}

func (u *uninjector) metadata() {
	metadata, _ := u.pod["metadata"].(map[string]any)
	if labels, ok := metadata["labels"].(map[string]any); ok {
		delete(labels, application.KeyInjected)
		dropEmpty(metadata, "labels", labels)
	}
	annotations, ok := metadata["annotations"].(map[string]any)
	if !ok {
		return
	}
	for key := range parseMarks(u.annotation(application.KeyCopied)) {
		delete(annotations, key)
	}
	delete(annotations, application.KeyCopied)
	delete(annotations, application.KeyStatus)
	delete(annotations, application.KeyRecord)
	if u.injectedBefore && !u.record.DefaultContainer && annotations[defaultKey] == u.firstContainer() {
		delete(annotations, defaultKey) // pods of releases that set none may have the author's, without a record
	}
	added := map[string][]string{evictKey: Options{Tools: true, Handlers: "/"}.localVolumes()}
	for _, key := range meshPortKeys() {
		added[key] = []string{agentPort}
	}
	for key, names := range added {
		if list := unmerged(u.annotation(key), names); list != "" {
			annotations[key] = list
		} else {
			delete(annotations, key)
		}
	}
	dropEmpty(metadata, "annotations", annotations)
}

// firstContainer returns what firstContainer of a Shape does.
func (u *uninjector) firstContainer() string {
	for _, c := range items(u.spec, "containers") {
		if name, _ := c["name"].(string); !meshContainer(name) {
			return name
		}
	}
	return ""
}

func dropEmpty(of map[string]any, key string, m map[string]any) {
	if len(m) == 0 {
		delete(of, key)
	}
}

// unmerged undoes merged.
func unmerged(list string, names []string) string {
	for _, name := range slices.Backward(names) {
		if list == name {
			return ""
		}
		list = strings.TrimSuffix(list, ","+name)
	}
	return list
}

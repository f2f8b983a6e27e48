package injection

import (
	"encoding/json"
	"strconv"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/jsonpatch"
)

// Operations writes an injection as steps that only add. A parent that is
// absent is added whole, and nothing is addressed that the pod's author wrote,
// so that fields newer than this program stay as they are, byte for byte
// (INJECTION.md I2). The paths begin with prefix: empty for a pod, the path of
// the template in a workload.
func Operations(prefix string, pod *Shape, injection *Injection) []jsonpatch.Operation {
	p := patch{prefix: prefix, operations: make([]jsonpatch.Operation, 0, 64)}
	if gate := injection.released; gate != nil {
		p.release(*gate, len(pod.Spec.InitContainers[gate.agent].Env))
		return p.operations
	}
	p.fields("/metadata/labels", pod.Metadata.Labels == nil, injection.labels)
	p.fields("/metadata/annotations", pod.Metadata.Annotations == nil, injection.annotations)
	volumes := make([]json.RawMessage, 0, len(injection.volumes))
	for _, v := range injection.volumes {
		volumes = append(volumes, json.RawMessage(v))
	}
	p.appends("/spec/volumes", len(pod.Spec.Volumes), volumes)
	secrets := make([]json.RawMessage, 0, len(injection.pullSecrets))
	for _, name := range injection.pullSecrets {
		secrets = append(secrets, json.RawMessage(`{"name":`+quote(name)+`}`))
	}
	p.appends("/spec/imagePullSecrets", len(pod.Spec.ImagePullSecrets), secrets)
	for _, t := range injection.targets {
		p.target(pod, t)
	}
	// The containers come last: they move the indices of those above.
	p.inserts("/spec/initContainers", len(pod.Spec.InitContainers), injection.at, injection.inserted)
	return p.operations
}

type patch struct {
	prefix     string
	operations []jsonpatch.Operation
}

func (p *patch) add(path string, value json.RawMessage) {
	p.operations = append(p.operations, jsonpatch.Operation{Op: "add", Path: p.prefix + path, Value: value})
}

// release opens the gate of an agent that has so many variables. To add a member that is there replaces it.
func (p *patch) release(gate released, have int) {
	path := "/spec/initContainers/" + strconv.Itoa(gate.agent) + "/env"
	if gate.variable >= 0 {
		p.add(path+"/"+strconv.Itoa(gate.variable)+"/value", json.RawMessage(quote(application.GateNone)))
		return
	}
	p.appends(path, have, []json.RawMessage{encode(ungatedEnv())})
}

// fields adds members to a map, or the map.
func (p *patch) fields(path string, absent bool, pairs []pair) {
	if !absent {
		for _, f := range pairs {
			p.add(path+"/"+jsonpatch.Pointer(f.key), json.RawMessage(quote(f.value)))
		}
		return
	}
	members := make(map[string]string, len(pairs))
	for _, f := range pairs {
		members[f.key] = f.value
	}
	p.add(path, encode(members))
}

// appends adds items at the end of a list, or the list.
func (p *patch) appends(path string, have int, items []json.RawMessage) {
	switch {
	case len(items) == 0:
	case have == 0:
		p.add(path, list(items))
	default:
		end := path + "/-"
		for _, item := range items {
			p.add(end, item)
		}
	}
}

// inserts adds items to a list before index at, or the list.
func (p *patch) inserts(path string, have, at int, items []json.RawMessage) {
	switch {
	case len(items) == 0:
	case have == 0:
		p.add(path, list(items))
	default:
		for i, item := range items {
			p.add(path+"/"+strconv.Itoa(at+i), item)
		}
	}
}

// target puts the variables first: $(NAME) in the author's own variables may
// use only those before.
func (p *patch) target(pod *Shape, t target) {
	containers := pod.Spec.Containers
	if t.list == "initContainers" {
		containers = pod.Spec.InitContainers
	}
	c := &containers[t.index]
	path := "/spec/" + t.list + "/" + strconv.Itoa(t.index)
	p.inserts(path+"/env", len(c.Env), 0, t.env)
	mounts := make([]json.RawMessage, 0, len(t.mounts))
	for _, m := range t.mounts {
		mounts = append(mounts, m.json())
	}
	p.appends(path+"/volumeMounts", len(c.VolumeMounts), mounts)
}

// json writes a mount of an author's container, by hand: there is one for each.
func (m mount) json() json.RawMessage {
	out := `{"name":"` + m.Name + `","mountPath":` + quote(m.MountPath)
	if m.SubPath != "" {
		out += `,"subPath":` + quote(m.SubPath)
	}
	return json.RawMessage(out + `,"readOnly":true}`)
}

func list(items []json.RawMessage) json.RawMessage {
	size := 2
	for _, item := range items {
		size += len(item) + 1
	}
	out := append(make([]byte, 0, size), '[')
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, item...)
	}
	return append(out, ']')
}

// encode writes what is made of text, numbers, lists and maps of them, which
// always can be written.
func encode(v any) json.RawMessage {
	encoded, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return encoded
}

func quote(text string) string { return string(jsonpatch.AppendString(nil, text)) }

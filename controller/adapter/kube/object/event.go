package object

import (
	"fmt"
	"hash/fnv"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// maxNote is the longest note that the API server takes.
const maxNote = 1024

// WriteEvent writes an Event: kind is Normal or Warning, action what Orcon was doing. The recorder takes
// two Events that differ in their note alone for one, and shows the older note: the action is made to
// tell them apart. A note of over 1024 bytes is cut.
func WriteEvent(recorder events.EventRecorder, about runtime.Object, kind, action, reason, note string) {
	note = condition.Cut(note, maxNote)
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(note))
	recorder.Eventf(about, nil, kind, reason, fmt.Sprintf("%s-%08x", action, sum.Sum32()), "%s", note)
}

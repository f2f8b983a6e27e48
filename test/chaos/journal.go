package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Journal judges what writers, readers and handlers report. Its faults are what the system under test did wrong. Methods
// may be called at any time.
type Journal struct {
	mu        sync.Mutex
	registers map[string]*register
	// living are the applications with data of a relation.
	living map[string]string
	ended  map[string]bool
	// heard are the ends that applications and units were told, told is how many of applications.
	heard  map[string]bool
	told   int
	faults []string
	// restoring is set while the store and its readers go back.
	restoring bool
}

// register is a value that one writer increments.
type register struct {
	attempted, acknowledged int
	// seen is the last value of each reader.
	seen map[string]int
}

// NewJournal returns an empty journal.
func NewJournal() *Journal {
	return &Journal{registers: map[string]*register{}, living: map[string]string{}, ended: map[string]bool{}, heard: map[string]bool{}}
}

// separator ends a register's name in a value.
const separator = "#"

func (j *Journal) register(name string) *register {
	r := j.registers[name]
	if r == nil {
		r = &register{seen: map[string]int{}}
		j.registers[name] = r
	}
	return r
}

// Attempt returns the next value of a register, to be written by its only writer.
func (j *Journal) Attempt(name string) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.register(name)
	r.attempted++
	return name + separator + strconv.Itoa(r.attempted)
}

// Acknowledged reports that the last attempt on a register was acknowledged.
func (j *Journal) Acknowledged(name string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.register(name)
	r.acknowledged = r.attempted
}

// Expect returns the last value of a register that was acknowledged; empty for none.
func (j *Journal) Expect(name string) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.register(name)
	if r.acknowledged == 0 {
		return ""
	}
	return name + separator + strconv.Itoa(r.acknowledged)
}

// Writes returns how many writes were acknowledged, at the least.
func (j *Journal) Writes() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := 0
	for _, r := range j.registers {
		all += r.acknowledged
	}
	return all
}

// Read judges a value that a reader found: it was written by a register that this reader may see, and is not older than
// what the same reader found before.
func (j *Journal) Read(reader, value, mayRead string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	name, number, ok := strings.Cut(value, separator)
	n, err := strconv.Atoi(number)
	r := j.registers[name]
	switch {
	case !ok || err != nil || r == nil || n > r.attempted:
		j.fault("%s read %q, which was never written", reader, value)
	case !strings.HasPrefix(name, mayRead):
		j.fault("%s read %q, which is of another tenant: it may read %q", reader, value, mayRead)
	case n < r.seen[reader] && !j.restoring:
		j.fault("%s read %q after %d", reader, value, r.seen[reader])
	default:
		r.seen[reader] = n
	}
}

// Restore reports that a restore of the store begins: until Restored, readers may go back.
func (j *Journal) Restore() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.restoring = true
}

// Restored reports that each reader equals the restored store. Relations that live in it have not ended.
func (j *Journal) Restored() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.restoring = false
	clear(j.ended)
	clear(j.heard)
	for _, r := range j.registers {
		clear(r.seen)
	}
}

// Told reports that a unit's handler was told of a relation, and that its application has data for it.
func (j *Journal) Told(application, unit, relation string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.heard[unit+" "+relation] && !j.restoring {
		j.fault("%s was told of relation %s after its end", unit, relation)
	}
	if side := application + " " + relation; !j.heard[side] || j.restoring {
		j.living[side] = relation
	}
}

// Ends reports that a person ends a relation.
func (j *Journal) Ends(relation string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ended[relation] = true
}

// Broken reports that a unit's handler was told that a relation has ended for good, and that the data is removed.
func (j *Journal) Broken(application, unit, relation string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.ended[relation] {
		j.fault("%s was told of the end of relation %s, which lives", unit, relation)
	}
	if side := application + " " + relation; !j.heard[side] {
		j.heard[side], j.told = true, j.told+1
		delete(j.living, side)
	}
	j.heard[unit+" "+relation] = true
}

// Owed lists the ends that applications with data of the relation have not been told.
func (j *Journal) Owed() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var owed []string
	for _, side := range slices.Sorted(maps.Keys(j.living)) {
		if j.ended[j.living[side]] {
			owed = append(owed, side)
		}
	}
	return owed
}

// Has reports whether the application has data of a relation.
func (j *Journal) Has(application, relation string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.living[application+" "+relation] != ""
}

// Heard returns how many ends applications were told.
func (j *Journal) Heard() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.told
}

// Fault reports what was wrong.
func (j *Journal) Fault(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.fault(format, args...)
}

// Faults returns what was wrong.
func (j *Journal) Faults() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.faults)
}

// fault keeps the first of many.
func (j *Journal) fault(format string, args ...any) {
	if len(j.faults) < 20 {
		j.faults = append(j.faults, fmt.Sprintf(format, args...))
	}
}

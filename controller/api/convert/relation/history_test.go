package relation

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/history"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// A commit writes the record of its bag again. Zipped it is smaller than its last 32 entries as plain JSON,
// until a bag has had some eighty commits.
func TestRecordIsSmall(t *testing.T) {
	const entries = 32
	b := v1alpha1.Databag{Spec: ForBag(relation.Databag{Application: "db", Endpoint: "main", Relation: "0b0c7c0e-6f1e-4f0e-9d61-6a2d0f2f7a10", Unit: "3"})}
	now := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	sizes := map[int][2]int{}
	for i := 1; i <= history.MaxEntries; i++ {
		data := map[string]string{"host": "db.shop.svc", "port": "5432", "state": databag.Version(map[string]string{"i": fmt.Sprint(i)})[:32]}
		now = now.Add(time.Duration(i*i) * time.Second)
		SetData(&b, history.Entry{Who: "db/3", Cause: "main-relation-changed (web/0)"}, data, nil, now)
		record, err := ToHistory(&b)
		require.NoError(t, err)
		last := record.Entries[max(0, len(record.Entries)-entries):]
		for i := range last {
			last[i].Address = conversation.Address{} // the spec has it
		}
		plain, err := json.Marshal(last)
		require.NoError(t, err)
		stored, err := json.Marshal(b.State.Record)
		require.NoError(t, err)
		sizes[i] = [2]int{len(stored), len(plain)}
	}
	for _, commits := range []int{2, 8, entries, 2 * entries, history.MaxEntries} {
		t.Logf("%3d commits: zipped %d bytes, the last %d plain %d bytes", commits, sizes[commits][0], entries, sizes[commits][1])
	}
	for commits := 2; commits <= 2*entries; commits++ {
		assert.Less(t, sizes[commits][0], sizes[commits][1], "%d commits", commits)
	}
}

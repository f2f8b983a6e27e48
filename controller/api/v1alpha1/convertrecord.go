package v1alpha1

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// Commit writes a content into the status, and into its record who said it and why,
// without the values of secret fields. Both go by one write, so that a bag and its
// record cannot differ. A record that cannot be read begins anew.
func (b *Databag) Commit(said conversation.Entry, data map[string]string, secret []string, now time.Time) {
	said.Address, said.Time = b.Address(), now
	record, err := b.RecordToDomain()
	if err != nil {
		record.Entries = nil
	}
	b.setRecord(record.Append(said, b.Status.Data, data, secret))
	b.Status.ObservedGeneration = b.Generation
	b.Status.Data = maps.Clone(data)
	b.Status.Version = databag.Version(data)
	stored := condition.Settled("Stored", "the content is stored")
	b.Status.Conditions = setConditions(b.Status.Conditions, stored, b.Generation, now)
}

// Address returns whose bag it is, and of which relation.
func (b *Databag) Address() conversation.Address {
	return relation.Databag{Application: b.Spec.Application, Relation: b.Spec.Relation, Unit: b.Spec.Unit}.Address()
}

// RecordToDomain returns the record as the domain knows it. It fails where somebody
// else has written it; the number of commits is then all that is known.
func (b *Databag) RecordToDomain() (conversation.Record, error) {
	r := conversation.Record{Commits: b.Status.Commits}
	lines, err := unzipped(b.Status.Record)
	if err != nil {
		return r, fmt.Errorf("cannot read the record of databag %s: %w", b.Name, err)
	}
	entries, err := conversation.ParseEntries(lines)
	if err != nil {
		return r, fmt.Errorf("databag %s: %w", b.Name, err)
	}
	for i := range entries {
		entries[i].Address = b.Address()
	}
	r.Entries = entries
	return r, nil
}

// setRecord writes the record into the status. Whose bag it is stands in the spec. What
// JSON cannot say, a time after the year 9999, leaves it empty.
func (b *Databag) setRecord(r conversation.Record) {
	entries := slices.Clone(r.Entries)
	for i := range entries {
		entries[i].Address = conversation.Address{}
	}
	lines, err := conversation.EncodeEntries(entries)
	if err != nil {
		lines = nil
	}
	b.Status.Commits, b.Status.Record = r.Commits, zipped(lines)
}

// maxRecord is how much of a record is read, in bytes: none that was written here is
// as large.
const maxRecord = 1 << 20

// zipped makes a record a fifth of its size: the API server and etcd handle all of it
// in each write of the bag.
func zipped(lines []byte) []byte {
	if len(lines) == 0 {
		return nil
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil // it is a level that there is
	}
	_, _ = w.Write(lines) // a buffer takes all
	_ = w.Close()
	return out.Bytes()
}

func unzipped(record []byte) ([]byte, error) {
	if len(record) == 0 {
		return nil, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(record))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, maxRecord))
}

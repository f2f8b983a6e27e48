package relation

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/history"
)

// ToHistory returns the commits of a databag; with an error, for a record that Orcon did not write,
// their number.
func ToHistory(b *v1alpha1.Databag) (history.Log, error) {
	r := history.Log{Commits: b.State.Commits}
	lines, err := unzipped(b.State.Record)
	if err != nil {
		return r, fmt.Errorf("cannot read the record of databag %s: %w", b.Name, err)
	}
	entries, err := history.Parse(lines)
	if err != nil {
		return r, fmt.Errorf("databag %s: %w", b.Name, err)
	}
	for i := range entries {
		entries[i].Address = ToAddress(b)
	}
	r.Entries = entries
	return r, nil
}

// setHistory writes the commits into the state, without the address that the spec has. It writes none
// if JSON cannot hold them (a time after the year 9999).
func setHistory(b *v1alpha1.Databag, r history.Log) {
	entries := slices.Clone(r.Entries)
	for i := range entries {
		entries[i].Address = conversation.Address{}
	}
	lines, err := history.Encode(entries)
	if err != nil {
		lines = nil
	}
	b.State.Commits, b.State.Record = r.Commits, zipped(lines)
}

// maxHistory is how many bytes of a record are read. Orcon writes fewer.
const maxHistory = 1 << 20

// zipped returns a record in a fifth of its size: the API server and etcd handle all of it in each
// write of the bag.
func zipped(lines []byte) []byte {
	if len(lines) == 0 {
		return nil
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil // the level is valid
	}
	_, _ = w.Write(lines) // a buffer never fails
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
	return io.ReadAll(io.LimitReader(r, maxHistory))
}

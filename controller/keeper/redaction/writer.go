package redaction

import (
	"io"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/redact"
)

// Writer writes an output without the values of secrets.
type Writer struct {
	To      io.WriteCloser
	Secrets *Folder

	stream redact.Stream
}

// Write implements io.Writer. It keeps back an end that may be the beginning of a value.
func (w *Writer) Write(p []byte) (int, error) {
	_, err := w.To.Write(w.stream.Next(w.values(), p, false))
	return len(p), err
}

// Close writes what was kept back, and closes the output.
func (w *Writer) Close() error {
	if _, err := w.To.Write(w.stream.Next(w.values(), nil, true)); err != nil {
		return err
	}
	return w.To.Close()
}

// values returns the values that are known: an output is never blocked.
func (w *Writer) values() *redact.Values {
	values, err := w.Secrets.Values()
	if err != nil {
		glog.Error(err)
	}
	return values
}

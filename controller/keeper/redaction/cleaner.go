package redaction

import (
	"io"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/redact"
)

// Cleaner writes an output without the values of secrets.
type Cleaner struct {
	To      io.WriteCloser
	Secrets *Mounted

	stream redact.Stream
}

// Write implements io.Writer. It keeps back an end that may be the beginning of a value.
func (c *Cleaner) Write(p []byte) (int, error) {
	_, err := c.To.Write(c.stream.Next(c.values(), p, false))
	return len(p), err
}

// Close writes what was kept back, and closes the output.
func (c *Cleaner) Close() error {
	if _, err := c.To.Write(c.stream.Next(c.values(), nil, true)); err != nil {
		return err
	}
	return c.To.Close()
}

// values returns the values that are known: an output is never blocked.
func (c *Cleaner) values() *redact.Values {
	values, err := c.Secrets.Values()
	if err != nil {
		glog.Error(err)
	}
	return values
}

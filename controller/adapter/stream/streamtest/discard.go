package streamtest

import (
	"io"
	"log" //nolint:depguard // net/http wants one
)

// discard returns a logger for what a server says of clients that leave.
func discard() *log.Logger { return log.New(io.Discard, "", 0) }

package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/destination"
)

// Error is the text of an error about an answer, which it does not quote.
type Error string

// Error returns the text.
func (e Error) Error() string { return string(e) }

const (
	errAnswer      Error = "the server's answer is not HTTP: check the scheme and the port of the address"
	errCertificate Error = "the server's certificate is not trusted, or not valid for the host: add ca.crt to the credentials, or check " +
		"the address"
)

// Failure returns the part of an error that quotes no answer of a server; nil if it has none. Errors of
// net/http quote lines of an answer, and the address that a redirect leads to.
func Failure(err error) error {
	if refused, ok := errors.AsType[*destination.RefusedError](err); ok {
		return refused
	}
	if own, ok := errors.AsType[Error](err); ok {
		return own
	}
	if system, ok := errors.AsType[*net.OpError](err); ok {
		return system
	}
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		return name
	}
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, io.ErrUnexpectedEOF, io.EOF} {
		if errors.Is(err, known) {
			return known
		}
	}
	return nil
}

// quiet returns the error of a request without its answer.
func quiet(err error) error {
	if err == nil {
		return nil
	}
	if failure := Failure(err); failure != nil {
		return failure
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return errCertificate
	}
	return errAnswer
}

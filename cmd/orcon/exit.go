package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// The exit codes of all commands.
const (
	exitFailed      = 1   // the command worked, and its answer is no
	exitMisuse      = 2   // the command failed
	exitInterrupted = 130 // the user interrupted it
)

// The further exit codes of the commands that change a cluster.
const (
	exitTimeout  = 3
	exitConflict = 4
)

// codeError is an error with an exit code of its own.
type codeError struct {
	error

	code int
}

// Unwrap returns the error.
func (e codeError) Unwrap() error { return e.error }

// failedError is an answer that is no.
type failedError struct{ error }

// Unwrap returns the answer.
func (e failedError) Unwrap() error { return e.error }

// silentError ends a command with a code and without a message: its output is the message.
type silentError int

// Error implements error.
func (e silentError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// interrupted is the error of work that ended because the user interrupted it; stands says what is
// done, and how to go on.
func interrupted(stands string) error {
	return codeError{fmt.Errorf("interrupted: %s", stands), exitInterrupted}
}

// explain returns the message and the exit code of an error.
func explain(ctx context.Context, err error) (string, int) {
	if silent, ok := errors.AsType[silentError](err); ok {
		return "", int(silent)
	}
	if coded, ok := errors.AsType[codeError](err); ok {
		return coded.Error() + cure(err), coded.code
	}
	if ctx.Err() != nil {
		return "interrupted", exitInterrupted
	}
	if _, failed := errors.AsType[failedError](err); failed {
		return err.Error(), exitFailed
	}
	return err.Error() + cure(err), exitMisuse
}

// sourceError is an error of fetching a bundle: it says nothing about the cluster.
type sourceError struct{ error }

// Unwrap returns the error.
func (e sourceError) Unwrap() error { return e.error }

// cure returns what helps against an error of the way to the cluster, as a second line; empty
// where the error itself says it.
func cure(err error) string {
	_, unknownAuthority := errors.AsType[x509.UnknownAuthorityError](err)
	_, wrongName := errors.AsType[x509.HostnameError](err)
	dns, noName := errors.AsType[*net.DNSError](err)
	dial, noDial := errors.AsType[*net.OpError](err)
	_, ofSource := errors.AsType[sourceError](err)
	switch {
	case ofSource:
		return ""
	case apierrors.IsUnauthorized(err):
		return "\nThe API server refuses your credentials: log in again, or choose another context with --context (kubectl config get-contexts)."
	case unlisted(err):
		return "\nThe API server lists no kinds for you, as for a user that it does not know: log in again, or choose another context with " +
			"--context (kubectl config get-contexts)."
	case unknownAuthority, wrongName:
		return "\nThe API server's certificate does not fit the kubeconfig: get a new kubeconfig of this cluster, or correct " +
			"certificate-authority-data."
	case noName:
		return fmt.Sprintf("\nThe host name %s of the API server is not known: correct \"server\" in the kubeconfig, or connect to its "+
			"network.", dns.Name)
	case noDial && dial.Op == "dial":
		return fmt.Sprintf("\nNo API server answers at %s: start the cluster, or choose another context with --context (kubectl config "+
			"get-contexts).", dial.Addr)
	}
	return ""
}

// unlisted reports that the API server refuses to list its kinds, which it does for each user that it knows.
func unlisted(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsForbidden(err) {
		return false
	}
	message := status.ErrStatus.Message // client-go does not read the one of a list of groups
	return message == "unknown" || strings.Contains(message, `cannot get path "/api`)
}

package oci

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/egress"
)

// errAnswer stands for errors that quote a manifest.
var errAnswer = errors.New("the registry's answer is damaged, or does not match the reference: check the reference")

// failure returns why a registry gave no image. It quotes no answer, as the library's errors
// do.
func failure(err error) error {
	if known := known(err); known != nil {
		return known
	}
	return errAnswer
}

// known returns the error without the answer, with the cure; nil if it is of another kind.
func known(err error) error {
	answer, ok := errors.AsType[*transport.Error](err)
	if !ok {
		return egress.Failure(err)
	}
	cure := ""
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		cure = ": use credentials that can read it"
	case http.StatusNotFound:
		cure = ": check the reference"
	}
	return fmt.Errorf("the registry answered %d %s%s", answer.StatusCode, http.StatusText(answer.StatusCode), cure)
}

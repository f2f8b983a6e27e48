package job

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// TooLarge reports whether the API server, or its store, refuses an object for its size: it does so each time.
func TooLarge(err error) bool {
	return err != nil && (apierrors.IsRequestEntityTooLargeError(err) || strings.Contains(err.Error(), "request is too large"))
}

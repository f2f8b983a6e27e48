package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
)

// operation is one of a JSON Patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// still returns the operation that has the API server refuse a patch unless an object still has a version. That is its
// resourceVersion, or its state as JSON, which other writes leave as it is.
func still(version string) operation {
	if strings.HasPrefix(version, "{") {
		return operation{"test", "/state", json.RawMessage(version)}
	}
	return operation{"replace", "/metadata/resourceVersion", version}
}

// write writes the state of an object as a whole, by one conditional write: the API server refuses it if the object has
// another version, or is another one with the same name. The error is serve.ErrMoved then.
func write(ctx context.Context, writer client.Writer, o client.Object, kind, uid, version string, state any) error {
	name, same := kind+" "+client.ObjectKeyFromObject(o).String(), still(version)
	patch, err := json.Marshal([]operation{
		{"replace", "/metadata/uid", uid}, same, {"add", "/state", state},
	})
	if err == nil {
		err = writer.Patch(ctx, o, client.RawPatch(types.JSONPatchType, patch))
	}
	switch {
	case apierrors.IsConflict(err), apierrors.IsInvalid(err) && same.Op == "test":
		return fmt.Errorf("cannot write the state of %s: %w", name, serve.ErrMoved)
	case err != nil:
		return fmt.Errorf("cannot write the state of %s: %w", name, err)
	}
	return nil
}

package serve

import (
	"context"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// ExtentOf returns how far the store reaches, as requests find it.
func ExtentOf(ctx context.Context, a *API, uid string, w workspace.Workspace) (workspace.Extent, error) {
	return a.extent(ctx, uid, w)
}

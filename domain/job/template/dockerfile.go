package template

import (
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// Dockerfile returns what an engine would build the image of a version from, beside the content, for review: Orcon
// appends the layer by itself (JOBS.md J16).
func (v Version) Dockerfile() string {
	return fmt.Sprintf("# Template %s of type %s; content %s.\nFROM %s\nCOPY . %s/\nWORKDIR %s\nUSER %d:%[7]d\n",
		v.Template, v.Type, v.Content, v.Base, v.Path, contract.Work, contract.User)
}

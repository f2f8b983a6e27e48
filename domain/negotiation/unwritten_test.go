package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// TRUST.md U2: files that an agent cannot write are a condition of its application, which goes by itself.
func TestFilesNotWritten(t *testing.T) {
	w := newWorld()
	w.external("db", "main:pg")
	w.consumes("web", "store:pg", "db")
	w.pod(application.Deployment, "web", "web-0")
	w.settle(t)
	assert.Zero(t, w.says("web", condition.AgentFailed))
	record := w.records["web"]
	record.State.Units[0].Unwritten = status.Unwritten{Text: "cannot write bindings store: no space left on device", Since: w.now}
	w.records["web"] = record
	w.settle(t)
	c := w.says("web", condition.AgentFailed)
	assert.Equal(t, "FilesNotWritten", c.Reason)
	assert.Equal(t, "the agent of pod web-0 cannot write files, and its containers have older ones: "+
		"cannot write bindings store: no space left on device", c.Message)
	w.later(t, 2*time.Minute)
	assert.Zero(t, w.says("web", condition.AgentFailed), "it is over, or it would have been reported again")
}

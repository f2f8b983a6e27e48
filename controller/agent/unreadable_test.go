package agent

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// refuses is a controller that cannot read one secret.
type refuses struct {
	*controller

	id  string
	why error
}

func (r refuses) GetSecret(ctx context.Context, request *wire.GetSecretRequest) (*wire.GetSecretResponse, error) {
	if request.GetId() == r.id {
		return nil, r.why
	}
	return r.controller.GetSecret(ctx, request)
}

// A granted Secret that cannot be read holds up nothing but its own relation: the gate opens with the others
// (RELATIONS.md "Start gate", SAFETY.md S1).
func TestOneUnreadableSecretHoldsUpNoOther(t *testing.T) {
	for name, why := range map[string]error{
		"Refused":    &conversation.Error{Kind: conversation.Forbidden, Message: "cannot read it", Cure: "ask for it"},
		"Unanswered": errors.New("the API server did not answer"),
	} {
		t.Run(name, func(t *testing.T) {
			const other = "d7c0fk2t7m0q3v8x1z5d"
			v := newVolumes(t, t.TempDir())
			a := New(settings(t, "db:pg,mail:smtp?", ""), v.disk(), refuses{&controller{content: adminContent("hunter2")}, other, why}, nil)
			a.Start()
			snapshot := grants(1, 1)
			snapshot.Relations = append([]*wire.Relation{{
				Id: 3, Uid: "uid-3", Endpoint: "mail", Interface: "smtp", RemoteApplication: "mx", RemoteNamespace: "shop", Complete: true,
				Bag: &wire.Databag{Data: map[string]string{"host": "mx"}}, Granted: &wire.GrantedSecret{Id: other, Revision: 1},
			}}, snapshot.Relations...)
			hear(a, snapshot)
			assert.True(t, a.isOpen())
			assert.Equal(t, grantedFiles("hunter2"), v.tree(t)["db"])
			assert.NotContains(t, v.tree(t), "mail")
		})
	}
}

// outed is a controller whose API server does not answer until the outage is over.
type outed struct {
	*controller

	over atomic.Bool
}

func (o *outed) GetSecret(ctx context.Context, request *wire.GetSecretRequest) (*wire.GetSecretResponse, error) {
	if !o.over.Load() {
		return nil, errors.New("the API server did not answer")
	}
	return o.controller.GetSecret(ctx, request)
}

// After an outage of the API server, however long, a granted Secret is read within 10 s: a pod may wait for it (I16).
func TestGrantedSecretAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVolumes(t, t.TempDir())
		c := &outed{controller: &controller{content: adminContent("hunter2")}}
		a := New(settings(t, "db:pg", ""), v.disk(), c, nil)
		a.Start()
		hear(a, grants(1, 1))
		pass(10 * time.Minute)
		assert.False(t, a.isOpen())
		c.over.Store(true)
		pass(outage)
		assert.True(t, a.isOpen())
	})
}

package bundle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

func TestApprove(t *testing.T) {
	p := draft(t, nil, nil, object("Service web"))
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	mine := bundle.Approval{PlanDigest: p.Digest, By: "eve"}
	late := mine
	late.Expires = now
	tests := map[string]struct {
		why       string
		gate      bundle.Gate
		approvals []bundle.Approval
		reason    bundle.Reason
		message   string
	}{
		"Auto":      {why: "the default"},
		"Nobody":    {why: "each digest wants a word", gate: bundle.Gate{Mode: bundle.ByDigest}, reason: bundle.Unapproved, message: "plan " + p.Digest[:12] + " is not approved yet"},
		"Somebody":  {why: "it is given", gate: bundle.Gate{Mode: bundle.ByDigest}, approvals: []bundle.Approval{mine}},
		"Other":     {why: "to another plan", gate: bundle.Gate{Mode: bundle.ByDigest}, approvals: []bundle.Approval{{PlanDigest: "x", By: "eve"}}, reason: bundle.Unapproved, message: `the Approval by "eve" is for another plan`},
		"Expired":   {why: "too long ago", gate: bundle.Gate{Mode: bundle.ByDigest, Now: now}, approvals: []bundle.Approval{late}, reason: bundle.Unapproved, message: "has expired"},
		"InTime":    {why: "just in time", gate: bundle.Gate{Mode: bundle.ByDigest, Now: now.Add(-1)}, approvals: []bundle.Approval{late}},
		"TwoEyes":   {why: "who asks does not answer", gate: bundle.Gate{Mode: bundle.ByDigest, FourEyes: true, Requester: "eve"}, approvals: []bundle.Approval{mine}, reason: bundle.Unapproved, message: "must come from another person"},
		"FourEyes":  {why: "another does", gate: bundle.Gate{Mode: bundle.ByDigest, FourEyes: true, Requester: "adam"}, approvals: []bundle.Approval{mine}},
		"Unknown":   {why: "the requester may be anybody", gate: bundle.Gate{Mode: bundle.ByDigest, FourEyes: true}, approvals: []bundle.Approval{mine}, reason: bundle.Unapproved, message: "annotation orcon.tengu.io/requester"},
		"Policy":    {why: "the rule allows it", gate: bundle.Gate{Mode: bundle.ByPolicy}},
		"Refused":   {why: "the rule does not", gate: bundle.Gate{Mode: bundle.ByPolicy, Refused: "no deletions on Fridays"}, reason: bundle.Refused, message: "no deletions on Fridays"},
		"Overruled": {why: "a person does", gate: bundle.Gate{Mode: bundle.ByPolicy, Refused: "no deletions on Fridays"}, approvals: []bundle.Approval{mine}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := bundle.Approve(p, tc.gate, tc.approvals)
			if tc.reason == "" {
				require.NoError(t, err, tc.why)
				return
			}
			var refused *bundle.RefusedError
			require.ErrorAs(t, err, &refused, tc.why)
			assert.Equal(t, tc.reason, refused.Reason, tc.why)
			assert.ErrorContains(t, err, tc.message)
		})
	}
}

// TRUST.md R2: a deployment is never less strict than its namespace.
func TestGateWithin(t *testing.T) {
	digest, forbid := map[string]string{bundle.ApprovalKey: "Digest"}, map[string]string{bundle.SelfApprovalKey: "Forbid"}
	tests := map[string]struct {
		why       string
		gate      bundle.Gate
		namespace map[string]string
		want      bundle.Gate
	}{
		"Free":   {why: "the namespace requires nothing", gate: bundle.Gate{Mode: bundle.ByPolicy}, want: bundle.Gate{Mode: bundle.ByPolicy}},
		"Auto":   {why: "that is the least", gate: bundle.Gate{Mode: bundle.ByPolicy}, namespace: map[string]string{bundle.ApprovalKey: "Auto"}, want: bundle.Gate{Mode: bundle.ByPolicy}},
		"Digest": {why: "a deployment that approves itself", namespace: digest, want: bundle.Gate{Mode: bundle.ByDigest}},
		"Policy": {why: "its rules are the deployment's own", gate: bundle.Gate{Mode: bundle.ByPolicy}, namespace: digest, want: bundle.Gate{Mode: bundle.ByDigest}},
		"Forbid": {why: "another person approves", gate: bundle.Gate{Mode: bundle.ByDigest}, namespace: forbid, want: bundle.Gate{Mode: bundle.ByDigest, FourEyes: true}},
		"Allow":  {why: "a deployment may require more", gate: bundle.Gate{FourEyes: true}, namespace: map[string]string{bundle.SelfApprovalKey: "Allow"}, want: bundle.Gate{FourEyes: true}},
		"Mistype": {
			why: "what is unknown is strict", namespace: map[string]string{bundle.ApprovalKey: "digest", bundle.SelfApprovalKey: ""},
			want: bundle.Gate{Mode: bundle.ByDigest, FourEyes: true},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, tc.gate.Within(tc.namespace), tc.why) })
	}
}

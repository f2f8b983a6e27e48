package bundledeployment

import (
	"context"
	"slices"

	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// witnessed is a store whose revisions are carried out only as BundleRevisions confirm them: users who
// may write the Secrets of a record cannot write those (TRUST.md R2).
type witnessed struct {
	Store

	revisions revisions
}

// Load implements bundle.Store.
func (s witnessed) Load(ctx context.Context) (domain.Record, error) {
	r, err := s.Store.Load(ctx)
	if err != nil {
		return r, err
	}
	known, err := s.revisions.published(ctx)
	return domain.Distrust(r, func(v domain.Revision) bool {
		return known[v.Number].begun && known[v.Number].planDigest == v.PlanDigest
	}), err
}

// Save implements bundle.Store. The BundleRevision of a revision that begins is written before the
// record.
func (s witnessed) Save(ctx context.Context, r domain.Record, content *domain.Plan) error {
	begun := map[int]bool{}
	for _, v := range s.revisions.engine.Record().Revisions {
		begun[v.Number] = v.Begun
	}
	for _, v := range r.Revisions {
		if !v.Begun || begun[v.Number] {
			continue
		}
		of := content
		if v.Number != r.Last().Number {
			of = nil
		}
		if err := s.witness(ctx, v, of); err != nil {
			return err
		}
	}
	return s.Store.Save(ctx, r, content)
}

// witness writes the BundleRevision of a revision that begins. One that an interrupted process left
// under its number may be about another plan.
func (s witnessed) witness(ctx context.Context, v domain.Revision, content *domain.Plan) error {
	contents := s.Contents(v.Number)
	if content != nil {
		var err error
		if contents, err = s.Stage(ctx, *content); err != nil {
			return err
		}
	}
	known, there := s.revisions.memory.revisions[v.Number]
	if there && (known.planDigest != v.PlanDigest || !slices.Equal(known.contents, contents)) {
		if err := s.revisions.withdraw(ctx, v.Number); err != nil {
			return err
		}
	}
	return s.revisions.publishOne(ctx, v, content, contents)
}

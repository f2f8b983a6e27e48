package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	slsa "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
)

// provenanceFile is the name of the file that describes where the files of a release come from.
const provenanceFile = "provenance.intoto.json"

// builderID identifies this builder in a provenance, and the parameters that it takes.
const builderID = "https://gitlab.ilabt.imec.be/tengu/orcon/build/image"

// provenance writes, as an in-toto statement with an SLSA predicate, the digest of each file of the release and what
// it was built from. It has no times, so that equal sources give equal bytes, and no signature: that is left to the
// user who publishes it.
func (r *release) provenance(ctx context.Context) error {
	files, err := subjects(r.into)
	if err != nil {
		return err
	}
	statement, err := r.statement(ctx, files)
	if err != nil {
		return fmt.Errorf("cannot describe the provenance: %w", err)
	}
	text, err := protojson.Marshal(statement)
	if err != nil {
		return fmt.Errorf("cannot write the provenance: %w", err)
	}
	var lines bytes.Buffer // protojson varies its white space
	if err := json.Indent(&lines, text, "", "  "); err != nil {
		return fmt.Errorf("cannot write the provenance: %w", err)
	}
	return r.write(provenanceFile, append(lines.Bytes(), '\n'))
}

// subjects lists the files of a release with their digests.
func subjects(folder string) ([]*intoto.ResourceDescriptor, error) {
	entries, err := filesIn(folder, "")
	if err != nil {
		return nil, fmt.Errorf("cannot describe the provenance: %w", err)
	}
	var all []*intoto.ResourceDescriptor
	for _, e := range entries {
		content, err := os.ReadFile(e.file)
		if err != nil {
			return nil, fmt.Errorf("cannot describe the provenance: %w", err)
		}
		all = append(all, &intoto.ResourceDescriptor{
			Name: e.name, Digest: map[string]string{"sha256": fmt.Sprintf("%x", sha256.Sum256(content))},
		})
	}
	return all, nil
}

func (r *release) statement(ctx context.Context, subjects []*intoto.ResourceDescriptor) (*intoto.Statement, error) {
	var built []string
	for _, p := range r.platforms {
		built = append(built, p.String())
	}
	parameters, err := structpb.NewStruct(map[string]any{
		"version": r.src.Stamp, "platforms": strings.Join(built, ","), "programs": strings.Join(r.o.names, ","), "registry": r.o.registry,
	})
	if err != nil {
		return nil, err
	}
	p := &slsa.Provenance{
		BuildDefinition: &slsa.BuildDefinition{
			BuildType: builderID + "@v1", ExternalParameters: parameters, ResolvedDependencies: dependencies(ctx, r.src.Root),
		},
		RunDetails: &slsa.RunDetails{Builder: &slsa.Builder{Id: builderID}},
	}
	text, err := protojson.Marshal(p)
	if err != nil {
		return nil, err
	}
	predicate := &structpb.Struct{}
	if err := protojson.Unmarshal(text, predicate); err != nil {
		return nil, err
	}
	statement := &intoto.Statement{
		Type: intoto.StatementTypeUri, Subject: subjects, PredicateType: "https://slsa.dev/provenance/v1", Predicate: predicate,
	}
	return statement, statement.Validate()
}

// dependencies lists the sources and the toolchain. The modules are in the bills of materials.
func dependencies(ctx context.Context, root string) []*intoto.ResourceDescriptor {
	all := []*intoto.ResourceDescriptor{{Name: "go", Uri: "https://go.dev/dl/" + runtime.Version()}}
	cmd := exec.CommandContext(ctx, "git", "rev-parse", "HEAD")
	cmd.Dir = root
	commit, err := cmd.Output()
	if err != nil {
		return all // sources without a history
	}
	return append(all, &intoto.ResourceDescriptor{
		Name: "sources", Uri: "git+https://gitlab.ilabt.imec.be/tengu/orcon",
		Digest: map[string]string{"gitCommit": strings.TrimSpace(string(commit))},
	})
}

package run

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/tooltype"
)

// Contract is the version of the runner contract that this version of Orcon speaks.
const Contract = "v1"

// Input is everything that decides what a Run does. It is frozen when the Run is created, and kept with the state, so
// that a destroy run needs no sources (JOBS.md J18).
type Input struct {
	// Type is that of the template.
	Type   tooltype.Type `json:"type,omitempty"`
	Action string        `json:"action"`
	// Safety is that of the template: a Workspace may name another one when the Run is admitted.
	Safety job.Safety `json:"safety"`
	Artifact
	Entrypoint []string `json:"entrypoint"`
	Args       []string `json:"args"`
	Contract   string   `json:"contract"`
	// Parameters are the values; a sensitive one is the path of its file.
	Parameters map[string]any    `json:"parameters"`
	Env        map[string]string `json:"env"`
	Files
	Surroundings
	Steps
}

// Action is a way to run a template.
type Action struct {
	Entrypoint []string `json:"entrypoint"`
	Args       []string `json:"args"`
}

// Steps link a Run with others of its Workspace.
type Steps struct {
	// Destroy is the command of action destroy, for the deletion of the Workspace; it is empty if there is none.
	Destroy Action `json:"destroy"`
	// Planned is the command of the action that the action plans; it is empty for an action that plans none.
	Planned Action `json:"planned,omitzero"`
	// Plan is the digest of the plan that is applied; "" for none.
	Plan string `json:"plan,omitempty"`
}

// Artifact holds the program of a run.
type Artifact struct {
	// Image is by digest.
	Image string `json:"image"`
	// Content is a digest: the keeper copies it into the working directory. "" is for a program whose image has it.
	Content string `json:"content,omitempty"`
}

// Files tells which files of a run are kept, and which come back.
type Files struct {
	// Exclude are patterns of files that do not belong to the state; Rescue of files of the working directory that do.
	Exclude []string `json:"exclude"`
	Rescue  []string `json:"rescue"`
	// RestoreLogs has the log files of the last run restored.
	RestoreLogs bool `json:"restoreLogs,omitempty"`
}

// Surroundings hold the place of a run and the names of its secrets.
type Surroundings struct {
	Confidential
	// Target is the node that carries the Run out; the zero value is the cluster.
	Target node.Selection `json:"target,omitzero"`
}

// Destroy is the name of the action that removes what a Workspace has made.
const Destroy = "destroy"

// Undo returns the input of a destroy run after a run with this input (JOBS.md J18).
func (i Input) Undo() (Input, error) {
	if len(i.Destroy.Entrypoint) == 0 {
		return Input{}, errors.New("the template of the last run has no action destroy: set spec.deletionPolicy of the JobWorkspace to Retain")
	}
	i.Action, i.Entrypoint, i.Args = Destroy, i.Destroy.Entrypoint, i.Destroy.Args
	i.Planned, i.Plan = Action{}, ""
	return i, nil
}

// Digest returns "sha256:" and 64 hexadecimal digits, which are equal exactly for equal inputs.
func (i Input) Digest() (string, error) {
	text, err := json.Marshal(i) // keys of maps are sorted
	if err != nil {
		return "", fmt.Errorf("cannot freeze the input: %w", err)
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(text)), nil
}

package template

import (
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/tooltype"
)

// Level holds what a type and a template may both give.
type Level struct {
	Parameters, Outputs Signature
	Actions             map[string]run.Action
	Env                 map[string]string
	run.Files
}

// Mode tells how content reaches the runs of a template.
type Mode string

// The modes.
const (
	// InImage makes content a layer over the image of the type, in an image of each version.
	InImage Mode = ""
	// AdHoc has content copied into the working directory of each run.
	AdHoc Mode = "adHoc"
)

// Type describes a base that templates are made from.
type Type struct {
	Name string
	Tool tooltype.Type
	// Image is the base image, by digest.
	Image    string
	Contract string
	Safety   job.Safety
	// Path is the folder of the image that content is laid into; "" is the working directory of runs.
	Path string
	Mode Mode
	Level
}

// Design is content and the changes that it makes to its type.
type Design struct {
	Name string
	// Fixed are values of parameters of the type that no workspace changes, Defaults those that count unless a workspace
	// gives another one. All other parameters are exposed to workspaces.
	Fixed, Defaults map[string]any
	// Safety is "" for that of the type.
	Safety job.Safety
	Level
}

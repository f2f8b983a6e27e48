// Package program checks a template and the parameters of its schema, and freezes the input of a Run.
//
//	Check     a TemplateVersion → everything that is wrong with it
//	Freeze    a TemplateVersion, a Workspace's parameters and secrets → the input of a Run
//
// An executor has the input of a Run, and needs neither schema nor template: the library of JSON Schema stays out
// of the processes that start with each Run.
//
// What must not come in: a Kubernetes type, a clock, a log.
package program

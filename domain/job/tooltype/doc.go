// Package tooltype knows the types of templates whose tool is known, OpenTofu and Ansible: it turns the parameters of a
// run into the files and variables that the tool reads by itself (JOBS-DESIGN.md 14).
//
// A value stays a value: no tool takes a text for an expression.
//
// What must not come in: files and processes, and how a tool is started.
package tooltype

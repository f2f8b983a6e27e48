// Package backend serves the state of Terraform and OpenTofu over HTTP, as their backend "http" wants it: a write is
// answered when a checkpoint has it, so a killed run loses nothing that was acknowledged (JOBS-DESIGN.md 7).
//
// What must not come in: who may reach it. It listens on loopback, for the template alone.
package backend

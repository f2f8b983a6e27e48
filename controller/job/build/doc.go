// Package build makes JobTemplateVersions: it fetches the content of JobTemplates, freezes it with their types by
// domain/job/template, has the image built and pushed, and notes who uses each version (JOBS.md J16).
//
// What must not come in: how Runs use a version, and decisions about levels.
package build

package v1alpha1

// Labels of the Jobs and pods of a JobRun.
const (
	LabelWorkspace = "job.orcon.tengu.io/workspace"
	LabelRun       = "job.orcon.tengu.io/run"
	LabelRunUID    = "job.orcon.tengu.io/run-uid"
	LabelAttempt   = "job.orcon.tengu.io/attempt"
)

// OutputsRole is the ClusterRole by which a namespace lets the controller of runs write sensitive outputs, and outputs that
// are data of a relation.
const OutputsRole = "orcon-job-outputs"

// SecretsRole is the ClusterRole by which a namespace lets the controller of runs read Secrets for runs on RunNodes.
const SecretsRole = "orcon-job-secrets"

// TokensRole is the ClusterRole by which a namespace has the controller of runs mint join tokens for its runs.
const TokensRole = "orcon-job-tokens" //nolint:gosec // a name

// OutputsOf returns the name of the Secret with the sensitive outputs of a JobWorkspace.
func OutputsOf(workspace string) string { return workspace + "-outputs" }

// Audience is the audience of a keeper's token.
const Audience = "jobs.tengu.io"

// LabelTemplate is the label of a JobTemplateVersion that names its JobTemplate.
const LabelTemplate = "job.orcon.tengu.io/template"

// LabelNode is the label of a Lease that offers an attempt, with the name of the RunNode.
const LabelNode = "job.orcon.tengu.io/node"

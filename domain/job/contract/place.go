package contract

// Version is the version of the contract.
const Version = "1"

// The folders and files of a run.
const (
	// State is kept between runs; the working state of the template.
	State = "/state"
	// Parameters holds the parameters of the run: a JSON object. It is not captured.
	Parameters = State + "/" + ParametersFile
	// Outputs is written by the template: a JSON object (ParseOutputs). It is not captured.
	Outputs = State + "/" + OutputsFile
	// Terraform is where the state of Terraform and OpenTofu is stored, which they write over HTTP.
	Terraform = State + "/" + TerraformFile
	// Plan has the plan of a run that makes one, or applies one. It is not captured with the state.
	Plan = State + "/" + PlanFolder
	// Logs holds log files that outlive the run, besides the standard output and error.
	Logs = "/logs"
	// Work is the working directory: the content of the template, writable, not kept.
	Work = "/work"
	// Home and Temporary are writable and not kept.
	Home      = "/home/orcon"
	Temporary = "/tmp"
	// Secrets holds a file for each secret, on tmpfs.
	Secrets = "/run/orcon/secrets" //nolint:gosec // a folder
)

// The names of files of the folder State.
const (
	ParametersFile = "template-parameters.json"
	OutputsFile    = "outputs.json"
	TerraformFile  = "terraform.tfstate"
	PlanFolder     = ".orcon-plan"
)

// The files of the folder Plan that have a meaning for Orcon and for tools.
const (
	// PlanFile is the plan for a tool, PlanText what a person reads.
	PlanFile = "plan"
	PlanText = "plan.txt"
)

// User is the uid and the gid of the template's process. It has an entry in passwd.
const User = 65532

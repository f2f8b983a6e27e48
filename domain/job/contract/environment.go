package contract

import (
	"strconv"
	"strings"
)

// The variables that each run has.
const (
	// VariableContract holds Version.
	VariableContract = "ORCON_CONTRACT"
	// VariableNamespace and VariableWorkspace name the Workspace.
	VariableNamespace = "ORCON_NAMESPACE"
	VariableWorkspace = "ORCON_WORKSPACE"
	// VariableRun names the Run, and VariableAttempt counts its starts from 1.
	VariableRun     = "ORCON_RUN"
	VariableAttempt = "ORCON_ATTEMPT"
	// VariableAction holds the action: deploy, destroy, check or plan.
	VariableAction = "ORCON_ACTION"
	// VariableGeneration holds the number of the state's generation that was restored: 0 for an empty state.
	VariableGeneration = "ORCON_GENERATION"
	// VariableType holds the type of the template, if it has one.
	VariableType = "ORCON_TYPE"
	// VariableState and the others hold folders and files of the run.
	VariableState      = "ORCON_STATE"
	VariableParameters = "ORCON_PARAMETERS"
	VariableOutputs    = "ORCON_OUTPUTS"
	VariableLogs       = "ORCON_LOGS"
	VariableSecrets    = "ORCON_SECRETS"
	// VariablePlan holds the folder where a run leaves its plan, in runs of an action that plans another one.
	VariablePlan = "ORCON_PLAN"
	// VariableApproved holds the folder with the plan that is applied, in runs that apply one.
	VariableApproved = "ORCON_APPROVED_PLAN"
)

// The variables by which Terraform and OpenTofu find the state over HTTP, if their configuration has an empty
// backend "http".
const (
	VariableAddress       = "TF_HTTP_ADDRESS"
	VariableLockAddress   = "TF_HTTP_LOCK_ADDRESS"
	VariableUnlockAddress = "TF_HTTP_UNLOCK_ADDRESS"
	VariableLockMethod    = "TF_HTTP_LOCK_METHOD"
	VariableUnlockMethod  = "TF_HTTP_UNLOCK_METHOD"
	VariableUpdateMethod  = "TF_HTTP_UPDATE_METHOD"
)

// The methods of the backend "http".
const (
	MethodLock   = "LOCK"
	MethodUnlock = "UNLOCK"
	MethodUpdate = "POST"
)

// Run holds the facts of a run that its template may know.
type Run struct {
	Namespace, Workspace, Name string
	Action                     string
	// Type is that of the template; "" for none.
	Type       string
	Attempt    int
	Generation int64
	// Plans and Applies report that the run leaves a plan, and that it applies one.
	Plans, Applies bool
	// Backend is the address of the state over HTTP; "" for none.
	Backend string
}

// Environment returns the variables of a run, as NAME=value.
func Environment(r Run) []string {
	all := []string{
		VariableContract + "=" + Version,
		VariableNamespace + "=" + r.Namespace,
		VariableWorkspace + "=" + r.Workspace,
		VariableRun + "=" + r.Name,
		VariableAttempt + "=" + strconv.Itoa(r.Attempt),
		VariableAction + "=" + r.Action,
		VariableGeneration + "=" + strconv.FormatInt(r.Generation, 10),
		VariableState + "=" + State,
		VariableParameters + "=" + Parameters,
		VariableOutputs + "=" + Outputs,
		VariableLogs + "=" + Logs,
		VariableSecrets + "=" + Secrets,
		"HOME=" + Home,
		"TMPDIR=" + Temporary,
	}
	if r.Type != "" {
		all = append(all, VariableType+"="+r.Type)
	}
	if r.Plans {
		all = append(all, VariablePlan+"="+Plan)
	}
	if r.Applies {
		all = append(all, VariableApproved+"="+Plan)
	}
	if r.Backend == "" {
		return all
	}
	return append(all, BackendEnvironment(r.Backend)...)
}

// BackendEnvironment returns the variables by which the state is found over HTTP, as NAME=value.
func BackendEnvironment(address string) []string {
	return []string{
		VariableAddress + "=" + address,
		VariableLockAddress + "=" + address,
		VariableUnlockAddress + "=" + address,
		VariableLockMethod + "=" + MethodLock,
		VariableUnlockMethod + "=" + MethodUnlock,
		VariableUpdateMethod + "=" + MethodUpdate,
	}
}

// Reserved reports whether the contract sets a variable, or may in a later version. Templates and operators must
// not set it.
func Reserved(name string) bool {
	return strings.HasPrefix(name, "ORCON_") || strings.HasPrefix(name, "TF_HTTP_")
}

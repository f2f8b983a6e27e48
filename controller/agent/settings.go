package agent

import (
	"strconv"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// Settings are the webhook's settings in the agent's environment.
type Settings struct {
	// Namespace and Pod name the pod, for people.
	Namespace, Pod string
	// Address is the controller's: https://host[:port].
	Address string
	// ServerName is the name that the controller's certificate must be for.
	ServerName string
	// Trust is the PEM bundle of the pod's admission; may be empty.
	Trust string
	// Consumes are the endpoints that the pod declares.
	Consumes []application.Endpoint
	// Stale is set if the pod starts with a copy of its data while Orcon is away.
	Stale bool
	// Variables are the variables that its containers take from the env file.
	Variables []injection.Variable
	// Tools are the containers that get the tools; none where the pod has none.
	Tools []string
	// OnChange is how the agent itself tells the pod of a change.
	OnChange injection.OnChange
	// Batch is set where handlers hear of a whole first join as one event.
	Batch bool
	// MetricsAddress is where metrics are served; empty for nowhere.
	MetricsAddress string
	// LogLevel is glog's -v; 0 by default.
	LogLevel int
}

// ParseSettings reads the settings with getenv. A declaration that is wrong has
// been refused at admission; should one come through, the agent goes on with the
// endpoints that are right and returns the problems to be logged (SAFETY.md I19).
func ParseSettings(getenv func(string) string) (Settings, []application.Problem) {
	s := Settings{
		Namespace:      getenv("POD_NAMESPACE"),
		Pod:            getenv("POD_NAME"),
		Address:        strings.TrimSuffix(getenv("ORCON_ADDRESS"), "/"),
		ServerName:     getenv("ORCON_SERVER_NAME"),
		Trust:          getenv("ORCON_TRUST"),
		MetricsAddress: getenv("ORCON_METRICS_ADDRESS"),
	}
	var problems []application.Problem
	if text := getenv("ORCON_CONSUMES"); text != "" {
		s.Consumes, problems = application.ParseConsumes(text)
	}
	s.Stale = getenv("ORCON_GATE") == application.GateStale
	if getenv("ORCON_GATE") == application.GateNone {
		for i := range s.Consumes {
			s.Consumes[i].Optional = true
		}
	}
	keys := map[string]map[string][]string{}
	for _, name := range []string{"ORCON_FIELDS", "ORCON_ENV"} {
		if text := getenv(name); text != "" {
			named, wrong := application.ParseEnv(text)
			keys[name], problems = named, append(problems, wrong...)
		}
	}
	variables, wrong := injection.Variables(s.Consumes, keys["ORCON_FIELDS"], keys["ORCON_ENV"])
	s.Variables, problems = variables, append(problems, wrong...)
	if text := getenv("ORCON_TOOLS"); text != "" {
		s.Tools = strings.Split(text, ",")
	}
	onChange, problem := injection.ParseOnChange(getenv("ORCON_ON_CHANGE"))
	if problem != nil {
		problems = append(problems, *problem)
	}
	s.OnChange, s.Batch = onChange, getenv("ORCON_BATCH") == "true"
	if text := getenv("ORCON_LOG_LEVEL"); text != "" {
		level, err := strconv.Atoi(text)
		if err != nil {
			problems = append(problems, application.Problem{Key: "ORCON_LOG_LEVEL", Entry: text,
				Reason: "it is not a whole number", Cure: "write for example 2"})
		}
		s.LogLevel = level
	}
	return s, problems
}

package data

// Spec configures an integration in a namespace. The tags are the names in the data
// and in the values of a chart alike; a field is nil where the data do not have it, since
// false and 0 are not the chart's defaults everywhere.
type Spec struct {
	Resources                 *Resources `yaml:"resources,omitempty" data:"required"`
	FluentdResources          *Resources `yaml:"fluentdResources,omitempty"`
	Cache                     *bool      `yaml:"cache,omitempty"`
	Storage                   *Quantity  `yaml:"storage,omitempty"`
	StorageClassName          *string    `yaml:"storageClassName,omitempty"`
	Command                   *string    `yaml:"command,omitempty"`
	Cron                      *string    `yaml:"cron,omitempty"`
	ConcurrencyPolicy         *string    `yaml:"concurrencyPolicy,omitempty" data:"Allow Forbid Replace"`
	RestartPolicy             *string    `yaml:"restartPolicy,omitempty" data:"Always OnFailure Never"`
	SuccessfulJobHistoryLimit *int       `yaml:"successfulJobHistoryLimit,omitempty"`
	FailedJobHistoryLimit     *int       `yaml:"failedJobHistoryLimit,omitempty"`
	Dashdotdb                 *bool      `yaml:"dashdotdb,omitempty"`
	EnablePushgateway         *bool      `yaml:"enablePushgateway,omitempty"`
	DisableUnleash            *bool      `yaml:"disableUnleash,omitempty"`
	UnleashConnectionPool     *bool      `yaml:"unleashConnectionPool,omitempty"`
	EnvironmentAware          *bool      `yaml:"environmentAware,omitempty"`
	ExtraArgs                 *string    `yaml:"extraArgs,omitempty"`
	ExtraEnv                  []Variable `yaml:"extraEnv,omitempty"`
	ImageRef                  *string    `yaml:"imageRef,omitempty"`
	InternalCertificates      *bool      `yaml:"internalCertificates,omitempty"`
	Logs                      *Logs      `yaml:"logs,omitempty"`
	SleepDurationSecs         *Quantity  `yaml:"sleepDurationSecs,omitempty"`
	State                     *bool      `yaml:"state,omitempty"`
	Trigger                   *bool      `yaml:"trigger,omitempty"`
	// Extra are fields that the chart adds (Options.SpecFields).
	Extra map[string]any `yaml:",inline"`
}

// Resources are requests and limits of a container.
type Resources struct {
	Requests *Amounts `yaml:"requests,omitempty"`
	Limits   *Amounts `yaml:"limits,omitempty"`
}

// Amounts are quantities of resources.
type Amounts struct {
	CPU    *Quantity `yaml:"cpu,omitempty"`
	Memory *Quantity `yaml:"memory,omitempty"`
}

// Variable is an environment variable: from a key of a Secret, whose name it has, or
// with a value.
type Variable struct {
	SecretName *string `yaml:"secretName,omitempty"`
	SecretKey  *string `yaml:"secretKey,omitempty"`
	Name       *string `yaml:"name,omitempty"`
	Value      *string `yaml:"value,omitempty"`
}

// Logs says where logs are sent besides CloudWatch.
type Logs struct {
	Slack            *bool `yaml:"slack,omitempty"`
	GoogleChat       *bool `yaml:"googleChat,omitempty"`
	SlackErrorFilter *bool `yaml:"slackErrorFilter,omitempty"`
	GovSlack         *bool `yaml:"govSlack,omitempty"`
}

// rawSpec is a spec with the fields of older data: sharding inside it.
type rawSpec struct {
	Schema             string `yaml:"$schema"`
	Spec               `yaml:",inline"`
	Shards             *int         `yaml:"shards"`
	ShardingStrategy   *Strategy    `yaml:"shardingStrategy"`
	ShardSpecOverrides []value      `yaml:"shardSpecOverrides"`
	Sharding           *rawSharding `yaml:"sharding"`
}

// checkVariable checks that a variable has one of the two forms.
func checkVariable(v value, e Variable) []Problem {
	fromSecret := e.SecretName != nil && e.SecretKey != nil && e.Name == nil && e.Value == nil
	literal := e.Name != nil && e.Value != nil && e.SecretName == nil && e.SecretKey == nil
	if fromSecret || literal {
		return nil
	}
	return v.refuse("the variable has neither of its two forms", "write secretName and secretKey, or name and value")
}

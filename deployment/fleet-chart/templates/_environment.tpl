{{/* The environment of the containers, as lists of variables. */}}

{{- define "fleet.environment" }}
{{- $values := .values }}
{{- if include "fleet.buffered" . }}
- {name: PREFIX_LOG_LEVEL, value: "true"}
{{- end }}
{{- if .shard.shard_id }}
- {name: SHARDS, value: {{ .shard.shards | toString | quote }}}
- {name: SHARD_ID, value: {{ .shard.shard_id | toString | quote }}}
{{- end }}
{{- with .shard.shard_key }}
- {name: SHARD_KEY, value: {{ . | quote }}}
{{- end }}
{{- include "fleet.passedOn" "DRY_RUN" }}
{{- include "fleet.command" .item }}
{{- if eq .item.name "integrations-manager" }}
{{- include "fleet.passedOn" "MANAGER_DRY_RUN" }}
{{- range $name := list "UPSTREAM" "IMAGE" "IMAGE_TAG_FROM_REF" }}
{{- include "fleet.passedOn" (print "INTEGRATIONS_MANAGER_" $name) }}
{{- end }}
{{- end }}
{{- include "fleet.identity" (list .item.name .shard.extra_args) }}
{{- if .item.sleepDurationSecs }}
- {name: SLEEP_DURATION_SECS, value: "{{ printf "${%s_SLEEP_DURATION_SECS}" (include "fleet.prefix" .item.name) }}"}
{{- else }}
- {name: SLEEP_DURATION_SECS, value: "${SLEEP_DURATION_SECS}"}
{{- end }}
{{- include "fleet.configMap" "GITHUB_API" }}
{{- include "fleet.configMap" "SENTRY_DSN" }}
{{- include "fleet.passedOn" "LOG_FILE" }}
{{- if .item.state }}
{{- include "fleet.secret" (list "APP_INTERFACE_STATE_BUCKET" "app-interface" "aws.s3.bucket") }}
{{- include "fleet.passedOn" "APP_INTERFACE_STATE_BUCKET_ACCOUNT" }}
{{- include "fleet.secret" (list "APP_INTERFACE_STATE_BUCKET_REGION" "app-interface" "aws.region" "optional") }}
- {name: AWS_CONFIG_FILE, value: /aws/config}
{{- include "fleet.secret" (list "APP_INTERFACE_STATE_AWS_PROFILE" "app-interface" "aws.profile.state" "optional") }}
{{- end }}
{{- include "fleet.unleash" .item }}
{{- range $name := list "SLOW_OC_RECONCILE_THRESHOLD" "LOG_SLOW_OC_RECONCILE" "USE_NATIVE_CLIENT" }}
{{- include "fleet.passedOn" $name }}
{{- end }}
{{- include "fleet.token" . }}
{{- include "fleet.passedOn" "USED_FOR_SECURITY" }}
{{- if .item.environmentAware }}
{{- include "fleet.passedOn" "ENVIRONMENT_NAME" }}
{{- if include "fleet.gov" . }}
{{- include "fleet.passedOn" "GOV_SLACK" }}
{{- end }}
{{- range $name := list "IMAGE" "BUSYBOX_IMAGE" "FLUENTD_IMAGE" "INTERNAL_CERTIFICATES_IMAGE" }}
{{- if eq $name "INTERNAL_CERTIFICATES_IMAGE" }}
{{- include "fleet.passedOn" "CLOUDWATCH_SECRET" }}
{{- end }}
{{- include "fleet.passedOn" $name }}
{{- include "fleet.passedOn" (print $name "_TAG") }}
{{- if and $values.imageDigests (ne $name "INTERNAL_CERTIFICATES_IMAGE") }}
{{- include "fleet.passedOn" (print $name "_DIGEST") }}
{{- end }}
{{- if ne $name "IMAGE" }}
{{- include "fleet.passedOn" (print $name "_PULL_POLICY") }}
{{- end }}
{{- end }}
{{- end }}
{{- include "fleet.extraEnv" .item }}
{{- end }}

{{/* The environment of a CronJob's container. */}}
{{- define "fleet.jobEnvironment" }}
- {name: RUN_ONCE, value: "true"}
{{- include "fleet.passedOn" "DRY_RUN" }}
{{- include "fleet.command" .item }}
{{- include "fleet.identity" (list .item.name .item.extraArgs) }}
{{- include "fleet.configMap" "GITHUB_API" }}
{{- include "fleet.unleash" .item }}
{{- include "fleet.extraEnv" .item }}
{{- if .item.dashdotdb }}
{{- include "fleet.secret" (list "DASHDOTDB_SECRET" "dashdotdb" "AUTH_VAULT_PATH") }}
{{- end }}
{{- include "fleet.token" . }}
{{- if .item.enablePushgateway }}
- {name: PUSHGATEWAY_ENABLED, value: "true"}
{{- include "fleet.secret" (list "PUSHGATEWAY_URL" "${PUSHGATEWAY_SECRET_NAME}" "server") }}
{{- include "fleet.secret" (list "PUSHGATEWAY_USERNAME" "${PUSHGATEWAY_SECRET_NAME}" "username") }}
{{- include "fleet.secret" (list "PUSHGATEWAY_PASSWORD" "${PUSHGATEWAY_SECRET_NAME}" "password") }}
{{- end }}
{{- end }}

{{- define "fleet.command" }}
{{- with .command }}
- {name: COMMAND_NAME, value: {{ . | toJson }}}
{{- end }}
{{- end }}

{{/* What runs: the integration and its arguments. */}}
{{- define "fleet.identity" }}
- {name: INTEGRATION_NAME, value: {{ index . 0 | quote }}}
{{- with index . 1 }}
- {name: INTEGRATION_EXTRA_ARGS, value: {{ . | toJson }}}
{{- end }}
{{- end }}

{{- define "fleet.unleash" }}
{{- if not .disableUnleash }}
{{- include "fleet.secret" (list "UNLEASH_API_URL" "unleash" "API_URL" "optional") }}
{{- include "fleet.secret" (list "UNLEASH_CLIENT_ACCESS_TOKEN" "unleash" "CLIENT_ACCESS_TOKEN" "optional") }}
{{- end }}
{{- end }}

{{- define "fleet.token" }}
- {name: KUBE_SA_TOKEN_PATH, value: "${KUBE_SA_TOKEN_MOUNT_PATH}/${KUBE_SA_TOKEN_FILENAME}"}
{{- end }}

{{/* Variables of the data. A value that brings its quotes along is what they enclose. */}}
{{- define "fleet.extraEnv" }}
{{- range .extraEnv }}
{{- if .secretKey }}
{{- include "fleet.secret" (list .secretKey .secretName .secretKey) }}
{{- else if regexMatch `^("([^"\\]|\\.)*"|'([^']|'')*')$` (toString .value) }}
- {name: {{ .name | quote }}, value: {{ .value }}}
{{- else }}
- {name: {{ .name | quote }}, value: {{ .value | toString | toJson }}}
{{- end }}
{{- end }}
{{- end }}

{{/* A variable with the value of the parameter of its name. */}}
{{- define "fleet.passedOn" }}
- {name: {{ . }}, value: "{{ printf "${%s}" . }}"}
{{- end }}

{{/* A variable from the ConfigMap app-interface. */}}
{{- define "fleet.configMap" }}
- name: {{ . }}
  valueFrom: {configMapKeyRef: {name: app-interface, key: {{ . }}}}
{{- end }}

{{/* A variable from a Secret: its name, the Secret, the key, and optional if it may be missing. */}}
{{- define "fleet.secret" }}
- name: {{ index . 0 | quote }}
  valueFrom:
    secretKeyRef: {name: {{ index . 1 | quote }}, key: {{ index . 2 | quote }}{{ if gt (len .) 3 }}, optional: true{{ end }}}
{{- end }}

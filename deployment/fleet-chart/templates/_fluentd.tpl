{{/* How the log of an integration is shipped: to CloudWatch, and where logs says. */}}

{{/* A script that writes the configuration of fluentd. The shell fills in what only the pod knows. */}}
{{- define "fleet.fluentd" -}}
{{- $logs := .item.logs | default dict }}
{{- $url := "${SLACK_WEBHOOK_URL}" }}
{{- $channel := "${SLACK_CHANNEL}" }}
{{- if .item.trigger }}
{{- $channel = "${SLACK_CHANNEL_TRIGGER}" }}
{{- if include "fleet.gov" . }}
{{- $url = "${SLACK_TRIGGERS_WEBHOOK_URL}" }}
{{- end }}
{{- end -}}
cat > /fluentd/etc/fluent.conf <<EOF
<source>
  @type tail
  path /fluentd/log/integration.log
  pos_file /fluentd/log/integration.log.pos
  read_from_head true
  tag integration
  <parse>
    @type none
  </parse>
</source>
{{- $noise := list "using gql endpoint" "request_id: " "Certificate did not match expected hostname" }}
{{- if .item.unleashConnectionPool }}
{{- $noise = append $noise `Max retries exceeded with url: \/api\/client\/features` }}
{{- end }}
{{- range $pattern := $noise }}
<filter integration>
  @type grep
  <exclude>
    key message
    pattern /{{ $pattern }}/
  </exclude>
</filter>
{{- end }}
<match integration>
  @type copy
  {{- if $logs.slack }}
  <store>
    {{- include "fleet.slack" (list .item.name $url $channel) | nindent 4 }}
  </store>
  {{- end }}
  <store>
    @type cloudwatch_logs
    log_group_name ${LOG_GROUP_NAME}
    log_stream_name {{ .item.name }}
    auto_create_stream true
  </store>
  {{- range $tag, $chosen := dict "gchat" $logs.googleChat "slack_errors" $logs.slackErrorFilter }}
  {{- if $chosen }}
  <store>
    @type rewrite_tag_filter
    <rule>
      key message
      pattern /^\[ERROR\]/
      tag {{ $tag }}
    </rule>
  </store>
  {{- end }}
  {{- end }}
</match>
{{- if $logs.googleChat }}
<match gchat>
  {{- include "fleet.chat" (list "${GOOGLE_CHAT_WEBHOOK_URL}" "/fluentd/buffer") | nindent 2 }}
</match>
{{- end }}
{{- if include "fleet.gov" . }}
<match gov_slack>
  {{- include "fleet.chat" (list "${GOV_SLACK_WEBHOOK_URL}" "/fluentd/buffer/gov-slack") | nindent 2 }}
</match>
{{- end }}
{{- if $logs.slackErrorFilter }}
<match slack_errors>
  {{- include "fleet.slack" (list .item.name "${SLACK_ERRORS_ONLY_WEBHOOK_URL}" "${SLACK_RECONCILE_ERR_CHANNEL_NAME}") | nindent 2 }}
</match>
{{- end }}
EOF
{{- end }}

{{/* Messages to a channel of Slack: the integration, the address and the channel. */}}
{{- define "fleet.slack" -}}
@type slack
webhook_url {{ index . 1 }}
channel {{ index . 2 }}
icon_emoji ${SLACK_ICON_EMOJI}
username sd-app-sre-bot
flush_interval 10s
message "\`\`\`[{{ index . 0 }}] %s\`\`\`"
{{- end }}

{{/* Messages to a chat, one thread for each pod: the address, and the folder of those that wait. */}}
{{- define "fleet.chat" -}}
@type teams
webhook_url "{{ index . 0 }}&threadKey=${POD_NAME}"
text "<%= Time.at(time) %> [${POD_NAME}] <%= record['message'] %>\n\n"
buffered true
<buffer>
  @type file
  path {{ index . 1 }}
  flush_mode interval
  flush_interval 15s
  flush_at_shutdown true
  retry_max_times 0
  retry_wait 30
  disable_chunk_backup true
</buffer>
{{- end }}

{{/* "true" if messages go to the Slack of the government. */}}
{{- define "fleet.gov" -}}
{{ if eq (toString .values.gov_slack) "true" }}true{{ end }}
{{- end }}

{{/* "true" if fluentd keeps messages that wait. */}}
{{- define "fleet.buffered" -}}
{{ if or (.item.logs | default dict).googleChat (include "fleet.gov" .) }}true{{ end }}
{{- end }}

{{/* What the script needs of the pod and of Secrets. */}}
{{- define "fleet.logEnvironment" }}
{{- $logs := .item.logs | default dict }}
{{- $trigger := not (not .item.trigger) }}
{{- $gov := include "fleet.gov" . }}
{{- if $logs.slack }}
{{- include "fleet.secret" (list "SLACK_WEBHOOK_URL" "app-interface" "slack.webhook_url") }}
{{- if $gov }}
{{- include "fleet.secret" (list "SLACK_TRIGGERS_WEBHOOK_URL" "app-interface" "slack.triggers_url") }}
{{- end }}
{{- end }}
{{- if $logs.slackErrorFilter }}
{{- include "fleet.secret" (list "SLACK_ERRORS_ONLY_WEBHOOK_URL" "app-interface" "slack.errors_only_webhook_url") }}
{{- end }}
{{- if $logs.slack }}
- {name: SLACK_CHANNEL, value: "{{ ternary "${SLACK_CHANNEL_TRIGGER}" "${SLACK_CHANNEL}" $trigger }}"}
{{- end }}
{{- if or $logs.slack $logs.slackErrorFilter }}
{{- include "fleet.passedOn" "SLACK_ICON_EMOJI" }}
{{- end }}
{{- if $logs.slackErrorFilter }}
{{- include "fleet.passedOn" "SLACK_RECONCILE_ERR_CHANNEL_NAME" }}
{{- end }}
{{- if $logs.googleChat }}
{{- $address := ternary "triggers_url" "webhook_url" $trigger }}
{{- include "fleet.secret" (list "GOOGLE_CHAT_WEBHOOK_URL" "app-interface" (print "google_chat." $address)) }}
{{- if $gov }}
{{- include "fleet.secret" (list "GOV_SLACK_WEBHOOK_URL" "app-interface" (print "slack." $address)) }}
{{- end }}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
{{- end }}
{{- include "fleet.secret" (list "LOG_GROUP_NAME" "${CLOUDWATCH_SECRET}" "log_group_name") }}
{{- end }}

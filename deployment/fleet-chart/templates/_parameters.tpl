{{/* The parameters of the Template, with their defaults. Data may refer to those that nothing here uses. */}}
{{- define "fleet.parameters" -}}
- {name: IMAGE, value: quay.io/app-sre/qontract-reconcile}
- {name: IMAGE_TAG, value: latest}
- {name: BUSYBOX_IMAGE, value: registry.access.redhat.com/ubi8/ubi-minimal}
- {name: BUSYBOX_IMAGE_TAG, value: latest}
- {name: BUSYBOX_IMAGE_PULL_POLICY, value: Always}
- {name: FLUENTD_IMAGE, value: quay.io/redhat-services-prod/app-sre-tenant/fluentd-master/fluentd-master}
- {name: FLUENTD_IMAGE_TAG, value: latest}
- {name: FLUENTD_IMAGE_PULL_POLICY, value: Always}
- {name: INTERNAL_CERTIFICATES_IMAGE, value: quay.io/app-sre/internal-redhat-ca}
- {name: INTERNAL_CERTIFICATES_IMAGE_TAG, value: latest}
- {name: INTERNAL_CERTIFICATES_IMAGE_PULL_POLICY, value: Always}
{{- if .Values.imageDigests }}
- {name: IMAGE_DIGEST, required: true}
- {name: BUSYBOX_IMAGE_DIGEST, required: true}
- {name: FLUENTD_IMAGE_DIGEST, required: true}
{{- end }}
- {name: ENVIRONMENT_NAME, value: app-interface}
- {name: DRY_RUN, value: --dry-run}
- {name: SLEEP_DURATION_SECS, value: "300"}
- {name: MANAGER_DRY_RUN, value: --dry-run}
- {name: INTEGRATIONS_MANAGER_UPSTREAM, value: ""}
- {name: INTEGRATIONS_MANAGER_IMAGE, value: ""}
- {name: INTEGRATIONS_MANAGER_IMAGE_TAG_FROM_REF, value: ""}
- {name: QONTRACT_RECONCILE_TOML_SECRET_NAME, value: qontract-reconcile-toml}
- {name: APP_INTERFACE_SQS_SECRET_NAME, value: app-interface-sqs}
- {name: APP_INTERFACE_STATE_BUCKET_ACCOUNT, value: app-sre}
- {name: APP_INTERFACE_PROJECT_ID, value: "0"}
- {name: AWS_CONFIG_SECRET_NAME, value: app-interface-aws-config}
- {name: CLOUDWATCH_SECRET, value: app-interface-cloudwatch}
- {name: PUSHGATEWAY_SECRET_NAME, value: push-gateway-auth-url}
- {name: KUBE_SA_TOKEN_MOUNT_PATH, value: /var/run/secrets/kubernetes.io/serviceaccount}
- {name: KUBE_SA_TOKEN_FILENAME, value: token}
- {name: LOG_FILE, value: /fluentd/log/integration.log}
- {name: SLACK_CHANNEL, value: sd-app-sre-reconcile-stage}
- {name: SLACK_CHANNEL_TRIGGER, value: sd-app-sre-triggers-stage}
- {name: SLACK_RECONCILE_ERR_CHANNEL_NAME, value: sd-app-sre-reconcile-errors-stage}
- {name: SLACK_ICON_EMOJI, value: ":bust_in_silhouette:"}
{{- if eq (toString .Values.gov_slack) "true" }}
- {name: GOV_SLACK, value: "true"}
{{- end }}
- {name: GITHUB_API, value: "http://github-mirror.github-mirror-stage.svc.cluster.local"}
- {name: SENTRY_DSN, value: ""}
- {name: USER_ID, value: dummy}
- {name: SLOW_OC_RECONCILE_THRESHOLD, value: "600"}
- {name: LOG_SLOW_OC_RECONCILE, value: "false"}
- {name: USE_NATIVE_CLIENT, value: ""}
- {name: USED_FOR_SECURITY, value: ""}
{{- range $item := .Values.integrations }}
{{- $prefix := include "fleet.prefix" $item.name }}
{{- with $item.sleepDurationSecs }}
- {name: {{ $prefix }}_SLEEP_DURATION_SECS, value: {{ . | toString | quote }}}
{{- end }}
{{- include "fleet.resourceParameters" (list $prefix $item.resources) }}
{{- include "fleet.resourceParameters" (list (print $prefix "_FLUENTD") $item.fluentdResources) }}
{{- end }}
{{- range $item := .Values.cronjobs }}
{{- include "fleet.resourceParameters" (list (include "fleet.prefix" $item.name) $item.resources) }}
{{- end }}
{{- end }}

{{- define "fleet.resourceParameters" }}
{{- $prefix := index . 0 }}
{{- $resources := index . 1 | default dict }}
{{- range $side, $word := dict "limits" "LIMIT" "requests" "REQUEST" }}
{{- range $what, $amount := index $resources $side }}
- {name: {{ $prefix }}_{{ upper $what }}_{{ $word }}, value: {{ $amount | toString | quote }}}
{{- end }}
{{- end }}
{{- end }}

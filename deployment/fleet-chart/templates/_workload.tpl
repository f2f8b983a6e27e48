{{/* The objects of an integration. Each template here takes values, item and shard. */}}

{{/* A Deployment, or a StatefulSet with a claim for an integration that has a cache. */}}
{{- define "fleet.workload" }}
{{- $overrides := .shard.shard_spec_overrides | default dict }}
apiVersion: apps/v1
kind: {{ if .item.cache }}StatefulSet{{ else }}Deployment{{ end }}
metadata:
  name: qontract-reconcile-{{ .item.name }}{{ .shard.shard_name_suffix }}
  labels: {app: qontract-reconcile-{{ .item.name }}}
  annotations:
    {{- include "fleet.checks" . | nindent 4 }}
spec:
  replicas: {{ if $overrides.disabled }}0{{ else }}1{{ end }}
  revisionHistoryLimit: 5
  selector:
    matchLabels:
      {{- include "fleet.selector" . | nindent 6 }}
  {{- if .item.cache }}
  volumeClaimTemplates:
    - metadata: {name: cache}
      spec:
        accessModes: [ReadWriteOnce]
        storageClassName: {{ .item.storageClassName | default "gp2" | quote }}
        resources:
          requests: {storage: {{ .item.storage | default "1Gi" | quote }}}
  {{- end }}
  template:
    metadata:
      labels:
        component: qontract-reconcile
        {{- include "fleet.selector" . | nindent 8 }}
    spec:
      {{- include "fleet.pod" . | nindent 6 }}
{{- end }}

{{/* The labels that select the pods of a workload. Shards share them, unless selectors is PerShard. */}}
{{- define "fleet.selector" -}}
app: qontract-reconcile-{{ .item.name }}
{{- if eq .values.selectors "PerShard" }}
shard: {{ .shard.shard_name_suffix | default "-0" | trimPrefix "-" | quote }}
{{- end }}
{{- end }}

{{/* The checks of kube-linter that an integration does not pass by design. */}}
{{- define "fleet.checks" -}}
ignore-check.kube-linter.io/minimum-three-replicas: qontract-reconcile integrations are sharded and not replicated
ignore-check.kube-linter.io/no-readiness-probe: qontract-reconcile integrations are not getting traffic
ignore-check.kube-linter.io/no-liveness-probe: qontract-reconcile integrations are monitored for being stuck
ignore-check.kube-linter.io/unset-cpu-requirements: no cpu limits
{{- end }}

{{/* A CronJob. It has no shards, sends no logs and keeps no state. */}}
{{- define "fleet.cronjob" }}
apiVersion: batch/v1
kind: CronJob
metadata:
  name: qontract-reconcile-{{ .item.name }}
  labels: {app: qontract-reconcile-{{ .item.name }}}
  annotations:
    ignore-check.kube-linter.io/unset-cpu-requirements: no cpu limits
spec:
  schedule: {{ .item.cron | quote }}
  concurrencyPolicy: {{ .item.concurrencyPolicy | default "Allow" }}
  successfulJobsHistoryLimit: {{ kindIs "invalid" .item.successfulJobHistoryLimit | ternary 3 .item.successfulJobHistoryLimit }}
  failedJobsHistoryLimit: {{ kindIs "invalid" .item.failedJobHistoryLimit | ternary 1 .item.failedJobHistoryLimit }}
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: {{ .item.restartPolicy | default "OnFailure" }}
          serviceAccountName: qontract-reconcile
          containers:
            - name: int
              image: {{ include "fleet.image" (list .values "IMAGE") }}
              env:
                {{- include "fleet.jobEnvironment" . | nindent 16 }}
              {{- include "fleet.resources" (list .item.name "" .item.resources) | nindent 14 }}
              volumeMounts:
                - {name: qontract-reconcile-toml, mountPath: /config}
                - {name: qontract-reconcile-sa-token, mountPath: "${KUBE_SA_TOKEN_MOUNT_PATH}"}
          volumes:
            {{- include "fleet.settings" . | nindent 12 }}
            {{- include "fleet.account" . | nindent 12 }}
{{- end }}

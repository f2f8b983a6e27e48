{{/* The pod of a Deployment or StatefulSet: the integration, and fluentd, which ships the log that the integration writes. */}}
{{- define "fleet.pod" }}
{{- $overrides := .shard.shard_spec_overrides | default dict }}
serviceAccountName: qontract-reconcile
initContainers:
  {{- if .item.internalCertificates }}
  - name: internal-certificates
    image: ${INTERNAL_CERTIFICATES_IMAGE}:${INTERNAL_CERTIFICATES_IMAGE_TAG}
    imagePullPolicy: ${INTERNAL_CERTIFICATES_IMAGE_PULL_POLICY}
    command: [/bin/sh, -c]
    args:
      - |
        cp -r /etc/pki/. /tmp/etc-pki/
    resources: {requests: {cpu: 15m, memory: 10Mi}, limits: {memory: 20Mi}}
    volumeMounts:
      - {name: internal-certificates, mountPath: /tmp/etc-pki/}
  {{- end }}
  - name: config
    image: {{ include "fleet.image" (list .values "BUSYBOX_IMAGE") }}
    imagePullPolicy: ${BUSYBOX_IMAGE_PULL_POLICY}
    command: [/bin/sh, -c]
    args:
      - |
        {{- include "fleet.fluentd" . | nindent 8 }}
    env:
      {{- include "fleet.logEnvironment" . | nindent 6 }}
    resources: {requests: {cpu: 15m, memory: 10Mi}, limits: {memory: 20Mi}}
    volumeMounts:
      - {name: fluentd-config, mountPath: /fluentd/etc/}
containers:
  - name: int
    {{- with $overrides.imageRef | default .item.imageRef }}
    image: {{ printf "${IMAGE}:%s" . | quote }}
    {{- else }}
    image: {{ include "fleet.image" (list .values "IMAGE") }}
    {{- end }}
    ports:
      - {name: http, containerPort: 9090}
    env:
      {{- include "fleet.environment" . | nindent 6 }}
    {{- if $overrides.resources }}
    resources: {{ $overrides.resources | toJson }}
    {{- else }}
    {{- include "fleet.resources" (list .item.name "" .item.resources) | nindent 4 }}
    {{- end }}
    volumeMounts:
      - {name: tmp-dir, mountPath: /tmp}
      - {name: qontract-reconcile-toml, mountPath: /config}
      {{- if .item.cache }}
      - {name: cache, mountPath: /.cache}
      {{- end }}
      {{- if .item.internalCertificates }}
      - {name: internal-certificates, mountPath: /etc/pki/}
      {{- end }}
      - {name: logs, mountPath: /fluentd/log/}
      - {name: qontract-reconcile-sa-token, mountPath: "${KUBE_SA_TOKEN_MOUNT_PATH}"}
      {{- if .item.state }}
      - {name: aws-config, mountPath: /aws}
      - {name: bound-qontract-reconcile-sa-token, mountPath: /var/run/secrets/openshift/serviceaccount, readOnly: true}
      {{- end }}
  - name: fluentd
    image: {{ include "fleet.image" (list .values "FLUENTD_IMAGE") }}
    imagePullPolicy: ${FLUENTD_IMAGE_PULL_POLICY}
    env:
      {{- range $name := list "aws_region" "aws_access_key_id" "aws_secret_access_key" }}
      {{- include "fleet.secret" (list (upper $name) "${CLOUDWATCH_SECRET}" $name) | nindent 6 }}
      {{- end }}
    {{- if .item.fluentdResources }}
    {{- include "fleet.resources" (list .item.name "FLUENTD_" .item.fluentdResources) | nindent 4 }}
    {{- else }}
    resources: {requests: {cpu: 15m, memory: 30Mi}, limits: {memory: 120Mi}}
    {{- end }}
    volumeMounts:
      - {name: logs, mountPath: /fluentd/log/}
      - {name: fluentd-config, mountPath: /fluentd/etc/}
      {{- if include "fleet.buffered" . }}
      - {name: buffer, mountPath: /fluentd/buffer}
      {{- end }}
volumes:
  {{- include "fleet.account" . | nindent 2 }}
  {{- if .item.state }}
  - name: bound-qontract-reconcile-sa-token
    projected:
      defaultMode: 420
      sources:
        - serviceAccountToken: {audience: openshift, expirationSeconds: 1800, path: token}
  - name: aws-config
    secret: {secretName: "${AWS_CONFIG_SECRET_NAME}", optional: true}
  {{- end }}
  {{- include "fleet.settings" . | nindent 2 }}
  - {name: logs, emptyDir: {}}
  - {name: fluentd-config, emptyDir: {}}
  - {name: tmp-dir, emptyDir: {}}
  {{- if include "fleet.buffered" . }}
  - {name: buffer, emptyDir: {}}
  {{- end }}
  {{- if .item.internalCertificates }}
  - {name: internal-certificates, emptyDir: {}}
  {{- end }}
{{- end }}

{{/* The volume of an integration's settings. */}}
{{- define "fleet.settings" -}}
- name: qontract-reconcile-toml
  secret: {secretName: "${QONTRACT_RECONCILE_TOML_SECRET_NAME}"}
{{- end }}

{{/* The volume of a token of the pod's account, which is renewed. */}}
{{- define "fleet.account" -}}
- name: qontract-reconcile-sa-token
  projected:
    sources:
      - serviceAccountToken: {expirationSeconds: 1800, path: "${KUBE_SA_TOKEN_FILENAME}"}
{{- end }}

{{/* An image by the name of its parameter. A digest has a parameter of its own, which must have a value. */}}
{{- define "fleet.image" -}}
{{- $values := index . 0 }}
{{- $name := index . 1 }}
{{- printf "${%s}:${%s_TAG}" $name $name }}
{{- if $values.imageDigests }}@{{ printf "${%s_DIGEST}" $name }}{{ end }}
{{- end }}

{{/* Resources of a container by parameters such as DNS_ZONES_CPU_LIMIT: an environment can change them. */}}
{{- define "fleet.resources" }}
{{- $name := index . 0 }}
{{- $of := index . 1 }}
{{- $resources := index . 2 }}
{{- with $resources }}
resources:
  {{- range $side, $word := dict "limits" "LIMIT" "requests" "REQUEST" }}
  {{- with index $resources $side }}
  {{ $side }}:
    {{- range $what := keys . | sortAlpha }}
    {{ $what }}: {{ printf "${%s_%s%s_%s}" (include "fleet.prefix" $name) $of (upper $what) $word }}
    {{- end }}
  {{- end }}
  {{- end }}
{{- end }}
{{- end }}

{{/* The beginning of an integration's parameters. */}}
{{- define "fleet.prefix" -}}
{{ . | upper | replace "-" "_" }}
{{- end }}

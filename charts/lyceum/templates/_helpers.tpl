{{- define "lyceum.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "lyceum.fullname" -}}
{{- $name := include "lyceum.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- /* By which the operator's pod is found. They never change: a Deployment's selector cannot. */}}
{{- define "lyceum.selectorLabels" -}}
app.kubernetes.io/name: {{ include "lyceum.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: operator
{{- end }}

{{- define "lyceum.labels" -}}
{{ include "lyceum.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: lyceum
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "lyceum.image" -}}
{{- with .Values.image }}
{{- if .digest }}
{{- printf "%s@%s" .repository .digest }}
{{- else }}
{{- printf "%s:%s" .repository (.tag | default $.Chart.AppVersion) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "lyceum.claim" -}}
{{- .Values.volume.existingClaim | default (include "lyceum.fullname" .) }}
{{- end }}

{{- /* The Service of the operator's ports for its servers and for webhooks; the former's certificate is in a Secret of that name with -tls. */}}
{{- define "lyceum.callersService" -}}
{{- /* The name of a Service begins with a letter and has no dot. */}}
{{- $name := include "lyceum.fullname" . | replace "." "-" }}
{{- printf "%s-operator" (regexMatch "^[0-9]" $name | ternary (printf "lyceum-%s" $name) $name | trunc 54 | trimSuffix "-") }}
{{- end }}

{{- /* The Service by which Prometheus finds the operators. */}}
{{- define "lyceum.metricsService" -}}
{{- printf "%s-metrics" (include "lyceum.callersService" . | trimSuffix "-operator") }}
{{- end }}

{{- define "lyceum.callersUrl" -}}
{{- printf "https://%s.%s.svc:9443" (include "lyceum.callersService" .) .Release.Namespace }}
{{- end }}

{{- define "lyceum.tlsSecret" -}}
{{- ((.Values.tls).existingSecret) | default (printf "%s-tls" (include "lyceum.callersService" .)) }}
{{- end }}

{{- /* The namespaces that are watched by name, as a JSON list; with clusterWide the release's own is one of all. */}}
{{- define "lyceum.namespaces" -}}
{{- .Values.namespaces | default (list .Release.Namespace) | uniq | toJson }}
{{- end }}

{{- /* Whether a volume that one node has at a time is shared with the gateways' pods. */}}
{{- define "lyceum.oneNode" -}}
{{- if and (not .Values.sidecar.enabled) (eq .Values.volume.accessMode "ReadWriteOnce") }}true{{ end }}
{{- end }}

{{- /* Whether one operator ends before the next one begins. */}}
{{- define "lyceum.inTurn" -}}
{{- if and (eq (int .Values.replicas) 1) (or .Values.sidecar.enabled (include "lyceum.oneNode" .)) }}true{{ end }}
{{- end }}

{{- /* Whether there are several operators that need not share a node. */}}
{{- define "lyceum.spread" -}}
{{- if and (gt (int .Values.replicas) 1) (not (include "lyceum.oneNode" .)) }}true{{ end }}
{{- end }}

{{- /* Options for Node. Takes the MiB of its young generation and `resources`; three quarters of the memory that a container may have are its heap. */}}
{{- define "lyceum.nodeOptions" -}}
--max-semi-space-size={{ index . 0 }}
{{- with (((index . 1).limits).memory) }}
{{- $units := dict "" 1 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 }}
{{- $number := regexFind "^[0-9.]+" . | float64 }}
{{- $unit := get $units (regexFind "[A-Za-z]*$" .) }}
{{- printf " --max-old-space-size=%d" (divf (mulf $number $unit 0.75) 1048576 | floor | int) }}
{{- end }}
{{- end }}

{{- define "lyceum.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- /* What no schema can say. */}}
{{- define "lyceum.check" -}}
{{- if and .Values.clusterWide .Values.namespaces }}
{{- fail "clusterWide watches every namespace: leave namespaces empty, or clusterWide false" }}
{{- end }}
{{- with .Values.sidecar }}
{{- if and .enabled (not .gateway) }}
{{- fail "sidecar.gateway is missing: name the SkillGateway that the server beside the operator serves, such as agents" }}
{{- end }}
{{- if and .enabled (not (has $.Release.Namespace (include "lyceum.namespaces" $ | fromJsonArray))) }}
{{- fail (printf "sidecar.gateway stands in the release's namespace, which the operator does not watch: add %s to namespaces" $.Release.Namespace) }}
{{- end }}
{{- end }}
{{- if and .Values.sidecar.enabled (.Values.sync).enabled }}
{{- fail "sync.enabled starts pods for gateways, and with sidecar.enabled the operator starts none: set one of the two to false" }}
{{- end }}
{{- if and .Values.sidecar.enabled (gt (int .Values.replicas) 1) }}
{{- fail "replicas is more than 1, but with sidecar.enabled each operator would have a volume and a server of its own: set replicas to 1, or sidecar.enabled to false" }}
{{- end }}
{{- with .Values.webhooks }}
{{- if and (.ingress).enabled (not .enabled) }}
{{- fail "webhooks.ingress.enabled needs webhooks.enabled: it leads to the port for webhooks, and there is none" }}
{{- end }}
{{- if and (.ingress).enabled (not .ingress.host) }}
{{- fail "webhooks.ingress.host is missing: name the host that providers send webhooks to, such as hooks.example.com" }}
{{- end }}
{{- end }}
{{- with .Values.extraCa }}
{{- if and .configMap .secret }}
{{- fail "extraCa: name a configMap or a secret, not both" }}
{{- end }}
{{- end }}
{{- /* Kubernetes refuses another access mode for a claim that is there, and Helm has then changed the rest of the release. */}}
{{- if not (or .Values.sidecar.enabled .Values.volume.existingClaim) }}
{{- $claim := include "lyceum.claim" . }}
{{- with (lookup "v1" "PersistentVolumeClaim" .Release.Namespace $claim).spec }}
{{- if not (has $.Values.volume.accessMode .accessModes) }}
{{- fail (printf "volume.accessMode is %s, but the PersistentVolumeClaim %s is there and has %s, which cannot be changed: set volume.accessMode to that, or volume.existingClaim to a claim that has what you want" $.Values.volume.accessMode $claim (join ", " .accessModes)) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* What `lyceum operator` is told. */}}
{{- define "lyceum.operatorArguments" -}}
- operator
- --volume=/volume
- --tls-folder=/etc/lyceum/tls
{{- if .Values.clusterWide }}
- --all-namespaces
{{- else }}
- --namespaces={{ include "lyceum.namespaces" . | fromJsonArray | join "," }}
{{- end }}
{{- if not .Values.sidecar.enabled }}
- --operator-namespace={{ .Release.Namespace }}
- --lease={{ include "lyceum.fullname" . }}
- --volume-claim={{ include "lyceum.claim" . }}
- --callers-url={{ include "lyceum.callersUrl" . }}
- --callers-ca-secret={{ include "lyceum.tlsSecret" . }}
{{- if (.Values.sync).enabled }}
- --sync
{{- end }}
- --gateway-image={{ include "lyceum.image" . }}
- --gateway-image-pull-policy={{ .Values.image.pullPolicy }}
{{- with .Values.image.pullSecrets }}
{{- $names := list }}
{{- range . }}
{{- $names = append $names .name }}
{{- end }}
- --gateway-image-pull-secrets={{ join "," $names }}
{{- end }}
{{- with .Values.extraCa }}
{{- if or .configMap .secret }}
- --gateway-extra-ca={{ if .configMap }}configmap/{{ .configMap }}{{ else }}secret/{{ .secret }}{{ end }}/{{ .key }}
{{- end }}
{{- end }}
{{- else }}
- --sidecar-gateway={{ .Release.Namespace }}/{{ .Values.sidecar.gateway }}
{{- end }}
{{- if include "lyceum.oneNode" . }}
{{- $labels := list }}
{{- range $key, $value := include "lyceum.selectorLabels" . | fromYaml }}
{{- $labels = append $labels (printf "%s=%s" $key $value) }}
{{- end }}
- --keep-together={{ join "," $labels }}
{{- end }}
- --concurrent-fetches={{ .Values.concurrentFetches }}
{{- with .Values.ceilings }}
- --max-files={{ .files | int }}
- --max-file-size={{ .fileSize }}
- --max-total-size={{ .totalSize }}
{{- end }}
{{- with .Values.denyCidrs }}
- --deny-cidr={{ join "," . }}
{{- end }}
{{- if or .Values.extraCa.configMap .Values.extraCa.secret }}
- --extra-ca-file=/etc/lyceum/extra-ca/{{ .Values.extraCa.key }}
{{- end }}
{{- if (.Values.webhooks).enabled }}
- --webhooks-port=9292
{{- end }}
{{- if .Values.fileRoot }}
- --file-root=/files
{{- end }}
- --log-level={{ .Values.logLevel }}
{{- end }}

{{- /*
Where the operator runs. A volume that one node has at a time draws it to where a gateway of the same volume runs
already; where none does, it matches its own term, by which Kubernetes lets the first one run anywhere.
*/}}
{{- define "lyceum.affinity" -}}
{{- $affinity := deepCopy (.Values.affinity | default dict) }}
{{- if include "lyceum.oneNode" . }}
{{- $names := list (include "lyceum.name" .) "lyceum-gateway" }}
{{- $expression := dict "key" "app.kubernetes.io/name" "operator" "In" "values" $names }}
{{- $term := dict "topologyKey" "kubernetes.io/hostname" "labelSelector" (dict "matchExpressions" (list $expression)) }}
{{- $required := "requiredDuringSchedulingIgnoredDuringExecution" }}
{{- $near := deepCopy ($affinity.podAffinity | default dict) }}
{{- $_ := set $near $required (prepend (get $near $required | default list) $term) }}
{{- $_ := set $affinity "podAffinity" $near }}
{{- end }}
{{- with $affinity }}
{{- toYaml . }}
{{- end }}
{{- end }}

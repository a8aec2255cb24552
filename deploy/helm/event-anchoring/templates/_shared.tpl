{{- /* What every container is refused. */}}
{{- define "locked" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- /* The account of the image, for a pod. */}}
{{- define "account" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- /* The account of Postgres' image. */}}
{{- define "postgresAccount" -}}
{{ include "locked" . }}
runAsUser: 999
runAsGroup: 999
{{- end }}

{{- /* Where a pod may run, besides its own machine. */}}
{{- define "scheduling" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ toJson . }}
{{- end }}
{{- end }}

{{- /* A claim of { size, className }, with this mode of access. */}}
{{- define "claim" -}}
accessModes: [{{ .mode }}]
{{- with .storage.className }}
storageClassName: {{ toJson . }}
{{- end }}
resources: { requests: { storage: {{ toJson .storage.size }} } }
{{- end }}

{{- /* The other nodes of .id, as the control plane reads them. */}}
{{- define "peers" -}}
{{- $peers := list }}
{{- range .nodes }}
{{- if ne .id $.id }}
{{- $peers = append $peers (printf `{"node_id":%q,"host":"node-%s-0.node-%s","port":7400}` .id .id .id) }}
{{- end }}
{{- end -}}
[{{ join ", " $peers }}]
{{- end }}

{{- /* Refuses what the schema cannot see. */}}
{{- define "check" -}}
{{- $ids := list }}
{{- range .Values.nodes }}
{{- if has .id $ids }}{{ fail (printf "nodes: there are two of the id %s" .id) }}{{ end }}
{{- $ids = append $ids .id }}
{{- end }}
{{- if and .Values.backup.enabled (not (has .Values.backup.node $ids)) }}
{{- fail (printf "backup.node: there is no node %s" .Values.backup.node) }}
{{- end }}
{{- end }}

{{- /* The namespace of Prometheus, by its labels. */}}
{{- define "monitoringNamespace" -}}
{{ .Values.network.monitoring | default (dict "event-anchoring/monitoring" "true") | toJson }}
{{- end }}

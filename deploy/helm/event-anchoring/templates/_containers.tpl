{{- /* Of the node .id: its files, and what begins before the api process and ends after it. */}}
{{- define "beforeApi" -}}
{{- $values := .root.Values -}}
# Files of a Secret belong to root and are readable by the group; a node refuses keys that others can read.
- name: own-files
  image: {{ toJson $values.image }}
  command: [/bin/sh, -c]
  args:
    - |
      set -eu
      umask 077
      mkdir -p /own/identity /own/control-plane /own/api
      cp -L /secret/identity/* /own/identity/
      cp -L /secret/settings/control-plane.json /own/control-plane/
      cp -L /secret/settings/api.json /secret/settings/tls.crt /secret/settings/tls.key \
        /secret/identity/root-thk.txt /own/api/
      chmod 600 /own/*/*
  securityContext: {{- include "locked" .root | nindent 4 }}
  resources: { limits: { cpu: 500m, memory: 64Mi } }
  volumeMounts:
    - { name: identity, mountPath: /secret/identity, readOnly: true }
    - { name: settings, mountPath: /secret/settings, readOnly: true }
    - { name: own, mountPath: /own }
- name: postgres
  restartPolicy: Always
  image: {{ toJson $values.postgres.image }}
  args: [postgres, -c, config_file=/etc/anchoring/postgresql.conf]
  env:
    # Taken away by roles.sql: the superuser is let in by its account in this container alone.
    - { name: POSTGRES_PASSWORD, value: not-used-see-pg_hba.conf }
    - { name: PGDATA, value: /var/lib/postgresql/18/docker }
  securityContext: {{- include "postgresAccount" .root | nindent 4 }}
  startupProbe:
    exec: { command: [pg_isready, --quiet, --username=anchoring_owner, --dbname=anchoring] }
    periodSeconds: 2
    timeoutSeconds: 5
    failureThreshold: 150
  resources: {{ toJson $values.postgres.resources }}
  volumeMounts:
    - { name: database, mountPath: /var/lib/postgresql }
    - { name: postgres-socket, mountPath: /var/run/postgresql }
    - { name: postgres-settings, mountPath: /etc/anchoring, readOnly: true }
    - { name: roles, mountPath: /docker-entrypoint-initdb.d, readOnly: true }
    - { name: postgres-tmp, mountPath: /tmp }
- name: control-plane
  restartPolicy: Always
  image: {{ toJson $values.image }}
  args: [control-plane]
  env:
    - { name: ANCHORING_CONTROL_PLANE__LISTEN__HOST, value: 0.0.0.0 }
    - { name: ANCHORING_CONTROL_PLANE__PEERS, value: {{ include "peers" (dict "nodes" $values.nodes "id" .id) | toJson }} }
  ports:
    - { name: control, containerPort: 7400 }
  securityContext: {{- include "locked" .root | nindent 4 }}
  # No liveness probe: a fenced or halted node waits for a person, and must not be started again.
  readinessProbe:
    exec: { command: [/bin/sh, /app/deploy/container/entrypoint.sh, health, control-plane] }
    periodSeconds: 10
    timeoutSeconds: 5
  resources: {{ toJson $values.controlPlane.resources }}
  volumeMounts:
    - { name: own, mountPath: /identity, subPath: identity, readOnly: true }
    - { name: own, mountPath: /config, subPath: control-plane, readOnly: true }
    - { name: promise, mountPath: /promise }
    - { name: run, mountPath: /run/anchoring }
    - { name: postgres-socket, mountPath: /var/run/postgresql, readOnly: true }
    - { name: control-plane-tmp, mountPath: /tmp }
{{- end }}

{{- define "api" -}}
- name: api
  image: {{ toJson .Values.image }}
  args: [api]
  env:
    - { name: ANCHORING_API__LISTEN__HOST, value: 0.0.0.0 }
    - { name: ANCHORING_API__METRICS__HOST, value: 0.0.0.0 }
  ports:
    - { name: api, containerPort: 8080 }
    - { name: metrics, containerPort: 9100 }
  securityContext: {{- include "locked" . | nindent 4 }}
  readinessProbe:
    httpGet: { path: /readyz, port: api, scheme: HTTPS }
    periodSeconds: 1
    timeoutSeconds: 1
    failureThreshold: 2
  lifecycle:
    # Clients learn late that the pod is going: until then they are served.
    preStop: { exec: { command: [sleep, "5"] } }
  resources: {{ toJson .Values.api.resources }}
  volumeMounts:
    - { name: own, mountPath: /config, subPath: api, readOnly: true }
    - { name: run, mountPath: /run/anchoring }
    - { name: postgres-socket, mountPath: /var/run/postgresql, readOnly: true }
    - { name: api-tmp, mountPath: /tmp }
{{- end }}

{{- /* Beside the api process, because Postgres has no network. It makes a backup when the newest is too old. */}}
{{- define "backupSidecar" -}}
- name: backup
  image: {{ toJson .Values.image }}
  args:
    - anchorctl
    - backup
    - keep
    - --database=/config/api.json
    - --folder=/backups
    - --recipients=/recipients/recipients
    - --interval={{ .Values.backup.interval }}
    - --last={{ .Values.backup.retention.last }}
    - --daily={{ .Values.backup.retention.daily }}
    - --weekly={{ .Values.backup.retention.weekly }}
    - --monthly={{ .Values.backup.retention.monthly }}
    - --listen=0.0.0.0:9111
  env:
    - { name: HOME, value: /tmp }
  ports:
    - { name: backup-metrics, containerPort: 9111 }
  securityContext: {{- include "locked" . | nindent 4 }}
  resources: {{ toJson .Values.backup.resources }}
  volumeMounts:
    - { name: own, mountPath: /config, subPath: api, readOnly: true }
    - { name: run, mountPath: /run/anchoring }
    - { name: postgres-socket, mountPath: /var/run/postgresql, readOnly: true }
    - { name: backups, mountPath: /backups }
    - { name: backup-recipients, mountPath: /recipients, readOnly: true }
    - { name: backup-tmp, mountPath: /tmp }
{{- end }}

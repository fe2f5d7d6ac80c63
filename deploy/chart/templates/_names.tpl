{{- define "apportion.fullname" -}}
{{- .Values.fullnameOverride | default .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "apportion.selector" -}}
app.kubernetes.io/name: apportion
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "apportion.labels" -}}
{{ include "apportion.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "apportion.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "apportion.fullname" .) -}}
{{- end -}}

{{- define "apportion.priorityClass" -}}
{{- if .Values.priorityClass.create -}}
{{- .Values.priorityClass.name | default (include "apportion.fullname" .) -}}
{{- else -}}
{{- .Values.priorityClass.name -}}
{{- end -}}
{{- end -}}

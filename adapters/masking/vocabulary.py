"""Words that say nothing about whose cluster it is: masking leaves them as they are."""

NAMES = frozenset(
    {
        "default", "root", "kube-system", "true", "false", "apportion", "default-scheduler",
        "kube-scheduler", "volcano", "kai-scheduler", "koord-scheduler", "hami-scheduler",
    }
)  # fmt: skip
"""Objects and values that every cluster has, and schedulers."""

_LABELS = """
    metadata.name zone block rack app user role
    app.kubernetes.io/name app.kubernetes.io/instance app.kubernetes.io/component
    app.kubernetes.io/part-of app.kubernetes.io/version app.kubernetes.io/managed-by
    kubernetes.io/hostname kubernetes.io/arch kubernetes.io/os kubernetes.io/metadata.name
    beta.kubernetes.io/arch beta.kubernetes.io/os beta.kubernetes.io/instance-type
    failure-domain.beta.kubernetes.io/zone failure-domain.beta.kubernetes.io/region
    topology.kubernetes.io/zone topology.kubernetes.io/region
    node.kubernetes.io/instance-type node-role.kubernetes.io/control-plane
    node-role.kubernetes.io/master node-role.kubernetes.io/worker
    node.kubernetes.io/exclude-from-external-load-balancers
    cloud.provider.com/topology-block cloud.provider.com/topology-rack
    pod-template-hash controller-revision-hash pod-template-generation job-name controller-uid
    batch.kubernetes.io/job-name batch.kubernetes.io/controller-uid
    batch.kubernetes.io/job-completion-index statefulset.kubernetes.io/pod-name
    apps.kubernetes.io/pod-index
    scheduling.x-k8s.io/pod-group pod-group.scheduling.sigs.k8s.io
    pod-group.scheduling.sigs.k8s.io/name pod-group.scheduling.sigs.k8s.io/min-available
    jobset.sigs.k8s.io/jobset-name jobset.sigs.k8s.io/replicatedjob-name
    jobset.sigs.k8s.io/job-index jobset.sigs.k8s.io/job-key
    leaderworkerset.sigs.k8s.io/name leaderworkerset.sigs.k8s.io/group-index
    leaderworkerset.sigs.k8s.io/worker-index leaderworkerset.sigs.k8s.io/group-key
    training.kubeflow.org/job-name training.kubeflow.org/replica-type
    training.kubeflow.org/replica-index training.kubeflow.org/job-role
    ray.io/node-type ray.io/group ray.io/cluster
    volcano.sh/job-name volcano.sh/job-namespace volcano.sh/task-spec volcano.sh/task-index
    volcano.sh/partition-id volcano.sh/queue-name volcano.sh/preemptable
    volcano.sh/task-priority volcano.sh/cooldown-time scheduling.volcano.sh/queue-name
    kai.scheduler/queue kai.scheduler/subgroup-name kai.scheduler/task-priority
    kai.scheduler/preemptibility kai.scheduler/node-pool runai/queue runai-gpu-group
    kueue.x-k8s.io/queue-name kueue.x-k8s.io/local-queue-name
    kueue.x-k8s.io/cluster-queue-name kueue.x-k8s.io/pod-group-name
    quota.scheduling.koordinator.sh/name quota.scheduling.koordinator.sh/preemptible
    nvidia.com/gpu.present nvidia.com/gpu.product nvidia.com/gpu.count nvidia.com/gpu.memory
    nvidia.com/gpu.family nvidia.com/gpu.machine nvidia.com/gpu.replicas
    nvidia.com/gpu.clique nvidia.com/mig.capable nvidia.com/mig.config nvidia.com/mig.strategy
    resource.kubernetes.io/pcieRoot resource.kubernetes.io/pciBusID
"""
_TAINTS = """
    node.kubernetes.io/not-ready node.kubernetes.io/unreachable node.kubernetes.io/unschedulable
    node.kubernetes.io/memory-pressure node.kubernetes.io/disk-pressure
    node.kubernetes.io/pid-pressure node.kubernetes.io/network-unavailable
    node.kubernetes.io/out-of-service node.cloudprovider.kubernetes.io/uninitialized
    node.cloudprovider.kubernetes.io/shutdown nvidia.com/gpu amd.com/gpu
"""
_GATES = "kueue.x-k8s.io/admission kueue.x-k8s.io/topology"
KEYS = frozenset(f"{_LABELS} {_TAINTS} {_GATES}".split())
"""Keys of labels, taints, attributes of devices, and scheduling gates."""
_HARDWARE = """
    kubernetes.io/arch kubernetes.io/os beta.kubernetes.io/arch beta.kubernetes.io/os
    nvidia.com/gpu.present nvidia.com/gpu.product nvidia.com/gpu.count nvidia.com/gpu.memory
    nvidia.com/gpu.family nvidia.com/gpu.replicas nvidia.com/mig.capable nvidia.com/mig.strategy
"""
VALUES = frozenset(_HARDWARE.split())
"""Labels whose values stay too: rules read some, and all say what is for sale."""
_KINDS = """
    ConfigMap Secret Service ServiceAccount Endpoints EndpointSlice Event Lease Ingress
    NetworkPolicy CronJob DaemonSet HorizontalPodAutoscaler VerticalPodAutoscaler
    ControllerRevision PodTemplate Role RoleBinding ClusterRole ClusterRoleBinding
    CustomResourceDefinition APIService MutatingWebhookConfiguration
    ValidatingWebhookConfiguration RuntimeClass IngressClass FlowSchema
    PriorityLevelConfiguration ComponentStatus Scenario Namespace Node
"""
KINDS = frozenset(_KINDS.split())
"""Kinds that every cluster has, beside those that are read."""
ADDRESSES = frozenset({"0.0.0.0", "::"})
TOPOLOGIES = frozenset({"hypernodes", "labels"})

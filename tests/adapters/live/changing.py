"""A cluster of every kind at once that changes at random, for the property of the mirror.

Names come from small pools, so that objects speak of each other, and of some that are not there.
"""

import random
from collections.abc import Callable, Iterator
from typing import Any

from kubernetes_objects import (
    NOON,
    Data,
    container,
    in_group,
    node,
    obj,
    pod,
    pod_group,
    priority_class,
    queue,
)

Kind = tuple[str, str]
GPU = "nvidia.com/gpu"
CLASS = "gpu.example.com"
LATER = ("2026-01-05T12:00:00Z", "2026-01-05T12:03:00Z", "2026-01-05T12:20:00Z")
MIN_MEMBER = "scheduling.volcano.sh/group-min-member"
VGPU = "volcano.sh/node-vgpu-register"
DRA = "resource.k8s.io/v1"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


_NOT_OF_KUEUE: tuple[Kind, ...] = (
    ("scheduling.volcano.sh", "Queue"),
    ("scheduling.x-k8s.io", "ElasticQuota"),
)


class Changing:
    """Draws objects; ``shares`` are drawn rarely or often, ``mig`` says in which mode cards are.

    With ``grouped``, labels of pods name groups of shares, as KAI's do.
    """

    def __init__(
        self, seed: int, shares: float, mig: bool = False, grouped: bool = True, kueue: bool = False
    ) -> None:
        self.rng = random.Random(seed)
        self.shares = shares
        self.mig = mig
        self.grouped = grouped
        self.there: dict[tuple[Kind, str, str], Data] = {}
        self._makers: dict[Kind, tuple[int, Callable[[], Data]]] = {
            ("", "Pod"): (60, self._pod),
            ("", "Node"): (8, self._node),
            ("scheduling.volcano.sh", "PodGroup"): (8, self._volcano_group),
            ("scheduling.run.ai", "PodGroup"): (3, self._kai_group),
            ("scheduling.k8s.io", "Workload"): (2, self._workload),
            ("scheduling.volcano.sh", "Queue"): (2, self._queue),
            ("scheduling.x-k8s.io", "ElasticQuota"): (1, self._elastic),
            ("", "Namespace"): (2, self._namespace),
            ("scheduling.k8s.io", "PriorityClass"): (2, self._priority),
            ("", "LimitRange"): (1, self._limits),
            ("", "ResourceQuota"): (2, self._quota),
            ("", "PersistentVolumeClaim"): (3, self._claim),
            ("", "PersistentVolume"): (2, self._volume),
            ("storage.k8s.io", "StorageClass"): (1, self._storage_class),
            ("storage.k8s.io", "CSINode"): (1, self._csi_node),
            ("storage.k8s.io", "VolumeAttachment"): (1, self._attachment),
            ("resource.k8s.io", "DeviceClass"): (1, self._device_class),
            ("resource.k8s.io", "ResourceSlice"): (2, self._slice),
            ("resource.k8s.io", "ResourceClaim"): (2, self._device_claim),
            ("resource.k8s.io", "ResourceClaimTemplate"): (1, self._template),
            ("policy", "PodDisruptionBudget"): (3, self._budget),
            ("apps", "ReplicaSet"): (3, self._replica_set),
            ("apps", "Deployment"): (2, self._deployment),
            ("batch", "Job"): (3, self._job),
            ("jobset.x-k8s.io", "JobSet"): (2, self._job_set),
            ("topology.volcano.sh", "HyperNode"): (2, self._hypernode),
            ("kai.scheduler", "Topology"): (1, self._topology),
            ("topology.node.k8s.io", "NodeResourceTopology"): (1, self._numa),
            ("nodeinfo.volcano.sh", "Numatopology"): (1, self._numatopology),
            ("kubeflow.org", "PyTorchJob"): (2, self._training),
            ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): (2, self._leader_workers),
        }
        if kueue:
            for kind in _NOT_OF_KUEUE:
                del self._makers[kind]
            self._makers[("kueue.x-k8s.io", "ClusterQueue")] = (3, self._cluster_queue)
            self._makers[("kueue.x-k8s.io", "Cohort")] = (1, self._cohort)
            self._makers[("kueue.x-k8s.io", "LocalQueue")] = (3, self._local_queue)
            self._makers[("kueue.x-k8s.io", "ResourceFlavor")] = (1, self._flavor)

    def steps(self, n: int, most: int = 4) -> Iterator[list[tuple[Kind, str, str, Data | None]]]:
        """Yield n times what changes at once: kind, namespace, name, object or None for gone."""
        for _ in range(n):
            yield [self._change() for _ in range(self.rng.randint(1, most))]

    def _change(self) -> tuple[Kind, str, str, Data | None]:
        if self.there and self.rng.random() < 0.3:
            key = self.rng.choice(sorted(self.there))
            del self.there[key]
            return (*key, None)
        kinds = sorted(self._makers)
        [kind] = self.rng.choices(kinds, [self._makers[k][0] for k in kinds])
        one = self._makers[kind][1]()
        if self.rng.random() < 0.04:
            one = self._spoiled(one)
        meta = one["metadata"]
        key = (kind, meta.get("namespace", ""), meta["name"])
        self.there[key] = one
        return (*key, one)

    def _spoiled(self, one: Data) -> Data:
        return {**one, self.rng.choice(["spec", "metadata"]): {**one["metadata"], "labels": 3}}

    # Small words

    def _one(self, *of: Any) -> Any:
        return self.rng.choice(of)

    def _name(self, prefix: str, n: int = 3) -> str:
        return f"{prefix}{self.rng.randrange(n)}"

    def _often(self, part: float) -> bool:
        return self.rng.random() < part

    def _space(self) -> str:
        return self.rng.choice(("default", "default", "team"))

    def _labels(self) -> dict[str, str]:
        return {k: self._one("a", "b") for k in ("app", "tier") if self._often(0.5)}

    def _meta(self, **more: Any) -> Data:
        """Return a uid and a moment, which an object of a cluster has; rarely none."""
        if self._often(0.1):
            return more
        return {"uid": self._name("u", 99), "creationTimestamp": self._one(NOON, *LATER), **more}

    # Pods

    def _pod(self) -> Data:
        notes: dict[str, str] = {}
        labels = self._labels()
        spec: Data = {}
        requests: dict[str, Any] = {"cpu": self._one("1", "2", "500m")}
        self._place(spec)
        owner = self._group(notes, labels, spec)
        self._ask(notes, labels, spec, requests)
        status: Data = {}
        if self._often(0.1):
            status["phase"] = self._one("Succeeded", "Failed")
        if self._often(0.05):
            status |= {"phase": "Failed", "reason": "TopologyAffinityError"}
        if "nodeName" not in spec and self._often(0.15):
            status["nominatedNodeName"] = self._name("n", 5)
        meta = self._meta()
        if "uid" not in meta and self._often(0.5):
            status["phase"] = ""  # not admitted yet
        if self._often(0.05):
            notes["example.com/numa"] = "node-0"
        if self._often(0.08):
            meta["deletionTimestamp"] = LATER[0]
        scheduler = self._one("apportion", "apportion", "apportion", "default-scheduler")
        return pod(
            self._name("p", 25), namespace=self._space(), labels=labels, annotations=notes,
            owner=owner, meta=meta, status=status, scheduler=scheduler,
            containers=[container(requests)], **spec,
        )  # fmt: skip

    def _place(self, spec: Data) -> None:
        if self._often(0.5):
            spec["nodeName"] = self._name("n", 5)
        if self._often(0.1):
            spec["priorityClassName"] = self._name("high", 3)
        if self._often(0.05):
            spec["schedulingGates"] = [{"name": "wait"}]
        if self._often(0.1):
            term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}}
            if self._often(0.6):
                term["namespaceSelector"] = {"matchLabels": {"app": "a"}}
            spec["affinity"] = {"podAntiAffinity": {REQUIRED: [term]}}

    def _group(
        self, notes: dict[str, str], labels: dict[str, str], spec: Data
    ) -> tuple[str, str] | None:
        """Put the pod into a group, or under an owner."""
        how = self.rng.randrange(16)
        if how < 3:
            notes |= in_group(self._name("g", 4))
        elif how == 3:
            notes["pod-group-name"] = self._name("g", 4)
        elif how == 4:
            labels["pod-group.scheduling.sigs.k8s.io/name"] = self._name("g", 4)
            labels["pod-group.scheduling.sigs.k8s.io/min-available"] = self._one("1", "2", "x")
        elif how == 5:
            spec["workloadRef"] = {"name": "w", "podGroup": self._name("x", 2)}
            if self._often(0.5):
                spec["workloadRef"]["podGroupReplicaKey"] = self._name("r", 2)
        elif how == 6:
            labels["jobset.sigs.k8s.io/jobset-name"] = self._name("j", 2)
            return ("Job", self._name("j", 3))
        elif how == 10:
            labels["training.kubeflow.org/replica-type"] = self._one("master", "worker")
            return ("PyTorchJob", "t")
        elif how == 11:
            labels["leaderworkerset.sigs.k8s.io/name"] = "lws"
            labels["leaderworkerset.sigs.k8s.io/group-index"] = self._one("0", "1")
            return ("StatefulSet", "lws")
        if self._often(0.1):
            notes[MIN_MEMBER] = self._one("1", "2", "many")
        if self._often(0.1):
            key = self._one("apportion.dev/topology-", "kai.scheduler/topology-")
            notes[f"{key}required" + ("-placement" if "kai" in key else "")] = "rack"
        if self._often(0.1):
            labels["kueue.x-k8s.io/queue-name"] = self._name("lq", 2)
        if self._often(0.1):
            notes["volcano.sh/queue-name"] = self._name("q", 3)
        if self._often(0.1):
            notes["apportion.dev/runtime"] = self._one("90s", "soon")
        if self._often(0.1):
            labels["kueue.x-k8s.io/max-exec-time-seconds"] = self._one("600", "1h")
        if how in (7, 8):
            return ("ReplicaSet", self._name("s", 3))
        return ("Job", self._name("j", 3)) if how == 9 else None

    def _ask(
        self, notes: dict[str, str], labels: dict[str, str], spec: Data, requests: dict[str, Any]
    ) -> None:
        """Ask for devices, parts of devices, volumes."""
        how = self.rng.random()
        if how < self.shares:
            which = self.rng.randrange(4 if self.mig else 3)
            if which == 0:
                notes["gpu-fraction"] = self._one("0.5", "0.25")
                if self.grouped and self._often(0.3):
                    labels["runai-gpu-group"] = self._name("gg", 2)
            elif which == 1:
                requests |= {GPU: 1, "nvidia.com/gpumem": self._one(1000, 8000)}
                if self._often(0.5):
                    notes["hami.io/vgpu-devices-allocated"] = "GPU-0,NVIDIA,1000,0:;"
            elif which == 2:
                requests[GPU] = 1
                if self._often(0.5):
                    notes["example.com/gpu-index"] = self._one("0", "1", "0,1")
                if self.grouped and self._often(0.2):
                    notes["run.ai/reserve_for_gpu_index"] = "1"
                    labels["runai-gpu-group"] = self._name("gg", 2)
            else:
                requests["volcano.sh/vgpu-memory"] = self._one(5000, 15000)
                notes["volcano.sh/vgpu-mode"] = "mig"
        elif how < self.shares + 0.1:
            requests[GPU] = 1
        elif how < self.shares + 0.15:
            requests["nvidia.com/mig-1g.10gb"] = 1
        if self._often(0.15):
            one: Data = {"name": "data", "persistentVolumeClaim": {"claimName": self._name("c", 3)}}
            if self._often(0.2):
                template = {"spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"]}}
                one = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}
            elif self._often(0.2):
                one = {"name": "disk", "awsElasticBlockStore": {"volumeID": "vol-0"}}
            spec["volumes"] = [one]
        if self._often(0.1):
            named = self._one(
                {"resourceClaimName": self._name("d", 2)}, {"resourceClaimTemplateName": "t"}
            )
            spec["resourceClaims"] = [{"name": "dev", **named}]

    # Nodes and what others say of them

    def _node(self) -> Data:
        offers: dict[str, Any] = {"cpu": "16", "memory": "64Gi", "pods": "110", GPU: "2"}
        if self._often(0.2):
            offers["nvidia.com/mig-1g.10gb"] = "4"
        made = node(self._name("n", 4), **offers)
        made["metadata"]["labels"] |= {"rack": self._name("r", 2), **self._labels()}
        made["metadata"]["labels"]["nvidia.com/gpu.memory"] = self._one("16384", "81920")
        if self._often(0.4):
            mode = ",mig" if self.mig else ""
            rows = "".join(f"GPU-{i},10,81920,NVIDIA-A100-SXM4-80GB,true{mode}:" for i in (0, 1))
            made["metadata"]["annotations"] = {VGPU: self._one(rows, rows, "[{}")}
        if self._often(0.2):
            made["spec"] = {"unschedulable": True}
        if self._often(0.1):
            made["status"]["allocatable"] = {"cpu": self._one("lots", "8")}
        return made

    def _csi_node(self) -> Data:
        name = self._one("csi.example.com", "ebs.csi.aws.com")
        driver = {"name": name, "topologyKeys": [self._one("zone", "rack")],
                  "allocatable": {"count": self._one(1, 8)}}  # fmt: skip
        return obj("storage.k8s.io/v1", "CSINode", self._name("n", 4), None,
                   spec={"drivers": [driver]})  # fmt: skip

    def _hypernode(self) -> Data:
        by_label = {"labelMatch": {"matchLabels": {"rack": self._name("r", 2)}}}
        match = self._one({"exactMatch": {"name": self._name("n", 4)}}, by_label)
        spec = {"tier": self._one(1, 2), "members": [{"type": "Node", "selector": match}]}
        return obj("topology.volcano.sh/v1alpha1", "HyperNode", self._name("h"), None, spec=spec)

    def _topology(self) -> Data:
        levels = [{"nodeLabel": x} for x in self._one(["app", "rack"], ["rack"], [])]
        return obj("kai.scheduler/v1alpha1", "Topology", "t", None, spec={"levels": levels})

    def _numa(self) -> Data:
        cpu = {"name": "cpu", "capacity": "8", "available": self._one("2", "8")}
        zone = {"name": self._one("node-0", "cell"), "type": "Node", "resources": [cpu]}
        return obj("topology.node.k8s.io/v1alpha2", "NodeResourceTopology", self._name("n", 4),
                   None, zones=[zone])  # fmt: skip

    def _numatopology(self) -> Data:
        detail = {str(i): {"numa": i // 2, "socket": 0, "core": i} for i in range(4)}
        given = {"namespace": "default", "name": self._name("p", 25),
                 "containerAllocations": [{"allocations": {"cpu": "0-1"}}]}  # fmt: skip
        spec = {"cpuDetail": detail, "podAllocations": [given] if self._often(0.5) else []}
        return obj("nodeinfo.volcano.sh/v1alpha1", "Numatopology", self._name("n", 4), None,
                   spec=spec)  # fmt: skip

    # Groups, queues, owners

    def _volcano_group(self) -> Data:
        spec: Data = {"minMember": self.rng.randint(1, 3)}
        if self._often(0.3):
            spec["queue"] = self._name("q", 3)
        if self._often(0.2):
            spec["priorityClassName"] = self._name("high", 3)
        if self._often(0.3):
            spec["networkTopology"] = {"mode": self._one("hard", "soft"), "highestTierAllowed": 1}
        if self._often(0.3):
            spec["minResources"] = {"cpu": self._one("2", "many", "4")}
        phase = self._one("Pending", "Inqueue", "Running", "Completed")
        meta = self._meta()
        if self._often(0.3):
            owner = {"kind": "Job", "name": self._name("j", 3), "controller": True}
            meta["ownerReferences"] = [owner]
        made = pod_group(self._name("g", 4), meta=meta, status={"phase": phase}, **spec)
        made["metadata"]["namespace"] = self._space()
        return made

    def _kai_group(self) -> Data:
        return pod_group(self._name("g", 4), api="scheduling.run.ai/v2alpha2", meta=self._meta(),
                         minMember=self.rng.randint(1, 2))  # fmt: skip

    def _workload(self) -> Data:
        groups = [{"name": f"x{i}", "policy": {"gang": {"minCount": self._one(1, 2)}}}
                  for i in range(self._one(1, 2))]  # fmt: skip
        return obj("scheduling.k8s.io/v1alpha1", "Workload", "w", meta=self._meta(),
                   spec={"podGroups": groups})  # fmt: skip

    def _queue(self) -> Data:
        spec: Data = {"weight": self.rng.randint(1, 3)}
        if self._often(0.3):
            spec["deserved"] = {self._one(GPU, "cpu", "deviceclass/" + CLASS): "4"}
        if self._often(0.2):
            spec["parent"] = self._name("q", 3)
        return queue(self._name("q", 3), **spec)

    def _elastic(self) -> Data:
        return obj("scheduling.x-k8s.io/v1alpha1", "ElasticQuota", self._name("e", 2),
                   self._space(), spec={"min": {"cpu": self._one("1", "8")}})  # fmt: skip

    def _replica_set(self) -> Data:
        return self._owner("apps/v1", "ReplicaSet", self._name("s", 3), ("Deployment", "app0"))

    def _deployment(self) -> Data:
        return self._owner("apps/v1", "Deployment", self._name("app", 2), None)

    def _job(self) -> Data:
        made = self._owner("batch/v1", "Job", self._name("j", 3), ("JobSet", self._name("j", 2)))
        if self._often(0.4):
            made["spec"] |= {"parallelism": 2, "completions": 2, "completionMode": "Indexed"}
        if self._often(0.4):
            made["spec"]["activeDeadlineSeconds"] = self._one(60, 3600)
            made.setdefault("status", {})["startTime"] = NOON
        return made

    def _job_set(self) -> Data:
        jobs = [{"name": "main", "replicas": self._one(1, 2), "template": {"spec": {}}}]
        return obj("jobset.x-k8s.io/v1alpha2", "JobSet", self._name("j", 2), self._space(),
                   spec={"replicatedJobs": jobs})  # fmt: skip

    def _training(self) -> Data:
        replicas = {"Master": {}, "Worker": {"replicas": self._one(1, 2)}}
        return obj("kubeflow.org/v1", "PyTorchJob", "t", self._space(), meta=self._meta(),
                   spec={"pytorchReplicaSpecs": replicas})  # fmt: skip

    def _leader_workers(self) -> Data:
        return obj("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "lws", self._space(),
                   meta=self._meta(), spec={"replicas": 2, "leaderWorkerTemplate": {
                       "size": self._one(1, 2)}})  # fmt: skip

    def _cluster_queue(self) -> Data:
        quota = {"name": "cpu", "nominalQuota": self._one(2, 8)}
        flavors = [{"name": "f", "resources": [quota]}]
        spec: Data = {"resourceGroups": [{"flavors": flavors}], "cohortName": self._name("co", 2)}
        spec["namespaceSelector"] = self._one({}, {"matchLabels": {"app": "a"}})
        return obj("kueue.x-k8s.io/v1beta1", "ClusterQueue", self._name("cq", 2), None, spec=spec)

    def _cohort(self) -> Data:
        return obj("kueue.x-k8s.io/v1beta1", "Cohort", self._name("co", 2), None, spec={})

    def _local_queue(self) -> Data:
        return obj("kueue.x-k8s.io/v1beta1", "LocalQueue", self._name("lq", 2), self._space(),
                   spec={"clusterQueue": self._name("cq", 2),
                         "stopPolicy": self._one("None", "None", "Hold")})  # fmt: skip

    def _flavor(self) -> Data:
        labels = self._one({}, {"zone": "a"}, {"zone": "b"})
        return obj("kueue.x-k8s.io/v1beta1", "ResourceFlavor", "f", None,
                   spec={"nodeLabels": labels})  # fmt: skip

    def _owner(self, api: str, kind: str, name: str, above: tuple[str, str] | None) -> Data:
        meta: Data = self._meta()
        if self._often(0.3):
            meta["annotations"] = {MIN_MEMBER: self._one("1", "2")}
        if above is not None and self._often(0.6):
            meta["ownerReferences"] = [{"kind": above[0], "name": above[1], "controller": True}]
        return obj(api, kind, name, self._space(), meta=meta,
                   spec={"replicas": self.rng.randint(1, 4)})  # fmt: skip

    # What bounds them

    def _namespace(self) -> Data:
        meta: Data = {"labels": self._labels()}
        if self._often(0.3):
            meta["annotations"] = {"scheduling.volcano.sh/queue-name": self._name("q", 3)}
        return obj("v1", "Namespace", self._one("default", "team", "other"), None, meta=meta)

    def _priority(self) -> Data:
        more = {"globalDefault": True} if self._often(0.2) else {}
        return priority_class(self._name("high", 2), self._one(10, 1000), **more)

    def _limits(self) -> Data:
        item = {"type": "Container", "default": {"memory": self._one("1Gi", "much")}}
        return obj("v1", "LimitRange", "l", self._space(), spec={"limits": [item]})

    def _quota(self) -> Data:
        hard = {self._one("requests.storage", "requests.cpu"): "100"}
        used = {k: self._one("1", "2") for k in hard}
        return obj("v1", "ResourceQuota", "rq", self._space(), spec={"hard": hard},
                   status={"hard": hard, "used": used})  # fmt: skip

    def _budget(self) -> Data:
        spec: Data = {"selector": {"matchLabels": {"app": self._one("a", "b")}}}
        spec[self._one("minAvailable", "maxUnavailable")] = self._one(1, 2, "50%")
        if self._often(0.1):
            spec["selector"] = {"matchExpressions": [{"key": "app", "operator": "Odd"}]}
        status = {"disruptionsAllowed": 1, "observedGeneration": 2} if self._often(0.4) else {}
        return obj("policy/v1", "PodDisruptionBudget", self._name("b", 3), self._space(),
                   meta={"generation": 2}, spec=spec, status=status)  # fmt: skip

    # Volumes and devices

    def _claim(self) -> Data:
        spec: Data = {
            "storageClassName": "fast",
            "accessModes": [self._one("ReadWriteOnce", "ReadWriteMany")],
            "resources": {"requests": {"storage": "1Gi"}},
        }
        if self._often(0.5):
            spec["volumeName"] = self._name("v", 3)
        return obj("v1", "PersistentVolumeClaim", self._name("c", 3), self._space(), spec=spec)

    def _volume(self) -> Data:
        operator = self._one("In", "In", "Odd")
        match = [{"key": "rack", "operator": operator, "values": [self._name("r", 2)]}]
        affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": match}]}}
        spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                "nodeAffinity": affinity}  # fmt: skip
        return obj("v1", "PersistentVolume", self._name("v", 3), None, spec=spec)

    def _storage_class(self) -> Data:
        head = obj("storage.k8s.io/v1", "StorageClass", "fast", None)
        mode = self._one("WaitForFirstConsumer", "Immediate")
        return {**head, "provisioner": "csi.example.com", "volumeBindingMode": mode}

    def _attachment(self) -> Data:
        spec = {"attacher": "csi.example.com", "nodeName": self._name("n", 4),
                "source": {"persistentVolumeName": self._name("v", 3)}}  # fmt: skip
        return obj("storage.k8s.io/v1", "VolumeAttachment", self._name("at", 2), None, spec=spec)

    def _device_class(self) -> Data:
        cel = {"cel": {"expression": f'device.driver == "{CLASS}"'}}
        more = {"extendedResourceName": GPU} if self._often(0.5) else {}
        return obj(DRA, "DeviceClass", CLASS, None, spec={"selectors": [cel], **more})

    def _slice(self) -> Data:
        on = self._name("n", 3)
        pool = {"name": on, "generation": 1, "resourceSliceCount": 1}
        devices = [{"name": x} for x in self._one("a", "ab")]
        spec = {"driver": CLASS, "pool": pool, "nodeName": on, "devices": devices}
        return obj(DRA, "ResourceSlice", f"{on}-x", None, spec=spec)

    def _device_claim(self) -> Data:
        status: Data = {}
        if self._often(0.4):
            result = {"request": "r", "driver": CLASS, "pool": "n0", "device": "a"}
            operator = self._one("In", "Odd")
            terms = [
                {"matchExpressions": [{"key": "rack", "operator": operator, "values": ["r0"]}]}
            ]
            status = {"allocation": {"devices": {"results": [result]},
                                     "nodeSelector": {"nodeSelectorTerms": terms}}}  # fmt: skip
        return obj(DRA, "ResourceClaim", self._name("d", 2), self._space(),
                   spec=self._asked(), status=status)  # fmt: skip

    def _template(self) -> Data:
        return obj(DRA, "ResourceClaimTemplate", "t", self._space(), spec={"spec": self._asked()})

    def _asked(self) -> Data:
        exactly = {"deviceClassName": CLASS, "count": self._one(1, 2)}
        return {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}

"""The manifests in docs/examples/kubernetes: checked by a schema of what they use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # a dependency of nbformat
import pytest
import yaml

from callscore.engine.workload import EngineOptions

FOLDER = Path(__file__).parents[1] / "docs" / "examples" / "kubernetes"
NAME = {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"}
MEMORY = {"type": "string", "pattern": "^[1-9][0-9]*(Mi|Gi)$"}
COUNT = {"type": "integer", "minimum": 1}


def record(required: str, **properties: Any) -> dict[str, Any]:
    """An object with these keys and no others; `required` names those that it must have."""
    return {
        "type": "object",
        "required": required.split(),
        "properties": properties,
        "additionalProperties": False,
    }


def constant(value: object) -> dict[str, Any]:
    return {"const": value}


METADATA = record("name", name=NAME, labels={"type": "object"})
CONTAINER = record(
    "name image args envFrom resources securityContext volumeMounts",
    name=NAME,
    image={"type": "string", "pattern": ":[0-9][0-9.]*$"},
    args={"type": "array", "items": {"type": "string"}, "minItems": 2},
    workingDir={"type": "string", "pattern": "^/"},
    envFrom={"type": "array", "items": record("secretRef", secretRef=record("name", name=NAME))},
    resources=record(
        "requests limits",
        requests=record(
            "cpu memory", cpu={"type": "string", "pattern": "^[0-9]+m?$"}, memory=MEMORY
        ),
        limits=record("memory", memory=MEMORY),
    ),
    securityContext=record(
        "allowPrivilegeEscalation readOnlyRootFilesystem capabilities",
        allowPrivilegeEscalation=constant(False),
        readOnlyRootFilesystem=constant(True),
        capabilities=record("drop", drop=constant(["ALL"])),
    ),
    volumeMounts={
        "type": "array",
        "items": record(
            "name mountPath",
            name=NAME,
            mountPath={"type": "string", "pattern": "^/"},
            readOnly={"type": "boolean"},
        ),
    },
)
POD = record(
    "restartPolicy terminationGracePeriodSeconds securityContext containers volumes",
    restartPolicy={"enum": ["OnFailure", "Never"]},
    terminationGracePeriodSeconds={"type": "integer", "minimum": 10},
    automountServiceAccountToken=constant(False),
    securityContext=record(
        "runAsNonRoot runAsUser seccompProfile",
        runAsNonRoot=constant(True),
        runAsUser=COUNT,
        runAsGroup=COUNT,
        fsGroup=COUNT,
        seccompProfile=record("type", type=constant("RuntimeDefault")),
    ),
    containers={"type": "array", "items": CONTAINER, "minItems": 1},
    volumes={
        "type": "array",
        "items": record(
            "name",
            name=NAME,
            emptyDir=record("", sizeLimit=MEMORY),
            persistentVolumeClaim=record("claimName", claimName=NAME, readOnly={"type": "boolean"}),
        ),
    },
)
JOB = record(
    "apiVersion kind metadata spec",
    apiVersion=constant("batch/v1"),
    kind=constant("Job"),
    metadata=METADATA,
    spec=record(
        "template parallelism backoffLimit",
        parallelism=COUNT,
        backoffLimit=COUNT,
        ttlSecondsAfterFinished=COUNT,
        template=record("spec", metadata=record("", labels={"type": "object"}), spec=POD),
    ),
)
SECRET = record(
    "apiVersion kind metadata type stringData",
    apiVersion=constant("v1"),
    kind=constant("Secret"),
    metadata=METADATA,
    type=constant("Opaque"),
    stringData={"type": "object", "additionalProperties": constant("")},
)
SCHEMAS = {"Job": JOB, "Secret": SECRET}


@pytest.fixture
def manifests() -> dict[str, Any]:
    text = (FOLDER / "work.yaml").read_text(encoding="utf-8")
    return {each["kind"]: each for each in yaml.safe_load_all(text)}


def test_the_manifests_have_the_keys_of_kubernetes_and_no_others(manifests: dict[str, Any]) -> None:
    assert manifests.keys() == SCHEMAS.keys()
    for kind, manifest in manifests.items():
        jsonschema.validate(manifest, SCHEMAS[kind])


def test_a_pod_refers_to_what_the_manifests_have(manifests: dict[str, Any]) -> None:
    pod = manifests["Job"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}
    secrets = {each["secretRef"]["name"] for each in container["envFrom"]}
    assert secrets == {manifests["Secret"]["metadata"]["name"]}


def test_a_pod_is_killed_only_after_requests_had_their_time(manifests: dict[str, Any]) -> None:
    pod = manifests["Job"]["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] > 2 * EngineOptions().grace_s

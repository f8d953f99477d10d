"""Whether each document is what its kind allows: Kubernetes' own schemas, and those of the resources of operators.

The operators' are written for the fields that are used here, after their definitions (KEDA 2.21, Strimzi's v1, the
Prometheus operator's v1): a field that is not listed is most often misspelt, and an operator ignores it silently.
"""

import json
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import jsonschema
import kubernetes_validate

from tests.deployment.rendered import Document, named

KUBERNETES = "1.34.0"

Schema = dict[str, Any]


def _object(required: str = "", **properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items, "minItems": 1}


_TEXT: Schema = {"type": "string", "minLength": 1}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_YES: Schema = {"type": "boolean"}
_TEXTS: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
_ANY: Schema = {"type": "object"}


def _one_of(*values: str) -> Schema:
    return {"enum": list(values)}


_HPA_RULE = _object(
    "policies",
    stabilizationWindowSeconds=_COUNT,
    selectPolicy=_one_of("Max", "Min", "Disabled"),
    policies=_list(
        _object("type value periodSeconds", type=_one_of("Pods", "Percent"), value=_COUNT, periodSeconds=_COUNT)
    ),
)
_REFERENCE = _object("parameter name key", parameter=_TEXT, name=_TEXT, key=_TEXT)

_RECORD = _object("record expr", record=_TEXT, expr=_TEXT, labels=_TEXTS)
_ALERT = _object(
    "alert expr labels annotations",
    alert=_TEXT,
    expr=_TEXT,
    **{"for": {"type": "string", "pattern": "^[0-9]+[smhd]$"}, "keep_firing_for": _TEXT},
    labels=_TEXTS,
    annotations=_TEXTS,
)

SPECS: dict[str, Schema] = {
    "ScaledObject": _object(
        "scaleTargetRef triggers",
        scaleTargetRef=_object("name", name=_TEXT, kind=_TEXT, apiVersion=_TEXT),
        minReplicaCount=_COUNT,
        maxReplicaCount={"type": "integer", "minimum": 1},
        idleReplicaCount={"const": 0},
        pollingInterval={"type": "integer", "minimum": 1},
        cooldownPeriod=_COUNT,
        initialCooldownPeriod=_COUNT,
        fallback=_object(
            "failureThreshold replicas",
            failureThreshold=_COUNT,
            replicas=_COUNT,
            behavior=_one_of("static", "currentReplicas", "currentReplicasIfHigher", "currentReplicasIfLower"),
        ),
        advanced=_object(
            restoreToOriginalReplicaCount=_YES,
            horizontalPodAutoscalerConfig=_object(name=_TEXT, behavior=_object(scaleUp=_HPA_RULE, scaleDown=_HPA_RULE)),
        ),
        triggers=_list(
            _object(
                "type metadata",
                type=_TEXT,
                name=_TEXT,
                metricType=_one_of("AverageValue", "Value", "Utilization"),
                useCachedMetrics=_YES,
                metadata=_TEXTS,
                authenticationRef=_object("name", name=_TEXT, kind=_TEXT),
            )
        ),
    ),
    "TriggerAuthentication": _object(configMapTargetRef=_list(_REFERENCE), secretTargetRef=_list(_REFERENCE)),
    "KafkaTopic": _object(
        "partitions replicas",
        topicName=_TEXT,
        partitions={"type": "integer", "minimum": 1},
        replicas={"type": "integer", "minimum": 1},
        config=_TEXTS,
    ),
    "KafkaUser": _object(
        "authentication authorization",
        authentication=_object("type", type=_one_of("scram-sha-512", "tls", "tls-external")),
        authorization=_object(
            "type acls",
            type=_one_of("simple"),
            acls=_list(
                _object(
                    "resource operations",
                    resource=_object(
                        "type name patternType",
                        type=_one_of("topic", "group", "cluster"),
                        name=_TEXT,
                        patternType=_one_of("literal", "prefix"),
                    ),
                    operations=_list(_one_of("Read", "Write", "Describe")),
                    host=_TEXT,
                )
            ),
        ),
        quotas=_object(producerByteRate=_COUNT, consumerByteRate=_COUNT, requestPercentage=_COUNT),
    ),
    "KafkaNodePool": _object(
        "replicas roles storage",
        replicas={"type": "integer", "minimum": 1},
        roles=_list(_one_of("controller", "broker")),
        storage=_object(
            "type volumes",
            type=_one_of("jbod"),
            volumes=_list(
                _object(
                    "id type size",
                    id=_COUNT,
                    type=_one_of("persistent-claim"),
                    size=_TEXT,
                    deleteClaim=_YES,
                    kraftMetadata=_one_of("shared"),
                )
            ),
        ),
        resources=_ANY,
        jvmOptions=_ANY,
        template=_ANY,
    ),
    "Kafka": _object(
        "kafka",
        kafka=_object(
            "version listeners config",
            version=_TEXT,
            rack=_object("topologyKey", topologyKey=_TEXT),
            listeners=_list(
                _object(
                    "name port type tls",
                    name=_TEXT,
                    port={"type": "integer", "minimum": 9092},
                    type=_one_of("internal"),
                    tls=_YES,
                    authentication=_object("type", type=_one_of("scram-sha-512", "tls")),
                )
            ),
            authorization=_object("type", type=_one_of("simple")),
            config=_ANY,
        ),
        entityOperator=_object(topicOperator=_ANY, userOperator=_ANY),
    ),
    "ServiceMonitor": _object(
        "selector endpoints",
        selector=_object("matchLabels", matchLabels=_TEXTS),
        endpoints=_list(
            _object("port", port=_TEXT, path=_TEXT, interval=_TEXT, scrapeTimeout=_TEXT, relabelings={"type": "array"})
        ),
    ),
    "PrometheusRule": _object(
        "groups",
        groups=_list(_object("name rules", name=_TEXT, interval=_TEXT, rules=_list({"anyOf": [_RECORD, _ALERT]}))),
    ),
}

API_VERSIONS = {
    "ScaledObject": "keda.sh/v1alpha1",
    "TriggerAuthentication": "keda.sh/v1alpha1",
    "KafkaTopic": "kafka.strimzi.io/v1",
    "KafkaUser": "kafka.strimzi.io/v1",
    "KafkaNodePool": "kafka.strimzi.io/v1",
    "Kafka": "kafka.strimzi.io/v1",
    "ServiceMonitor": "monitoring.coreos.com/v1",
    "PrometheusRule": "monitoring.coreos.com/v1",
}


def check(documents: list[Document]) -> Iterator[str]:
    """What is not as its kind wants it."""
    for document in documents:
        kind = document["kind"]
        for problem in _operators(document) if kind in SPECS else _kubernetes(json.dumps(document)):
            yield f"{named(document)}: {problem}"


def _operators(document: Document) -> Iterator[str]:
    kind = document["kind"]
    if document["apiVersion"] != API_VERSIONS[kind]:
        yield f"apiVersion is {document['apiVersion']}, not {API_VERSIONS[kind]}"
    for error in jsonschema.Draft202012Validator(SPECS[kind]).iter_errors(document["spec"]):
        yield f"{'.'.join(map(str, error.absolute_path)) or 'spec'}: {error.message}"


@cache
def _kubernetes(document: str) -> list[str]:
    """Of a document as JSON: most are asked about again and again."""
    parsed = json.loads(document)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kubernetes_validate.validate(parsed, KUBERNETES, strict=True)
    except kubernetes_validate.ValidationError as error:
        return [f"{'.'.join(map(str, error.path))}: {error.message}"]
    except kubernetes_validate.SchemaNotFoundError:
        return [f"Kubernetes {KUBERNETES} has no {parsed['apiVersion']} {parsed['kind']}"]
    return []

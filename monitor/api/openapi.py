"""The description of the API, made from its table: OpenAPI 3.1, https://spec.openapis.org/oas/v3.1.0."""

from importlib.metadata import version
from inspect import getdoc
from typing import Any

from pydantic.json_schema import models_json_schema

from monitor.api import answers
from monitor.api.endpoints import ENDPOINTS, Endpoint

_REF = "#/components/schemas/{model}"
TROUBLES = {
    400: "The question is wrong, or cannot be answered.",
    401: "The token is missing or wrong.",
    403: "The request comes from another site, or by a name that is not ours.",
    503: "Kafka does not answer now.",
}


def document() -> dict[str, Any]:
    """The whole description."""
    asked = {(each.asks, "validation") for each in ENDPOINTS}
    answered = {(each.answers, "serialization") for each in ENDPOINTS} | {(answers.Trouble, "serialization")}
    models = sorted(asked | answered, key=lambda pair: pair[0].__name__)
    _, schemas = models_json_schema(models, ref_template=_REF)  # type: ignore[arg-type]  # the modes are literals
    paths: dict[str, dict[str, Any]] = {}
    for each in ENDPOINTS:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, schemas["$defs"])
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Odradek monitor",
            "version": version("odradek"),
            "description": "What the pipeline does now, and the handles to steer it.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(each: Endpoint, schemas: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": each.run.__name__,
        "summary": (getdoc(each.run) or "").partition("\n")[0],
        "responses": {
            "200": {"description": getdoc(each.answers), "content": _content(each.answers.__name__)},
            **{str(status): {"description": why, "content": _content("Trouble")} for status, why in TROUBLES.items()},
        },
    }
    if each.changes:
        operation["security"] = [{"token": []}]
        operation["requestBody"] = {"required": True, "content": _content(each.asks.__name__)}
    else:
        # Where the address is not loopback, reading wants the token too.
        operation["security"] = [{}, {"token": []}]
        schema = schemas[each.asks.__name__]
        required = schema.get("required", [])
        operation["parameters"] = [
            {"name": name, "in": "query", "required": name in required, "schema": parameter}
            for name, parameter in schema.get("properties", {}).items()
        ]
    return operation


def _content(model: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _REF.format(model=model)}}}

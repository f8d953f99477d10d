"""The schema registry that ``SCHEMA_REGISTRY_URL`` names: Confluent's REST interface, which Apicurio and others serve.

A contract stands under the subject of its full name (Confluent's ``RecordNameStrategy``): one record may travel in
several topics, and its number is the same in all of them.
"""

import base64
import json
from functools import cache
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit, urlunsplit
from urllib.request import Request, urlopen

from infra.errors import RetryLater, UserError
from schemas.wire import contract_text, use_registry

_TIMEOUT_S = 10
_CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
_NOT_FOUND, _CONFLICT = 404, 409


class SchemaRegistry:
    """One registry. Each number and each schema is asked for once; a call for a new one blocks."""

    def __init__(self, url: str) -> None:
        """``url``: http or https, with user and password if the registry wants them."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UserError("SCHEMA_REGISTRY_URL is no http or https URL")
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        netloc = host if parts.port is None else f"{host}:{parts.port}"
        self._base = urlunsplit((parts.scheme, netloc, parts.path.rstrip("/"), "", ""))
        self._headers = {"Accept": _CONTENT_TYPE, "Content-Type": _CONTENT_TYPE}
        if parts.username is not None:
            credentials = base64.b64encode(f"{parts.username}:{parts.password or ''}".encode()).decode()
            self._headers["Authorization"] = f"Basic {credentials}"
        self._ids: dict[str, int] = {}

    def id_of(self, contract: str) -> int:
        """The number of the newest version of a contract; registered if the registry does not have it.

        Raises :class:`RetryLater` while the registry does not answer, :class:`UserError` when it refuses.
        """
        if contract not in self._ids:
            self._ids[contract] = self._registered(contract)
        return self._ids[contract]

    def _registered(self, contract: str) -> int:
        text = contract_text(contract)
        schema = json.loads(text)
        subject = quote(f"{schema['namespace']}.{schema['name']}", safe="")
        body = {"schema": text, "schemaType": "AVRO"}
        found = self._ask("POST", f"/subjects/{subject}", body)
        if found is None:
            found = self._ask("POST", f"/subjects/{subject}/versions", body)
        if found is None:
            raise UserError(f"the schema registry at {self._base} does not take subject {subject}")
        return int(found["id"])

    def schema(self, number: int) -> dict[str, Any] | None:
        """The schema of this number; ``None`` when there is none. Raises :class:`RetryLater`."""
        found = self._ask("GET", f"/schemas/ids/{number}", None)
        if found is None or found.get("schemaType", "AVRO") != "AVRO":
            return None
        try:
            schema = json.loads(found["schema"])
        except ValueError:
            return None
        return schema if isinstance(schema, dict) else None

    def _ask(self, method: str, path: str, body: dict[str, str] | None) -> dict[str, Any] | None:
        """The answer; ``None`` when there is no such thing."""
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"{self._base}{path}", data, self._headers, method=method)  # noqa: S310  # http or https
        try:
            with urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310  # as above
                found: dict[str, Any] = json.load(answer)
                return found
        except HTTPError as error:
            if error.code == _NOT_FOUND:
                return None
            if error.code in (401, 403, _CONFLICT, 422):
                raise UserError(f"the schema registry at {self._base} refuses {path}: {_words(error)}") from None
            raise RetryLater(f"the schema registry at {self._base} answers {error.code}") from None
        except (OSError, HTTPException, ValueError) as error:
            raise RetryLater(f"the schema registry at {self._base} does not answer: {error}") from None


def _words(error: HTTPError) -> str:
    try:
        return f"{error.code} {json.load(error)['message']}"[:500]
    except (ValueError, KeyError, TypeError, OSError):
        return f"{error.code} {error.reason}"


@cache
def _registry(url: str) -> SchemaRegistry:
    return SchemaRegistry(url)


def use(url: str | None) -> None:
    """Write records by this registry from now on, and read by it what was written so; ``None``: by no registry."""
    # One object for each URL: what it knows is not asked for again when settings are read anew.
    use_registry(None if url is None else _registry(url))

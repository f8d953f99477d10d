"""Object stores by DSN: ``scheme://bucket/prefix?option=value``, for whoever keeps something in one."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from obstore.exceptions import BaseError
from obstore.store import ObjectStore, from_url

CALL_WITHIN = timedelta(seconds=20)
"""One request, with its repeats."""


def open_bucket(dsn: str, foreign: Collection[str] = ()) -> ObjectStore:
    """The store of a DSN. Options in ``foreign`` are not the store's.

    Raises :class:`ValueError`, which repeats nothing of the DSN but the name of a wrong option.
    """
    parts = urlsplit(dsn)
    options: dict[str, Any] = {name: value for name, value in parse_qsl(parts.query) if name not in foreign}
    client: dict[str, Any] = {"timeout": "15s", "connect_timeout": "5s"}
    if str(options.get("endpoint", "")).startswith("http://"):
        client["allow_http"] = True
    # Typed by store; here the options name the one that they are for.
    open_store: Any = from_url
    try:
        store: ObjectStore = open_store(
            urlunsplit((parts.scheme, parts.netloc, parts.path, "", "")),
            config=options,
            client_options=client,
            retry_config={"max_retries": 2, "retry_timeout": CALL_WITHIN},
        )
    except (BaseError, ValueError) as error:
        named = next((name for name in options if name in str(error)), None)
        wrong = f"has no option {named!r}" if named else "cannot be used: it is scheme://bucket/prefix?option=value"
        raise ValueError(wrong) from None
    return store

"""The base of every group of settings."""

from pydantic import BaseModel, ConfigDict


class Group(BaseModel):
    """A group: immutable, and a misspelt name is an error, not a silent default."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

"""Settings of visits after the first, for crawls that want them."""

from datetime import timedelta
from typing import Self

from pydantic import Field, model_validator

from infra.settings.group import Group


class RevisitSettings(Group):
    """How soon a page is visited again: sooner where it was found changed, later where not."""

    first: timedelta = timedelta(days=1)
    """From the first visit to the second, where nothing tells when the page was modified; else a tenth of its age."""
    shortest: timedelta = Field(default=timedelta(hours=1), gt=timedelta(0))
    longest: timedelta = timedelta(days=30)
    shorten: float = Field(default=0.5, gt=0, le=1)
    """What the time is multiplied by when the page had changed."""
    lengthen: float = Field(default=1.5, ge=1, le=100)
    """And when it had not."""
    misses: int = Field(default=3, ge=1)
    """Visits in a row that find no page any more, before it is given up."""

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if not self.shortest <= self.first <= self.longest:
            raise ValueError("shortest, first and longest have to be in this order")
        return self

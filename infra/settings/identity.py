"""Who we say we are: one identity for the User-Agent header and for robots.txt."""

from pydantic import Field, field_validator

from infra.settings.group import Group
from infra.settings.headers import is_header_value


class IdentitySettings(Group):
    """The same token goes out with every request and is looked for in robots.txt (RFC 9309, 2.2.1)."""

    product: str = Field(default="Odradek/0.1", pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+(/[A-Za-z0-9!#$%&'*+.^_`|~-]+)?$")
    """Product token and version (RFC 9110, 10.1.5)."""
    robots_token: str = Field(default="odradek", pattern=r"^[A-Za-z_-]+$")
    contact: str = Field(default="", max_length=200)
    """A URL or mail address where a site's owner reaches whoever runs this crawl; empty says nothing."""

    @field_validator("contact")
    @classmethod
    def _is_printable(cls, contact: str) -> str:
        if not is_header_value(contact) or set(contact) & set("()\\"):
            raise ValueError("printable ASCII without parentheses and backslashes only")
        return contact

    @property
    def user_agent(self) -> str:
        """The value of the User-Agent header."""
        return f"{self.product} (+{self.contact})" if self.contact else f"{self.product} (crawler)"

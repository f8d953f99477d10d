"""What an error of DynamoDB, or of the way to it, means for the records that met it."""

from botocore import exceptions

from sinks.judging import Verdict

REFUSED = frozenset(
    {
        "AccessDeniedException",
        "IncompleteSignatureException",
        "InvalidSignatureException",
        "MissingAuthenticationTokenException",
        "OptInRequired",
        "UnrecognizedClientException",
    }
)
"""Codes of credentials and rights (DynamoDB Developer Guide, "Error handling"; common errors of AWS)."""

# ValidationException says everything from an item that is too large to a table of another shape: by its words, then.
_OF_A_ROW = ("Item size has exceeded", "Number overflow", "Number underflow", "significant digits", "Nesting Levels")


def code_of(error: Exception) -> str:
    """The service's own name for the error; empty for one that did not come from it."""
    return str(error.response.get("Error", {}).get("Code", "")) if isinstance(error, exceptions.ClientError) else ""


def judge(error: Exception) -> Verdict:
    """What the client cannot send and what no item can hold speak against a row.

    Throttling, a table that is being made or was removed and an expired token pass.
    """
    if isinstance(error, (exceptions.NoCredentialsError, exceptions.PartialCredentialsError)):
        return Verdict.REFUSED
    if isinstance(error, (exceptions.ParamValidationError, UnicodeError)):
        return Verdict.ROW
    code = code_of(error)
    if code == "ValidationException" and any(each in str(error) for each in _OF_A_ROW):
        return Verdict.ROW
    return Verdict.REFUSED if code in REFUSED else Verdict.TROUBLE

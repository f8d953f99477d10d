"""What an error of an object store means for the records that met it."""

from obstore.exceptions import PermissionDeniedError, UnauthenticatedError

from sinks.judging import Verdict

# The stores' own codes (Amazon S3 API, "Error responses"; Azure Storage, "Common error codes"), which obstore hands on
# as text.
_REFUSALS = ("NoSuchBucket", "InvalidAccessKeyId", "SignatureDoesNotMatch", "AccessDenied", "ContainerNotFound")


def judge(error: Exception) -> Verdict:
    """A refusal by its class or its code. No error of a store speaks against a row: it sees bytes."""
    if isinstance(error, (PermissionDeniedError, UnauthenticatedError)):
        return Verdict.REFUSED
    return Verdict.REFUSED if any(each in str(error) for each in _REFUSALS) else Verdict.TROUBLE

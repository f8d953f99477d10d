"""What an error of ClickHouse, or of the way to it, means for the records that met it.

Only a closed set of codes speaks against a row. Everything else (a missing table, a full disk, a server that is gone,
a right that was withdrawn) is the store's trouble, however long it lasts: the records wait. The other way round, one
wrong deployment would pour a topic into the dead letters.
"""

import re

from clickhouse_connect.driver.exceptions import ClickHouseError

from sinks.judging import Verdict

# ClickHouse, src/Common/ErrorCodes.cpp.
DATA_ERRORS = frozenset(
    {
        6,  # CANNOT_PARSE_TEXT
        26,  # CANNOT_PARSE_QUOTED_STRING
        27,  # CANNOT_PARSE_INPUT_ASSERTION_FAILED
        38,  # CANNOT_PARSE_DATE
        41,  # CANNOT_PARSE_DATETIME
        53,  # TYPE_MISMATCH
        69,  # ARGUMENT_OUT_OF_BOUND
        70,  # CANNOT_CONVERT_TYPE
        72,  # CANNOT_PARSE_NUMBER
        117,  # INCORRECT_DATA
        131,  # TOO_LARGE_STRING_SIZE
        321,  # VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
        349,  # CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN
        407,  # DECIMAL_OVERFLOW
        469,  # VIOLATED_CONSTRAINT
        691,  # UNKNOWN_ELEMENT_OF_ENUM
    }
)
REFUSED = frozenset(
    {
        192,  # UNKNOWN_USER
        193,  # WRONG_PASSWORD
        194,  # REQUIRED_PASSWORD
        516,  # AUTHENTICATION_FAILED
    }
)

_CODE = re.compile(r"\bCode:\s*(\d+)")


def code_of(error: Exception) -> int | None:
    """ClickHouse's number for the error; ``None`` for one that did not come from its engine."""
    code = getattr(error, "code", None)
    if isinstance(code, int):
        return code
    match = _CODE.search(str(error))
    return int(match[1]) if match else None


def one_line(error: Exception) -> str:
    """The error's first line without the version that ends it, fit for a log or a terminal."""
    text = str(error).strip().partition("\n")[0]
    text = re.sub(r"^Received ClickHouse exception, code: \d+, server response: ", "", text)
    text = re.sub(r"\s*\(version [^()]*(\([^()]*\))?\)", "", text)
    return text[:500]


def judge(error: Exception) -> Verdict:
    """What ``error`` says of the rows of a write.

    62 with "Empty query" is a connection that was cut before the statement arrived (clickhouse-connect#731); 252, 241,
    159 and 243 are too many parts, no memory, no time and no disk. All of them pass, so all wait.
    """
    code = code_of(error)
    if isinstance(error, ClickHouseError) and code in DATA_ERRORS:
        return Verdict.ROW
    return Verdict.REFUSED if code in REFUSED else Verdict.TROUBLE

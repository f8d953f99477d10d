"""Tell glibc to keep memory that a stage will want again in a moment.

A page is decoded, parsed and dropped: some hundred kB each, hundreds of times a second. By default malloc(3) gives that
back to the kernel and asks for it again, 50 page faults for each page, a tenth of the cost of cleaning it.
"""

import ctypes
import sys

# From malloc.h of glibc.
_M_TRIM_THRESHOLD = -1
_M_TOP_PAD = -2
_M_MMAP_THRESHOLD = -3

KEEP_BYTES = 128 * 2**20
"""Free at the top of the heap before any is given back."""
_PAD_BYTES = 8 * 2**20
_MMAP_BYTES = 32 * 2**20
"""The largest that glibc takes."""


def keep_freed_memory() -> bool:
    """Set it for this process; ``False`` where the C library is another and nothing was done."""
    if sys.platform != "linux":
        return False
    library = ctypes.CDLL(None)
    if not hasattr(library, "gnu_get_libc_version"):
        return False
    settings = ((_M_MMAP_THRESHOLD, _MMAP_BYTES), (_M_TRIM_THRESHOLD, KEEP_BYTES), (_M_TOP_PAD, _PAD_BYTES))
    for name, value in settings:
        library.mallopt(name, value)
    return True

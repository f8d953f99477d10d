"""Memory that is kept for the next page."""

import platform
import resource

import pytest

from infra.allocator import keep_freed_memory


def _faults_of(blocks: int) -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(blocks):
        bytearray(512 * 1024)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is not glibc: there is nothing to set")
def test_a_block_that_was_freed_is_used_again_without_the_kernel() -> None:
    """A block of the size of a parsed page costs no page faults once the process has had one."""
    assert keep_freed_memory()
    bytearray(512 * 1024)
    assert _faults_of(50) < 50

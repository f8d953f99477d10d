#!/bin/sh
# Remove from an environment what nothing of ours loads: large parts of libraries that come whole (unused.txt).
set -eu
packages=$(echo "$1"/lib/python3.*/site-packages)
while read -r pattern; do
  # Unquoted: a pattern may stand for several files.
  rm -rf "$packages"/$pattern
done < "$(dirname "$0")/unused.txt"

#!/bin/sh
# Runs this package's tests with the C under the address and undefined-behaviour sanitizers. Leaks are not looked for:
# Go's runtime and a loaded BLAS never release theirs.
set -eu
cd "$(dirname "$0")"
flags="-fsanitize=address,undefined"
CGO_CFLAGS="-O1 -g $flags -fno-sanitize-recover=undefined" CGO_LDFLAGS="$flags" \
	ASAN_OPTIONS=detect_leaks=0,handle_segv=0 exec go test -count=1 -asan "$@" .

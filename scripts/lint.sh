#!/usr/bin/env bash
# gofmt, go vet and staticcheck (pinned). A staticcheck that cannot be had is said, not hidden.
set -u
cd "$(dirname "$0")/.." || exit 1
version=${STATICCHECK_VERSION:?set by the Makefile}
bad=0

unformatted=$(gofmt -l $(git ls-files '*.go'))
if [ -n "$unformatted" ]; then
	printf 'lint: gofmt would change:\n%s\n' "$unformatted"
	bad=1
fi
go vet ./... || bad=1

check=""
if command -v staticcheck >/dev/null 2>&1 && staticcheck -version | grep -qF "${version#v}"; then
	check=staticcheck
elif GOBIN="$PWD/build/tools" timeout 300 go install "honnef.co/go/tools/cmd/staticcheck@$version" >/dev/null 2>&1; then
	check=build/tools/staticcheck
fi
if [ -n "$check" ]; then
	"$check" ./... || bad=1
else
	echo "lint: staticcheck $version skipped: not installed and could not be downloaded"
fi
[ "$bad" -eq 0 ] && echo "lint: clean"
exit "$bad"

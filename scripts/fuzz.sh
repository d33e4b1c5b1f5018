#!/usr/bin/env bash
# Runs every fuzz target for a short time each: fuzz.sh [TIME, default 5s] [PACKAGE PATTERN].
set -u
cd "$(dirname "$0")/.." || exit 1
time=${1:-5s}
only=${2:-}
bad=0 n=0
while IFS=: read -r file target; do
	pkg=./$(dirname "$file")
	[[ "$pkg" == *"$only"* ]] || continue
	n=$((n + 1))
	if out=$(go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$pkg" 2>&1); then
		echo "fuzz: $pkg $target: ok, $(grep -oE 'execs: [0-9]+' <<<"$out" | tail -n 1)"
	elif grep -q 'context deadline exceeded' <<<"$out" && ! grep -q 'Failing input' <<<"$out"; then
		# Go reports so when the time runs out while a worker is busy (golang/go#75804): no input has failed.
		echo "fuzz: $pkg $target: ok, ended by its time within an input"
	else
		echo "fuzz: $pkg $target: FAILED"
		tail -n 20 <<<"$out"
		bad=1
	fi
done < <(git ls-files '*_test.go' | xargs grep -oE '^func Fuzz[A-Za-z0-9_]+' | sed 's/func //')
echo "fuzz: $n targets, $time each"
exit "$bad"

#!/usr/bin/env bash
# Runs the tests across nodes: brings development clusters up (scripts/dev-cluster.sh), runs the tests whose names match the
# pattern ($1; all), and takes the clusters down, also when the tests were killed. Says what was skipped and why.
# E2E_TIMEOUT (8m) bounds it; E2E_LOG (build/e2e.log) holds all of the output. E2E_BENCH is a pattern of benchmarks to run too,
# each E2E_REPEATS (7) times.
set -u
cd "$(dirname "$0")/.." || exit 1
export CGO_ENABLED=1 CGO_CFLAGS="-g -O2 -Wno-deprecated-declarations" BOOST_E2E=1 BOOST_E2E_CLUSTERS="${BOOST_E2E_CLUSTERS:-3}"
log=${E2E_LOG:-build/e2e.log}
mkdir -p "$(dirname "$log")"
if [ "$(id -u)" -eq 0 ]; then scripts/setup.sh cluster; fi

BOOST_E2E_ROOT=$(mktemp -d /tmp/e2e.XXXXXX) || exit 1
export BOOST_E2E_ROOT
chmod 755 "$BOOST_E2E_ROOT"
down() {
	for dir in "$BOOST_E2E_ROOT"/boost-e2e-*; do
		[ -d "$dir" ] && SLURM_DEV_DIR=$dir scripts/dev-cluster.sh purge
	done
	rmdir "$BOOST_E2E_ROOT"
}
trap down EXIT
trap 'exit 130' INT TERM

began=$(date +%s)
"${GO:-go}" test -v -count=1 -parallel "$BOOST_E2E_CLUSTERS" -timeout "${E2E_TIMEOUT:-8m}" -run "${1:-.}" \
	${E2E_BENCH:+-bench "$E2E_BENCH" -benchtime "${E2E_REPEATS:-7}x"} ./e2e >"$log" 2>&1
status=$?
grep -E '^Benchmark.*ns/op' "$log"
grep -E '^ *--- (PASS|SKIP|FAIL)' "$log" | sed 's/^ *--- //' | sort | uniq -c -w 4 | sed 's/^ *\([0-9]*\) \([A-Z]*\).*/e2e: \1 \2/'
grep -A 1 -E '^ *--- SKIP' "$log" | grep -vE '^--$|--- SKIP' | sed 's/^ *[a-z_]*.go:[0-9]*: //' | sort | uniq -c | sed 's/^ *\([0-9]*\) /e2e: skipped \1: /'
grep -E 'seed [0-9]+:' "$log"
if [ "$status" -ne 0 ]; then
	echo "e2e: failures (all of it is in $log):"
	grep -A 12 -E '^panic:|\[build failed\]' "$log" | head -n 60
	# What each failed test said: tests run at once, and the log names whose the next lines are.
	awk 'NR == FNR { if ($1 == "---" && $2 == "FAIL:") failed[$3] = 1; next }
		/^=== / { name = $3; next }
		name in failed { print name ": " $0 }' "$log" "$log" | cut -c 1-1200 | head -n 200
fi
echo "e2e: $(($(date +%s) - began)) s"
exit "$status"

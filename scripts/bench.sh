#!/usr/bin/env bash
# What the project promises about speed, measured here: bench.sh [all|train|paper|save|recompute|sweep|store|ui|cluster|go]. Every figure stands beside its limit.
set -u
cd "$(dirname "$0")/.." || exit 1
what=${1:-all}
bin=$PWD/build/boost-tui
work=$(mktemp -d)
live=""
stop_live() { [ -n "$live" ] && kill "$live" 2>/dev/null && wait "$live" 2>/dev/null; live=""; }
trap 'stop_live; rm -rf "$work"' EXIT

echo "machine: $(grep -m 1 'model name' /proc/cpuinfo | cut -d: -f2- | sed 's/^ *//'), $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg), $(go version | cut -d' ' -f3)"
"$bin" doctor 2>/dev/null | grep -i blas

if [ "$what" = all ] || [ "$what" = train ]; then
	echo
	echo "== training, and the cost of watching it"
	go test -run '^$' -bench Train -benchtime 1x -timeout 30m ./bench
	go test -run '^$' -bench Instrumentation -benchtime 5s ./profiler
fi

if [ "$what" = all ] || [ "$what" = paper ]; then
	echo
	echo "== three schemes over an emulated link like that of four A100, beside what was published"
	go test -run '^$' -bench Paper -benchtime 3x -timeout 60m ./bench 2>/dev/null
fi

if [ "$what" = all ] || [ "$what" = save ]; then
	echo
	echo "== how long a checkpoint blocks training, beside a copy in memory"
	go test -run '^$' -bench Save -benchtime 10x ./trainer 2>/dev/null
fi

if [ "$what" = all ] || [ "$what" = recompute ]; then
	echo
	echo "== what low-rank recomputation costs"
	go test -run '^$' -bench Recompute -benchtime 6x ./step 2>/dev/null
fi

# held NAME LIMIT_MS PACKAGE BENCHMARK: the slowest of the benchmark's cases.
held() {
	go test -run '^$' -bench "^$4\$" -benchtime 3x "$3" 2>"$work/err" | awk -v name="$1" -v limit="$2" '
		/^Benchmark/ { for (i = 2; i < NF; i++) if ($(i + 1) == "ns/op" && $i / 1e6 > ms) ms = $i / 1e6 }
		END { if (!ms) printf "  %-58s no figure\n", name
		      else printf "  %-58s %10.2f   limit %8.2f   %s (%.2f of it)\n", name, ms, limit, ms <= limit ? "holds" : "MISSED", ms / limit }'
}

if [ "$what" = all ] || [ "$what" = sweep ]; then
	echo
	echo "== sweeps"
	held "100 000 points expanded and pruned (ms)" 5000 ./sweeps/space BenchmarkExpand
	held "journal of 10 000 runs loaded (ms)" 200 ./sweeps BenchmarkLoad10000
	held "results of 1 000 runs, one of them new (ms)" 200 ./sweeps/results BenchmarkRefresh
	held "what is left of 141 000 points (ms)" 500 ./sweeps/results BenchmarkEstimate
	held "table of 141 000 points (ms)" 2000 ./sweeps/results BenchmarkMeasure
	go test -run '^$' -bench Sweep -benchtime 1x -timeout 30m ./bench 2>/dev/null | grep -E '^Benchmark|MISSED|FAIL'
fi

# clocked NAME LIMIT_MS BEFORE COMMAND...: the best of five, each after the shell command BEFORE.
clocked() {
	local name=$1 limit=$2 before=$3 best=999999999 t
	shift 3
	for _ in 1 2 3 4 5; do
		eval "$before"
		t=$(date +%s%N)
		"$@" >/dev/null 2>"$work/err" || { printf '  %-58s failed: %s\n' "$name" "$(tail -n 1 "$work/err")"; return; }
		t=$((($(date +%s%N) - t) / 1000))
		[ "$t" -lt "$best" ] && best=$t
	done
	awk -v name="$name" -v limit="$limit" -v ms="$best" 'BEGIN { ms /= 1000
		printf "  %-58s %10.2f   limit %8.2f   %s (%.2f of it)\n", name, ms, limit, ms <= limit ? "holds" : "MISSED", ms / limit }'
}

if [ "$what" = all ] || [ "$what" = store ]; then
	echo
	echo "== the store of runs"
	go build -o "$work/ui" ./bench/ui || exit 1
	"$work/ui" store "$work/store" 5000 >/dev/null || exit 1
	sleep 3 # what is younger than two seconds is not kept
	clocked "runs, 5 000 of them, no index (ms)" 1000 "rm -f $work/store/.index" "$bin" runs --runs "$work/store"
	clocked "runs, 5 000 of them (ms)" 200 : "$bin" runs --runs "$work/store"
	clocked "runs --json, 5 000 of them (ms)" 400 : "$bin" runs --json --runs "$work/store"
	clocked "runs --disk, 5 000 of them (ms)" 2000 : "$bin" runs --disk --runs "$work/store"
	held "list of 5 000 runs, no index (ms)" 1000 ./runner 'BenchmarkList5000/cold'
	held "list of 5 000 runs (ms)" 200 ./runner 'BenchmarkList5000/warm'
	held "the same list again, as the UI asks each second (ms)" 100 ./runner 'BenchmarkList5000/again'
	go test -run '^$' -bench Crowd -benchtime 1x ./bench 2>&1 | grep -E '^Benchmark|MISSED|FAIL'
fi

# measure NAME LIMIT FIELD ARGS...: one run of ptybench, one of its figures.
measure() {
	local name=$1 limit=$2 field=$3
	shift 3
	python3 scripts/ptybench.py --brief "$@" >"$work/out.json" 2>"$work/err" || { printf '  %-58s failed: %s\n' "$name" "$(tail -n 1 "$work/err")"; return; }
	python3 - "$name" "$limit" "$field" "$work/out.json" <<-'PY'
		import json, sys
		name, limit, field, path = sys.argv[1:]
		r = json.load(open(path)); v = r.get(field)
		if v is None:
		    print(f"  {name:<58} no figure ({r.get('failed')} of {r.get('runs')} runs were never ready)")
		else:
		    print(f"  {name:<58} {v:>10.2f}   limit {float(limit):>8.2f}   {'holds' if v <= float(limit) else 'MISSED'} ({v/float(limit):.2f} of it)")
	PY
}

if [ "$what" = all ] || [ "$what" = ui ]; then
	echo
	echo "== the UI, from outside"
	if ! command -v python3 >/dev/null 2>&1; then
		echo "  skipped: python3 plays the terminal and is not installed"
	else
		go build -o "$work/ui" ./bench/ui || exit 1
		mkdir -p "$work/empty" "$work/state/boost-tui"
		# A session that was left on the screen Live: the UI opens the store's latest run there.
		printf '{"schema":1,"screen":"live"}' >"$work/live.json"
		session="cp $work/live.json $work/state/boost-tui/session.json"
		export XDG_STATE_HOME=$work/state
		measure "first frame, terminal that answers (ms)" 50 first_frame_ms --runs 5 --quit q,q -- "$bin" --runs "$work/empty"
		measure "first frame, terminal that never answers (ms)" 50 first_frame_ms --runs 5 --mute --quit q,q -- "$bin" --runs "$work/empty"
		measure "idle (percent of a core)" 0.5 cpu_pct_idle --idle 10 --quit q,q -- "$bin" --runs "$work/empty"
		for n in 100000 1000000; do
			"$work/ui" make "$work/$n" "$n" >/dev/null || exit 1
			limit=200; [ "$n" = 1000000 ] && limit=500
			measure "run of $n steps drawn (ms)" "$limit" ready_ms --runs 5 --before "$session" --quit q,q --ready "[⠁-⣿].*step $n" -- "$bin" --runs "$work/$n"
			measure "run of $n steps, every step looked at (ms)" "$limit" settled_ms --runs 5 --before "$session" --quit q,q --ready "[⠁-⣿].*step $n" -- "$bin" --runs "$work/$n"
			measure "run of $n steps, memory (MB)" 60 peak_rss_mb --idle 2 --before "$session" --quit q,q --ready "step $n" -- "$bin" --runs "$work/$n"
		done
		"$work/ui" store "$work/many" 5000 >/dev/null || exit 1
		printf '{"schema":1,"screen":"runs"}' >"$work/runs.json"
		measure "5 000 runs listed, memory (MB)" 60 peak_rss_mb --idle 4 --before "cp $work/runs.json $work/state/boost-tui/session.json" --quit q,q --ready "5000 run" -- "$bin" --runs "$work/many"
		"$work/ui" live "$work/live" 2000 5 >"$work/id" &
		live=$!
		for _ in $(seq 100); do [ -s "$work/id" ] && break; sleep 0.1; done
		measure "live at 5 steps/s (percent of a core)" 3 cpu_pct_idle --idle 20 --before "$session" --quit q,q --ready "step 2" -- "$bin" --runs "$work/live"
		stop_live
		"$work/ui" live "$work/wide" 200 5 64 8 >"$work/id64" &
		live=$!
		for _ in $(seq 200); do [ -s "$work/id64" ] && break; sleep 0.1; done
		measure "64 nodes x 8 ranks at 5 steps/s (percent of a core)" 10 cpu_pct_idle --idle 20 --before "$session" --quit q,q --ready "step [2-9]" -- "$bin" --runs "$work/wide"
		measure "64 nodes x 8 ranks, memory (MB)" 60 peak_rss_mb --idle 10 --before "$session" --quit q,q --ready "step [2-9]" -- "$bin" --runs "$work/wide"
		stop_live
		for preset in 30b; do
			/usr/bin/env python3 - "$bin" "$preset" <<-'PY'
				import resource, subprocess, sys, time
				t = time.monotonic()
				subprocess.run([sys.argv[1], "plan", "--size", sys.argv[2], "--tp", "4", "--json"], stdout=subprocess.DEVNULL, check=True)
				t = time.monotonic() - t
				mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
				print(f"  {'plan of ' + sys.argv[2] + ', tp 4 (s)':<58} {t:>10.2f}   limit     1.00   {'holds' if t <= 1 else 'MISSED'}")
				print(f"  {'plan of ' + sys.argv[2] + ', tp 4, memory (MB)':<58} {mb:>10.2f}   limit   200.00   {'holds' if mb <= 200 else 'MISSED'}")
			PY
		done
	fi
fi

if [ "$what" = all ] || [ "$what" = cluster ]; then
	echo
	echo "== runs on two nodes of the development cluster, beside what Slurm and ssh take by themselves (medians of seven, by turns)"
	BOOST_E2E_CLUSTERS=1 E2E_BENCH='Launch|Stop' E2E_LOG=$work/cluster.log E2E_TIMEOUT=20m scripts/e2e.sh '^$' >"$work/cluster"
	awk '
		/^Benchmark/ {
			sub(/^Benchmark/, "", $1); sub(/-[0-9]+$/, "", $1); gsub(/_/, " ", $1)
			split("", v); for (i = 2; i < NF; i++) v[$(i + 1)] = $i
			if ("beyond-s" in v) { name = $1 ": to the first step, beyond " sprintf("%.2f s", v["bare-s"]); s = v["beyond-s"] }
			else { name = $1 ": until nobody is left"; s = v["gone-s"] }
			printf "  %-58s %10.2f   limit %8.2f   %s (%.2f of it)\n", name, s, s / v["of-limit"], v["of-limit"] <= 1 ? "holds" : "MISSED", v["of-limit"]
			next
		}
		{ print "  " $0 }' "$work/cluster"
fi

if [ "$what" = all ] || [ "$what" = go ]; then
	echo
	echo "== Go benchmarks of the packages"
	go test -run '^$' -bench . -benchtime 0.2s $(go list ./... | grep -v /bench) 2>&1 | grep -E '^(Benchmark|pkg:)|FAIL'
fi

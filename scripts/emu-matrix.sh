#!/usr/bin/env bash
# The CUDA kernels under the emulator in all its modes, and proof that the modes find faults.
#
#   scripts/emu-matrix.sh all                    everything that follows
#   scripts/emu-matrix.sh mode NAME              the tests in one mode: order random1 random2 lazy race asan
#   scripts/emu-matrix.sh fault NAME [MODE...]   plants a fault; each mode that is named, or its own, must find it
#   scripts/emu-matrix.sh modes | faults         the names
#
# Programs are built in build/emulator (OUT). JOBS (2) compilers run at a time. It needs g++ and make alone.
set -euo pipefail
usage() { sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p;}' "$0"; }
wrong() { # WHAT IS
	echo "emulator: $*" >&2
	usage >&2
	exit 2
}
case "${1:-all}" in
all | modes | faults) [ $# -le 1 ] || wrong "$1 takes nothing more: ${*:2}" ;;
mode) [ $# -eq 2 ] || wrong "mode takes the name of one mode" ;;
fault) [ $# -ge 2 ] || wrong "fault takes the name of a fault, and of modes" ;;
-h | --help)
	usage
	exit
	;;
*) wrong "there is no $1" ;;
esac
cd "$(dirname "$0")/.."
out=$(realpath -m "${OUT:-build/emulator}")
jobs=${JOBS:-2}
tests=kernels/cuda/test
# Fibers have stacks of their own, which the checks for leaks and for use after return do not understand.
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0

# mode, how the programs are built, the emulator's words
modes="order plain order
random1 plain random=1
random2 plain random=2
lazy plain lazy
race race order
asan asan order"

# fault, source, program, the part of its tests, the mode that names it, what that mode says (. for a space), other modes that
# notice it
faults="NO_SYNC optim.cu ops_test optim race uninitialised.read.of.shared.part order,random1,lazy,asan
NO_TAIL_SYNC vocab.cu ops_test vocab race hazard.on.shared.tile order,random1,lazy
DIVERGENT optim.cu ops_test optim order __syncthreads.at.*after.*threads.of.the.block.returned|__syncthreads.at.*while.other|deadlock random1,lazy,race,asan
OUT_OF_BOUNDS optim.cu ops_test optim asan AddressSanitizer:.(heap-buffer-overflow|use-after-poison) order
FRAGMENT attention_mma.cu attention_test - order FAIL.bf16 random1,lazy,race
NO_EVENT memory_test.cc ops_test streams lazy did.not.wait.for.what.they.read -"

say() { echo "emulator: $*"; }
row() { # TABLE NAME
	awk -v n="$2" '$1 == n {print}' <<<"$1"
}
known() { # TABLE WHAT NAME...
	local name
	for name in "${@:3}"; do
		[ -n "$(row "$1" "$name")" ] || { say "no $2 is called '$name'; there are $(awk '{print $1}' <<<"$1" | paste -sd ' ')" >&2; exit 2; }
	done
}
build() { make --no-print-directory -s -C "$tests" -j "$jobs" OUT="$out" "$@"; }
# Keeps what a command says in a log, and shows its last words when it fails.
quietly() { # LOG COMMAND...
	local log=$1
	shift
	"$@" >"$log" 2>&1 || { tail -n 20 "$log"; return 1; }
}

mode() {
	local name variant words start=$SECONDS
	read -r name variant words <<<"$(row "$modes" "$1")"
	build "$variant" || { say "$name: the tests do not build"; return 1; }
	for program in ops_test attention_test; do
		quietly "$out/$name-$program.log" nice "$out/$variant/$program" "$words" || { say "$name: $program failed"; return 1; }
	done
	# Contexts, products and messages between processes; what they refuse, and what ends them.
	quietly "$out/$name-lib_test.log" env BOOST_EMU="$words" nice "$out/$variant/lib_test" || { say "$name: lib_test failed"; return 1; }
	say "$name: the tests of the kernels and of what is around them hold ($((SECONDS - start)) s)"
}

fault() {
	local fault source program part own pattern others name variant words log
	read -r fault source program part own pattern others <<<"$(row "$faults" "$1")"
	shift
	[ $# -gt 0 ] || set -- "$own"
	for m in "$@"; do
		read -r name variant words <<<"$(row "$modes" "$m")"
		build fault FAULT="$fault" SOURCE="$source" VARIANT="$variant" PROGRAM="$program" || { say "$fault does not build in mode $name"; return 1; }
		log=$out/$fault-$name.log
		local args=("$words")
		[ "$part" = - ] || args+=("$part")
		local status=0
		nice timeout 600 "$out/$variant-$fault/$program" "${args[@]}" >"$log" 2>&1 || status=$?
		if [ $status -eq 0 ] || [ $status -eq 124 ]; then
			say "$fault is not found in mode $name$([ $status -eq 0 ] || echo ' within ten minutes')"
			return 1
		fi
		if [ "$m" = "$own" ] && ! grep -qE -- "$pattern" "$log"; then
			say "$fault fails in mode $name, but not with its name ($pattern):"
			head -n 5 "$log"
			return 1
		fi
		say "$fault is found in mode $name: $(grep -m 1 -E -- "$pattern|FAIL|ERROR" "$log" | cut -c 1-160)"
	done
}

all() {
	local start=$SECONDS bad=0 name rest others
	while read -r name rest; do mode "$name" || bad=1; done <<<"$modes"
	while read -r name _ _ _ own _ others; do
		[ "$others" = - ] && others=""
		# shellcheck disable=SC2086
		fault "$name" "$own" ${others//,/ } || bad=1
	done <<<"$faults"
	say "$((SECONDS - start)) s"
	return $bad
}

case "${1:-all}" in
modes) awk '{print $1}' <<<"$modes"; exit ;;
faults) awk '{print $1}' <<<"$faults"; exit ;;
mode) known "$modes" mode "$2" ;;
fault)
	known "$faults" fault "$2"
	known "$modes" mode "${@:3}"
	;;
esac
mkdir -p "$out"
exec 9>"$out/lock" # two of these would write the same objects
flock 9
case "${1:-all}" in
all) all ;;
mode) mode "$2" ;;
fault) fault "${@:2}" ;;
esac

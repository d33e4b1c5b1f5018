#!/usr/bin/env bash
# What can be known of the CUDA sources without a GPU.
#
#   scripts/cuda-check.sh            checks; says what was skipped, and why
#   scripts/cuda-check.sh --update   writes kernels/cuda/budget.txt anew
#
# With nvcc (CUDA_HOME, or wheels that scripts/cuda.sh installs): everything compiles for sm_80 and sm_90 and links; no kernel uses more
# registers, spills, stack or static shared memory than the budget says; bt_backend is the only symbol; the declarations of cuBLASLt
# and NCCL agree with the real headers, where those are or can be downloaded (CUDA_HEADERS=0 does not try).
# With clang 16 or newer, which needs nothing of NVIDIA: everything compiles to PTX, and no array of a kernel lies in local memory.
set -u
usage() { sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p;}' "$0"; }
case "$#${1:-}" in
0 | 1--update) ;;
1-h | 1--help)
	usage
	exit
	;;
*)
	echo "cuda-check: it takes --update or nothing, not: $*" >&2
	usage >&2
	exit 2
	;;
esac
cd "$(dirname "$0")/.." || exit 1
export LC_ALL=C
budget=kernels/cuda/budget.txt objects=build/cuda-objects include=(-I kernels/cuda/emu -I kernels/cuda/src -I kernels/backend)
failed=0 skipped=()
bad() { echo "cuda-check: FAILED: $*"; failed=1; }
mkdir -p build

# Lines "arch registers spilled-bytes stack-bytes static-shared-bytes source kernel" from what ptxas said. Registers are counted as
# they are given out, eight at a time: fewer cost nothing.
measured() {
	local log
	for log in "$objects"/*.log; do
		c++filt <"$log" | awk -v source="$(basename "$log" .log)" '
			/Compiling entry function/ { match($0, / for .sm_[0-9]+/); arch = substr($0, RSTART + 6, RLENGTH - 6) }
			/Function properties for/ {
				sub(/.*Function properties for /, ""); gsub(/\(anonymous namespace\)::/, ""); sub(/^void /, ""); sub(/\(.*/, "")
				gsub(/__nv_bfloat16/, "bf16"); kernel = $0
			}
			/bytes stack frame/ { stack = $1; spill = $5 + $9 }
			/Used [0-9]+ registers/ {
				match($0, /Used [0-9]+/); registers = int((substr($0, RSTART + 5, RLENGTH - 5) + 7) / 8) * 8; shared = 0
				if (match($0, /[0-9]+ bytes smem/)) shared = substr($0, RSTART, RLENGTH) + 0
				print arch, registers, spill, stack, shared, source, kernel
			}'
	done | sort -k1,1 -k6
}

within_budget() {
	local now=$objects/measured.txt release
	release=$(sed -n '1s/.* \([0-9]*\.[0-9]*\)[.0-9]* .*/\1/p' "$objects/flags")
	measured >"$now"
	if [ "${1:-}" = --update ]; then
		{
			echo "# The most that each kernel may use, from ptxas of nvcc $release: scripts/cuda-check.sh compares, --update writes it anew."
			echo "# arch registers spilled-bytes stack-bytes static-shared-bytes source kernel"
			cat "$now"
		} >"$budget"
		echo "cuda-check: $budget has $(wc -l <"$now") entries"
		return
	fi
	if ! head -n 1 "$budget" | grep -qF "nvcc $release:"; then
		skipped+=("the budget: it is of another nvcc than $release, whose registers differ")
		return
	fi
	if awk '
		/^#/ { next }
		{ kernel = $1; for (i = 6; i <= NF; i++) kernel = kernel " " $i }
		NR == FNR { for (i = 2; i <= 5; i++) most[kernel, i] = $i; known[kernel] = 1; next }
		{ seen[kernel] = 1 }
		!(kernel in known) { print "  " kernel ": not in the budget (" $2 " registers, " $3 " bytes spilled)"; bad = 1; next }
		{
			split("- registers spilled stack shared", name, " ")
			for (i = 2; i <= 5; i++) if ($i > most[kernel, i]) { print "  " kernel ": " name[i] " " $i ", budget " most[kernel, i]; bad = 1 }
		}
		END {
			for (k in known) if (!(k in seen)) print "  " k ": in the budget, and gone"
			exit bad
		}' "$budget" "$now"; then
		awk '{ n++; if ($2 > most) most = $2; spill += $3; if ($5 > shared) shared = $5 }
			END { printf "cuda-check: %d kernels (by architecture) within budget: at most %d registers and %d bytes of static shared memory, %d bytes spilled in all\n", n, most, shared, spill }' "$now"
	else
		bad "kernels exceed $budget; if that is meant, scripts/cuda-check.sh --update"
	fi
}

linked() {
	local symbols before=$failed
	symbols=$(nm -D --defined-only build/libboost_cuda.so | awk '{print $3}' | tr '\n' ' ')
	[ "$symbols" = "bt_backend " ] || bad "build/libboost_cuda.so exports $symbols, and should export bt_backend alone"
	symbols=$(readelf -d build/libboost_cuda.so | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libm|libdl|libpthread|librt|ld-linux.*)\.so' | tr '\n' ' ')
	[ -z "$symbols" ] || bad "build/libboost_cuda.so needs $symbols, and should need the C library alone"
	[ "$failed" -ne "$before" ] || echo "cuda-check: build/libboost_cuda.so exports bt_backend and needs the C library alone"
}

# The folders of the real headers, from wheels' headers, installed wheels or CUDA_HOME.
declarations() {
	local dirs=() d cublas="" nccl=""
	if [ "${CUDA_HEADERS:-1}" != 0 ]; then CUDA_DOWNLOAD_TIMEOUT=${CUDA_DOWNLOAD_TIMEOUT:-90} scripts/cuda.sh headers || :; fi
	for d in build/cuda/headers/nvidia/*/include build/cuda/lib/python3*/site-packages/nvidia/*/include ${CUDA_HOME:+"$CUDA_HOME/include"} /usr/include; do
		if [ -z "$cublas" ] && [ -e "$d/cublasLt.h" ]; then cublas=$d; dirs+=(-I "$d"); fi
		if [ -z "$nccl" ] && [ -e "$d/nccl.h" ]; then nccl=$d; dirs+=(-I "$d"); fi
	done
	if [ -z "$cublas" ] || [ -z "$nccl" ]; then
		skipped+=("the declarations of cuBLASLt and NCCL: their headers are not here (scripts/cuda.sh headers)")
	elif "$nvcc" -std=c++17 -c "${include[@]}" "${dirs[@]}" kernels/cuda/test/api_check.cu -o "$objects/api_check.tmp" >build/cuda-api.log 2>&1; then
		echo "cuda-check: lt_api.h and nccl_api.h agree with $cublas and $nccl"
	else
		grep error build/cuda-api.log | head -n 20
		bad "lt_api.h or nccl_api.h differ from the headers in $cublas and $nccl"
	fi
	rm -f "$objects/api_check.tmp"
}

with_nvcc() {
	scripts/cuda.sh build >build/cuda-build.log 2>&1
	case $? in
	0) grep -E 'nvcc|compiling|KiB' build/cuda-build.log ;;
	3)
		skipped+=("everything that needs nvcc: $(sed -n '1,9{/^cuda: /{s/^cuda: //;p;}}' build/cuda-build.log | grep -vE '^installing' | head -n 1)")
		return
		;;
	*)
		cat build/cuda-build.log
		bad "the sources do not compile with nvcc"
		return
		;;
	esac
	nvcc=$(sed -n '1s/ .*//p' "$objects/flags")
	within_budget "$@"
	linked
	declarations
}

with_clang() {
	local clang="" c out=build/cuda-ptx
	for c in clang++-16 clang++-17 clang++-18 clang++-19 clang++-20 clang++; do
		command -v "$c" >/dev/null 2>&1 && [ "$("$c" -dumpversion | cut -d. -f1)" -ge 16 ] && clang=$c && break
	done
	if [ -z "$clang" ]; then
		skipped+=("PTX by clang: there is no clang 16 or newer (Debian: clang-16)")
		return
	fi
	rm -rf "$out" && mkdir -p "$out"
	# shellcheck disable=SC2016
	for a in 80 90; do printf "$a %s\n" kernels/cuda/src/*.cu; done | xargs -P "${JOBS:-$(nproc)}" -L 1 bash -c '
		to=$3/$(basename "$5" .cu).sm_$4
		"$0" -std=c++17 -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch="sm_$4" --cuda-feature=+ptx78 -fdeclspec -fms-extensions \
			-DBT_CLANG_CHECK -O3 -S -I kernels/cuda/emu -I kernels/cuda/src -I kernels/backend "$5" -o "$to.ptx" 2>"$to.log" || echo "$5 for sm_$4" >>"$3/failed"
	' "$clang" - - "$out"
	if [ -e "$out/failed" ]; then
		cat "$out"/*.log | grep error | sort -u | head -n 20
		bad "$clang does not compile $(tr '\n' ',' <"$out/failed")"
	elif grep -lE '^\s*\.local \.align' "$out"/*.ptx >"$out/local"; then
		bad "arrays of kernels lie in local memory (BT_UNROLL is missing, or an index is not constant): $(tr '\n' ' ' <"$out/local")"
	else
		echo "cuda-check: $clang makes PTX of $(cat "$out"/*.ptx | grep -c '^\.visible \.entry\|^\.entry\|\.entry ') kernels for sm_80 and sm_90; none keeps an array in local memory"
	fi
}

with_nvcc "$@"
[ "${1:-}" = --update ] || with_clang
for s in "${skipped[@]}"; do echo "cuda-check: skipped $s"; done
exit "$failed"

#!/usr/bin/env bash
# Measures one GPU and checks what it computes, within 6 minutes, without a network and without Go.
#
#   scripts/gpu.sh bundle [DIR]   on a machine that builds: what the other machine needs, into DIR (build/gpu-bundle)
#   scripts/gpu.sh [FLAGS]        on the machine with the GPU, in the project or in the bundle (as ./gpu.sh)
#
# The report is one JSON file: $OUT/gpu-DATE.json, or bench/results/ in the project, or the present folder. It is there before the
# first part and whole after each; ctrl-C leaves what there is. Without a GPU it says what is missing, and this exits with 2.
# DEVICE=emulated walks through the parts without a GPU, with tiny sizes, into emulated-DATE.json in $OUT or the present folder.
# PYTHON (python3) is looked through for NVIDIA's libraries and for PyTorch. FLAGS go to `boost-tui bench-gpu`:
# --only attention,products; --limit 3m
set -Eeuo pipefail
here=$(cd "$(dirname "$0")" && pwd)
say() { echo "gpu: $*" >&2; }
trap 'say "failed, at line $LINENO"' ERR

bundle() {
	cd "$here/.."
	local to=${1:-build/gpu-bundle} file
	mkdir -p build "$to"
	say "building the program"
	CGO_ENABLED=1 CGO_CFLAGS="-g -O2 -Wno-deprecated-declarations" "${GO:-go}" build -o "$to/boost-tui" ./cmd/boost-tui
	scripts/cuda.sh >&2
	cp build/libboost_cuda.so "$to/"
	scripts/cuda.sh tests >&2
	for file in ops_test attention_test; do
		cp "build/cuda-tests/$file" "$to/"
	done
	cp scripts/gpu.sh scripts/sdpa.py "$to/"
	mkdir -p "$to/scripts"
	cp scripts/cuda.sh "$to/scripts/" # which installs libraries there, where they are missing
	say "$to: copy it to the machine with the GPU and run ./gpu.sh there; it needs a C library no older than this one's"
	du -sh "$to" >&2
}

case "${1:-}" in
-h | --help)
	sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p;}' "$0"
	exit
	;;
bundle)
	case "${3+more}${2:-}" in
	more* | -*) say "bundle takes a folder, and nothing more"; exit 2 ;;
	esac
	bundle "${2:-}"
	exit
	;;
esac
device=${DEVICE:-cuda} python=${PYTHON:-python3}
for word in "$@"; do
	case $word in
	--device* | --python* | --out* | --part* | --check*) say "$word: the device is \$DEVICE, the Python \$PYTHON, the folder of the report \$OUT"; exit 2 ;;
	esac
done

program=$here/boost-tui
if [ ! -x "$program" ]; then
	program=$here/../build/boost-tui
	[ -x "$program" ] || { say "there is no boost-tui beside this script; on a machine with Go: make gpu-bundle"; exit 2; }
fi
# In the project, what stands in scripts and in build is beside the program too.
if [ "$program" != "$here/boost-tui" ]; then
	cp "$here/sdpa.py" "$here/../build/"
	for file in ops_test attention_test; do
		[ ! -x "$here/../build/cuda-tests/$file" ] || cp "$here/../build/cuda-tests/$file" "$here/../build/"
	done
fi

# The libraries of wheels, wherever the Python has them: cuBLASLt and NCCL, of CUDA 13 or 12. The emulated device has its own.
wheels() {
	local found lt nccl folder elsewhere="they are looked for in the usual places alone; PYTHON=FOLDER/bin/python names another"
	if ! command -v "$python" >/dev/null 2>&1; then
		say "there is no $python to look for wheels of cuBLASLt and NCCL in; $elsewhere"
		return
	fi
	found=$(timeout 60 "$python" - <<'END' 2>/dev/null || :
import glob, site, sys
places = site.getsitepackages() + [site.getusersitepackages()] + sys.path
def first(*patterns):
    for pattern in patterns:
        for place in places:
            for path in sorted(glob.glob(place + "/nvidia/" + pattern)):
                return path
    return ""
print("lt", first("cu13/lib/libcublasLt.so.13", "cublas/lib/libcublasLt.so.13", "cublas/lib/libcublasLt.so.12"))
print("nccl", first("nccl/lib/libnccl.so.2"))
END
	)
	lt=$(sed -n 's/^lt //p' <<<"$found") nccl=$(sed -n 's/^nccl //p' <<<"$found")
	if ! grep -q '^nccl ' <<<"$found"; then
		say "$python does not answer as a Python does, which could have wheels of cuBLASLt and NCCL; $elsewhere"
	elif [ -n "$lt" ]; then
		folder=$(dirname "$lt")
		export BOOST_CUBLASLT="${BOOST_CUBLASLT:-$lt}" LD_LIBRARY_PATH="$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
	elif [ -z "${BOOST_CUBLASLT:-}" ]; then
		say "there is no cuBLASLt among the wheels of $python: it is looked for in the usual places alone; PYTHON=FOLDER/bin/python names another"
	fi
	[ -z "$nccl" ] || export BOOST_NCCL="${BOOST_NCCL:-$nccl}"
}
[ "$device" != cuda ] || wheels

# What is computed on the processor is no result of the project's.
out=${OUT:-$PWD} name=gpu
if [ "$device" != cuda ]; then
	name=emulated
elif [ -z "${OUT:-}" ] && [ -d "$here/../bench/results" ]; then
	out=$(cd "$here/../bench/results" && pwd)
fi
made=$(mkdir -p -- "$out" 2>&1) || { say "there can be no report in $out, as \$OUT says: ${made##*: }; OUT=FOLDER names another folder"; exit 2; }
while report=${out%/}/$name-$(date -u +%Y%m%d-%H%M%S).json && [ -e "$report" ]; do sleep 1; done
flags=(--device "$device" --python "$python" --out "$report")
[ "$device" = cuda ] || flags+=(--tiny)
exec "$program" bench-gpu "${flags[@]}" "$@" </dev/null # which ends in good order by itself, whatever ends it

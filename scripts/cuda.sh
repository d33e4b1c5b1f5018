#!/usr/bin/env bash
# Builds build/libboost_cuda.so, the cuda device's library, without root and without a CUDA installation.
#
#   scripts/cuda.sh             finds or installs nvcc and builds
#   scripts/cuda.sh setup       finds or installs nvcc alone
#   scripts/cuda.sh libraries   installs cuBLASLt and NCCL, 730 MB of wheels, where the library looks for them
#   scripts/cuda.sh headers     keeps of those wheels the headers that scripts/cuda-check.sh compares with
#   scripts/cuda.sh tests       builds what runs on a GPU by itself, into build/cuda-tests: ops_test, attention_test, attention_bench
#
# nvcc comes from CUDA_HOME when that is set, else from PyPI wheels (105 MB) in an environment of the project's own, build/cuda.
# CUDA_WHEELS=DIR takes the wheels from a folder instead of the network. CUDA_ARCHS (80 90) lists the GPU generations that code
# is made for; newer ones compile the PTX of the last when the library is first used. JOBS bounds the compilers at a time.
# Beside gpu.sh, where there are no sources, it knows libraries alone, and installs them into the folder cuda.
set -Eeuo pipefail
usage() { sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p;}' "$0"; }
command=${1:-build}
case "$command" in
build | setup | libraries | headers | tests) ;;
-h | --help)
	usage
	exit
	;;
*)
	echo "cuda: there is no $1" >&2
	usage >&2
	exit 2
	;;
esac
[ $# -le 1 ] || { echo "cuda: $1 takes nothing more: ${*:2}" >&2; exit 2; }
refuse() { echo "cuda: $*" >&2; exit 2; }
if [ -n "${CUDA_WHEELS:-}" ]; then
	[ -d "$CUDA_WHEELS" ] || refuse "CUDA_WHEELS is $CUDA_WHEELS, and there is no such folder"
	CUDA_WHEELS=$(cd "$CUDA_WHEELS" && pwd) || refuse "CUDA_WHEELS is $CUDA_WHEELS, a folder that cannot be looked into"
fi
cd "$(dirname "$0")/.."
work=build
if [ ! -d kernels/cuda/src ]; then
	[ "${1:-build}" = libraries ] || refuse "there are no sources here: libraries is what can be done"
	work=.
fi

venv=$work/cuda objects=build/cuda-objects library=build/libboost_cuda.so
compiler=(nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85 nvidia-nvtx==13.0.85)
libraries=(nvidia-cublas==13.0.2.14 nvidia-nccl-cu13==2.32.3)
read -ra archs <<<"${CUDA_ARCHS:-80 90}"
unknown() { refuse "CUDA_ARCHS is \"${CUDA_ARCHS:-80 90}\": $*; name compute capabilities without their point, from 80 on, between blanks: \"80 90\""; }
[ ${#archs[@]} -gt 0 ] || unknown "it names none"
for i in "${!archs[@]}"; do
	[[ ${archs[i]} =~ ^[1-9][0-9]{1,2}[af]?$ ]] || unknown "${archs[i]} is none"
	[ "${archs[i]//[af]/}" -ge 80 ] || unknown "${archs[i]} is too old"
	[[ " ${archs[*]:0:i} " != *" ${archs[i]} "* ]] || unknown "${archs[i]} stands there twice"
done
sources=(kernels/cuda/src/*.cu)
say() { echo "cuda: $*"; }
trap 'say "failed, at line $LINENO of scripts/cuda.sh" >&2' ERR # nothing ends without a word
site() { echo "$1"/lib/python3*/site-packages; }

cannot() {
	say "$*" >&2
	if [ "$command" = libraries ]; then
		cat >&2 <<END
cuda: to have them, one of these:
cuda:   pip install nvidia-cublas nvidia-nccl-cu13          into an environment of yours that is active when boost-tui runs
cuda:   pip download --no-deps -d wheels ${libraries[*]}
cuda:   CUDA_WHEELS=wheels scripts/cuda.sh libraries        with wheels that were downloaded elsewhere
cuda:   name their paths in BOOST_CUBLASLT and BOOST_NCCL
END
		exit 3
	fi
	cat >&2 <<END
cuda: to build it, one of these:
cuda:   CUDA_HOME=/usr/local/cuda make cuda                 with a toolkit of CUDA 12 or 13 (often: module load cuda)
cuda:   make cuda                                           where pip reaches PyPI or a mirror of it
cuda:   pip download --no-deps -d wheels ${compiler[*]}
cuda:   CUDA_WHEELS=wheels make cuda                        with wheels that were downloaded elsewhere
cuda:   copy $library from another machine     with the same processor, and a C library that is as old or older
cuda: boost-tui works without it on the devices cpu and emulated.
END
	exit 3
}

# The last words of what a program said, harmless to a terminal.
last() { grep -v '^[[:space:]]*$' <<<"$1" | tail -n 1 | tr -cd '[:print:]' | cut -c1-160 || echo nothing; }

# pip WHAT ARGUMENTS...: its last words when it fails are kept in pip_says.
pip() {
	local log=$work/cuda-pip.log from=(--retries 1 --timeout 15)
	[ -n "${CUDA_WHEELS:-}" ] && from=(--no-index --find-links "$CUDA_WHEELS")
	if ! timeout "${CUDA_DOWNLOAD_TIMEOUT:-300}" "$venv/bin/python" -m pip "$1" -q --disable-pip-version-check --no-input --no-deps "${from[@]}" "${@:2}" >"$log" 2>&1; then
		if grep -qE 'NewConnectionError|NameResolution|Name or service|ConnectTimeout|Network is unreachable' "$log"; then
			pip_says="pip does not reach its index ($log has all)"
		else
			pip_says="$(grep -iE 'error|no module' "$log" | tail -n 1 | cut -c1-160) ($log has all)"
		fi
		return 1
	fi
}

environment() {
	[ -x "$venv/bin/python" ] && "$venv/bin/python" -m pip --version >/dev/null 2>&1 && return
	command -v python3 >/dev/null 2>&1 || cannot "there is no python3 to install the wheels of nvcc with, and CUDA_HOME is not set"
	rm -rf "$venv"
	python3 -m venv "$venv" >"$work/cuda-pip.log" 2>&1 ||
		cannot "python3 -m venv fails (Debian: python3-venv is missing): $(grep -v '^$' "$work/cuda-pip.log" | tail -n 1 | cut -c1-120)"
}

toolkit() {
	if [ -n "${CUDA_HOME:-}" ]; then
		home=$CUDA_HOME from="CUDA_HOME"
		[ -x "$home/bin/nvcc" ] || cannot "CUDA_HOME is $home, and there is no bin/nvcc in it"
		[ -z "${CUDA_WHEELS:-}" ] || say "CUDA_WHEELS is not looked at, as CUDA_HOME is set"
	else
		from="PyPI wheels in $venv"
		if [ "$(cat "$venv/pins" 2>/dev/null)" != "${compiler[*]}" ]; then
			environment
			say "installing nvcc from ${CUDA_WHEELS:-PyPI} into $venv (105 MB)"
			pip install "${compiler[@]}" || cannot "nvcc cannot be installed: $pip_says"
			echo "${compiler[*]}" >"$venv/pins"
		elif [ -n "${CUDA_WHEELS:-}" ]; then
			say "CUDA_WHEELS is not looked at, as $venv has nvcc from wheels already"
		fi
		home=$(echo "$(site "$venv")"/nvidia/cu13)
	fi
	nvcc=$home/bin/nvcc
	local says
	says=$(timeout 60 "$nvcc" --version 2>&1) || cannot "$nvcc --version fails with $?: $(last "$says")"
	release=$(sed -n 's/.*, V\([0-9.]*\)$/\1/p' <<<"$says")
	[[ $release =~ ^[0-9]+(\.[0-9]+)*$ ]] || cannot "$nvcc does not say its version, but: $(last "$says")"
	[ "${release%%.*}" -ge 12 ] || cannot "$nvcc is of CUDA $release; 12.0 or newer is needed"
	local knows a # no toolkit knows every generation; one that does not list those that it does is not asked
	knows=$("$nvcc" --list-gpu-code 2>/dev/null | sed -n 's/^sm_\([89][0-9]\|[0-9][0-9][0-9]\)$/\1/p' | tr '\n' ' ') || knows=
	for a in "${archs[@]}"; do
		[[ -z $knows || " $knows" == *" ${a//[af]/} "* ]] || unknown "nvcc $release does not know $a, but ${knows% }"
	done
	command -v "${NVCC_CCBIN:-g++}" >/dev/null 2>&1 || cannot "there is no ${NVCC_CCBIN:-g++}, which nvcc needs (Debian: g++)"
	say "nvcc $release from $from; $("${NVCC_CCBIN:-g++}" --version | head -n 1)"
}

# Compiles what is older than something it was made of, or made with other flags. What ptxas says of each is kept beside it.
build() {
	local flags=(-std=c++17 -O3 -Xcompiler "-fPIC,-fvisibility=hidden,-Wall" -Xptxas -v
		-I kernels/cuda/emu -I kernels/cuda/src -I kernels/backend) a last=${archs[-1]} started=$SECONDS
	for a in "${archs[@]}"; do flags+=(-gencode "arch=compute_$a,code=sm_$a"); done
	flags+=(-gencode "arch=compute_$last,code=compute_$last")
	mkdir -p "$objects"
	if [ "$(cat "$objects/flags" 2>/dev/null)" != "$nvcc $release ${flags[*]}" ]; then
		rm -rf "${objects:?}"/*
		echo "$nvcc $release ${flags[*]}" >"$objects/flags"
	fi
	local src object made_of old=() all=()
	for src in "${sources[@]}"; do
		object=$objects/$(basename "$src" .cu).o
		all+=("$object")
		# The rule that nvcc wrote beside it names what it was made of, of the project.
		mapfile -t made_of < <(tr -s ' \\' '\n\n' 2>/dev/null <"${object%.o}.d" | grep '^kernels/' || :)
		if [ ! -e "$object" ] || [ ${#made_of[@]} -eq 0 ] || [ -n "$(find "${made_of[@]}" -newer "$object" -print -quit 2>&1)" ]; then
			old+=("$src")
		fi
	done
	for object in "$objects"/*.o; do # of sources that are gone
		[ -e "kernels/cuda/src/$(basename "$object" .o).cu" ] || rm -f "$object" "${object%.o}.log"
	done
	if [ ${#old[@]} -gt 0 ]; then
		say "compiling ${#old[@]} of ${#sources[@]} sources for$(printf ' sm_%s' "${archs[@]}"), and PTX of compute_$last"
		# shellcheck disable=SC2016
		printf '%s\n' "${old[@]}" | nvcc=$nvcc objects=$objects xargs -P "${JOBS:-$(nproc)}" -I{} bash -c '
			name=$(basename "$0" .cu)
			if "$nvcc" "$@" -MMD -MF "$objects/$name.d" -c "$0" -o "$objects/$name.tmp.o" >"$objects/$name.log" 2>&1; then
				mv "$objects/$name.tmp.o" "$objects/$name.o" || { echo "cuda: $nvcc makes nothing of $0"; exit 255; }
				grep -E "warning" -A 3 "$objects/$name.log" | head -n 8 || :
			else
				echo "cuda: $0 does not compile:"; grep -vE "^ptxas info|^ *[0-9]+ bytes stack|^$" "$objects/$name.log" | head -n 30; exit 255
			fi' {} "${flags[@]}" || { say "failed" >&2; exit 1; }
	fi
	echo '{ global: bt_backend; local: *; };' >"$objects/exports"
	# The C++ runtime is linked in: a cluster's may be older than the one here.
	"$nvcc" -shared -cudart static -L "$home/lib64" -L "$home/lib" -Xlinker "--version-script=$objects/exports" -Xlinker -z,defs \
		-Xcompiler -static-libstdc++,-static-libgcc "${all[@]}" -ldl -lpthread -o "$library.tmp" ||
		{ say "$nvcc does not link $library" >&2; exit 1; }
	mv "$library.tmp" "$library"
	say "$library, $(($(stat -c %s "$library") / 1024)) KiB, in $((SECONDS - started)) s"
}

# The tests that run under the emulator, for a GPU: scripts/emu-matrix.sh has them from the same lists in kernels/cuda/test/Makefile.
tests() {
	local to=build/cuda-tests lists name program parts src kernels=()
	mkdir -p "$to"
	lists=$(make --no-print-directory -s -C kernels/cuda/test lists)
	for name in $(sed -n 's/^kernels //p' <<<"$lists"); do kernels+=("$objects/$name.o"); done
	for program in ops_test attention_test attention_bench; do
		parts=()
		for src in $(sed -n "s/^$program //p" <<<"$lists"); do
			"$nvcc" -std=c++17 -O1 -x cu "-gencode=arch=compute_${archs[0]},code=compute_${archs[0]}" -I kernels/cuda/emu -I kernels/cuda/src -I kernels/cuda/test \
				-I kernels/backend -c "kernels/cuda/test/$src.cc" -o "$to/$src.o" ||
				{ say "$nvcc does not compile kernels/cuda/test/$src.cc" >&2; exit 1; }
			parts+=("$to/$src.o")
		done
		"$nvcc" -cudart static -L "$home/lib64" -L "$home/lib" -Xcompiler -static-libstdc++,-static-libgcc "${parts[@]}" "${kernels[@]}" -o "$to/$program" ||
			{ say "$nvcc does not link $to/$program" >&2; exit 1; }
		say "$to/$program"
	done
}

# The library opens these when it is used, and looks for them in build/cuda among other places (docs/cuda.md).
found() {
	local file=$(echo "$(site "$venv")"/nvidia/$2) system
	system=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | sed -n "s/^.*\b$3.* => //p" | sed -n 1p) || :
	[ -e "$file" ] || file=$system
	if [ -n "$file" ]; then say "$1: $file"; else say "$1: not here. It is needed to run, not to build. Install it by pip install $4, or scripts/cuda.sh libraries, or name its path in \$$5"; fi
}
report() {
	found cuBLASLt 'cu13/lib/libcublasLt.so.13' 'libcublasLt\.so\.1[23]' nvidia-cublas BOOST_CUBLASLT
	found NCCL 'nccl/lib/libnccl.so.2' 'libnccl\.so\.2' nvidia-nccl-cu13 BOOST_NCCL
	if ls /dev/nvidia[0-9]* >/dev/null 2>&1; then
		say "GPU: $(nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader 2>/dev/null | sed 's/^/compute capability and driver: /' | head -n 1)"
	else
		say "GPU: none on this machine; what was built can be copied to one"
	fi
	[ $work = build ] || return 0
	say "boost-tui finds the library in \$BOOST_CUDA_LIB, beside its binary, or in build/; \`build/boost-tui doctor\` says more"
}

# One at a time in this folder.
mkdir -p $work
exec 9>"$work/cuda.lock"
flock -n 9 || { say "waiting for another scripts/cuda.sh"; flock 9; }

case "$command" in
setup) toolkit ;;
build)
	toolkit
	build
	report
	;;
tests)
	toolkit
	build
	tests
	;;
libraries)
	environment
	say "installing ${libraries[*]} into $venv"
	pip install "${libraries[@]}" || cannot "they cannot be installed: $pip_says"
	report
	;;
headers)
	# The wheels are large and the headers are not: the rest is dropped.
	[ "$(cat "$venv/headers/pins" 2>/dev/null)" = "${libraries[*]}" ] && exit 0
	environment
	rm -rf build/cuda-wheels
	pip download -d build/cuda-wheels "${libraries[@]}" || { say "headers of cuBLASLt and NCCL cannot be downloaded: $pip_says" >&2; exit 3; }
	for wheel in build/cuda-wheels/*.whl; do
		"$venv/bin/python" -c 'import sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
z.extractall(sys.argv[2], [n for n in z.namelist() if "/include/" in n])' "$wheel" "$venv/headers"
	done
	rm -rf build/cuda-wheels
	echo "${libraries[*]}" >"$venv/headers/pins"
	say "headers of ${libraries[*]} in $venv/headers"
	;;
esac

#!/usr/bin/env bash
# Installs what is missing and useful, where it may: root, apt-get, and NO_INSTALL unset. Says first what is
# missing; says in one line what it left out and why. Only a missing compiler is an error: everything else
# makes something faster or tests more. `setup.sh cluster` installs what the development cluster needs instead: the
# Slurm of Debian 12, whose behaviour the tests across nodes know.
set -u
cd "$(dirname "$0")/.." || exit 1

release() { sed -n 's/^VERSION_CODENAME=//p' /etc/os-release 2>/dev/null; }
if [ "${1:-}" = cluster ]; then
	for tool in slurmctld slurmd munged sshd ip nc; do
		PATH=$PATH:/usr/sbin:/sbin command -v "$tool" >/dev/null 2>&1 || lacks="${lacks:-} $tool"
	done
	[ -z "${lacks:-}" ] && exit 0
	echo "setup: the development cluster lacks:$lacks"
	if [ -n "${NO_INSTALL:-}" ]; then echo "setup: left out (NO_INSTALL is set): tests across nodes are skipped"; exit 0; fi
	if [ "$(release)" != bookworm ]; then echo "setup: left out (it wants Debian 12, bookworm; this is $(release)): tests across nodes are skipped"; exit 0; fi
	mkdir -p build
	SLURM_DEV_DIR=$PWD/build/cluster-setup scripts/dev-cluster.sh install || echo "setup: left out (apt-get failed): tests across nodes are skipped"
	exit 0
fi

need() {
	command -v "$1" >/dev/null 2>&1 && return
	echo "setup: $1 is missing and needed: install Go 1.26 or newer and a C compiler (Debian: golang, gcc)" >&2
	exit 1
}
need go
need "${CC:-gcc}"

has_blas() {
	ldconfig -p 2>/dev/null | grep -qE 'lib(openblas|mkl_rt|blis|cblas)\.so' && return 0
	ls /usr/lib/*/libopenblas.so* /usr/lib/*/openblas*/libopenblas.so* /usr/lib64/libopenblas*.so* >/dev/null 2>&1
}

missing=()
has_blas || missing+=("libopenblas0-pthread|a CBLAS library: matrix products several times faster")
command -v tmux >/dev/null 2>&1 || missing+=("tmux|the end-to-end tests of the screens")
[ ${#missing[@]} -eq 0 ] && exit 0

packages=()
echo "setup: missing and useful:"
for m in "${missing[@]}"; do
	packages+=("${m%%|*}")
	echo "setup:   ${m%%|*} (${m#*|})"
done

left_out() {
	echo "setup: left out: ${packages[*]} ($1); everything works without, see \`boost-tui doctor\`"
	exit 0
}
[ -z "${NO_INSTALL:-}" ] || left_out "NO_INSTALL is set"
command -v apt-get >/dev/null 2>&1 || left_out "there is no apt-get here: install them with this system's package manager"
[ "$(id -u)" -eq 0 ] || left_out "not root: run \`sudo apt-get install ${packages[*]}\`"

mkdir -p build
log=build/setup.log
export DEBIAN_FRONTEND=noninteractive
quick=(-o Acquire::Retries=1 -o Acquire::http::Timeout=15 -o Acquire::https::Timeout=15 -o DPkg::Lock::Timeout=60)
install() { timeout 300 apt-get "${quick[@]}" install -y --no-install-recommends "${packages[@]}"; }
echo "setup: installing with apt-get (NO_INSTALL=1 installs nothing)"
if ! install </dev/null >"$log" 2>&1; then
	# The package lists of a fresh machine are empty or old.
	{ timeout 120 apt-get "${quick[@]}" update && install; } </dev/null >>"$log" 2>&1 ||
		left_out "apt-get failed: $(grep -E '^(E|W):' "$log" | tail -n 1 | cut -c1-120); $log has the rest"
fi
echo "setup: installed ${packages[*]}"

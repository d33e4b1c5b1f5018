#!/bin/sh
# Builds the tests of the library around the kernels with g++ and the emulator, and runs them.
#   lib_test.sh [name of a test...]   CXXFLAGS: -fsanitize=address, -DBT_RACECHECK; OUT: a folder to build in, kept
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cuda=${here%/*}
out=${OUT:-}
if [ -z "$out" ]; then
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
fi
mkdir -p "$out"
objects=
for f in "$cuda"/src/*.cu "$cuda"/emu/*.cc "$here"/lib_*.cc; do
  o=$out/$(basename "$f").o
  objects="$objects $o"
  # Anything newer than the object makes it stale: headers are few and change seldom.
  if [ -f "$o" ] && [ -z "$(find "$cuda/src" "$cuda/emu" "$cuda/../backend" "$here" \( -name '*.h' -o -name '*.cuh' \) -newer "$o")" ] && [ "$o" -nt "$f" ]; then continue; fi
  ${CXX:-g++} -std=c++17 -O1 -g -Wall -Wextra -fvisibility=hidden -DBT_EMU ${CXXFLAGS:-} -I "$cuda/emu" -I "$cuda/src" -I "$cuda/../backend" -x c++ -c "$f" -o "$o"
done
# shellcheck disable=SC2086
${CXX:-g++} ${CXXFLAGS:-} $objects -o "$out/lib_test" -ldl -lpthread
"$out/lib_test" "$@"

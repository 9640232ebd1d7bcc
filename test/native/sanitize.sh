#!/bin/sh
# Builds the engine, the text library and their tests under sanitizers, and runs them with a longer mixed load than usual.
# Any sanitizer report makes the script fail. "address" includes UndefinedBehaviorSanitizer; "thread" runs only the tests that
# use several threads.
# Usage: test/native/sanitize.sh address|thread [seconds of mixed load, default 20]
set -eu
cd "$(dirname "$0")/../.."
sanitizer="$1"
seconds="${2:-20}"
compiler="${CXX:-c++}"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

case "$sanitizer" in
  address) flags="-fsanitize=address,undefined -fno-sanitize-recover=all" tests="" ;;
  thread) flags="-fsanitize=thread" tests="--concurrent" ;;
  *) echo "unknown sanitizer: $sanitizer (use address or thread)" >&2; exit 2 ;;
esac

for source in native/engine/*.cc native/text/*.cc test/native/*.cc; do
  extra=""
  if [ "$(uname -m)" = x86_64 ]; then
    case "$source" in
      *add_scaled_avx2.cc | *dot_records_avx2.cc | *dot_rows_avx2.cc) extra="-mavx2" ;;
      *kernels_avx2.cc) extra="-mavx2 -mfma -msse4.2" ;;
      *kernels_avx512.cc) extra="-mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni -mfma" ;;
    esac
  fi
  # shellcheck disable=SC2086 # the flags are several words
  "$compiler" -std=c++20 -O1 -g1 -pthread -Wall -Wextra -ffp-contract=off -fno-omit-frame-pointer $flags $extra \
    -Inative -Itest/native -c "$source" -o "$folder/$(basename "$source").o"
done
# shellcheck disable=SC2086
"$compiler" -pthread $flags "$folder"/*.o -o "$folder/engine_test"
# shellcheck disable=SC2086 # no argument or one
QUARRY_LOAD_SECONDS="$seconds" ASAN_OPTIONS=detect_stack_use_after_return=1 TSAN_OPTIONS=halt_on_error=1 \
  "$folder/engine_test" $tests

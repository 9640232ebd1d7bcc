#!/bin/sh
# Builds the engine, the text library and their tests under AddressSanitizer with UndefinedBehaviorSanitizer, then under
# ThreadSanitizer, and runs them with a longer mixed load than usual. Any sanitizer report makes the script fail.
# Usage: test/native/sanitize.sh [seconds of mixed load under each sanitizer, default 20]
set -eu
cd "$(dirname "$0")/../.."
seconds="${1:-20}"
compiler="${CXX:-c++}"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

# compile <name> <sanitizer flags>
compile() {
  out="$folder/$1"
  mkdir "$out"
  for source in native/engine/*.cc native/text/*.cc test/native/*.cc; do
    extra=""
    if [ "$(uname -m)" = x86_64 ]; then
      case "$source" in
        *add_scaled_avx2.cc) extra="-mavx2" ;;
        *kernels_avx2.cc) extra="-mavx2 -mfma -msse4.2" ;;
        *kernels_avx512.cc) extra="-mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni -mfma" ;;
      esac
    fi
    # shellcheck disable=SC2086 # the flags are several words
    "$compiler" -std=c++20 -O1 -g1 -pthread -Wall -Wextra -ffp-contract=off -fno-omit-frame-pointer $2 $extra \
      -Inative -Itest/native -c "$source" -o "$out/$(basename "$source").o"
  done
  # shellcheck disable=SC2086
  "$compiler" -pthread $2 "$out"/*.o -o "$out/engine_test"
}

echo "# AddressSanitizer and UndefinedBehaviorSanitizer"
compile address "-fsanitize=address,undefined -fno-sanitize-recover=all"
QUARRY_LOAD_SECONDS="$seconds" ASAN_OPTIONS=detect_stack_use_after_return=1 "$folder/address/engine_test"

echo "# ThreadSanitizer"
compile thread "-fsanitize=thread"
QUARRY_LOAD_SECONDS="$seconds" TSAN_OPTIONS=halt_on_error=1 "$folder/thread/engine_test"

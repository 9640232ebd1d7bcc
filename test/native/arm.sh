#!/bin/sh
# Builds the kernels and the codes with their tests for 64-bit ARM, and runs them in QEMU on one of the first processors
# of that architecture, which has NEON and nothing newer. If a tool is missing, prints its name and exits with 77.
# Usage: test/native/arm.sh
set -eu
cd "$(dirname "$0")/../.."
compiler=aarch64-linux-gnu-g++
emulator=qemu-aarch64-static
command -v "$emulator" >/dev/null || emulator=qemu-aarch64
for tool in "$compiler" "$emulator"; do
  command -v "$tool" >/dev/null || { echo "$tool is not installed" >&2; exit 77; }
done
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

for source in native/engine/checksum.cc native/engine/codes.cc native/engine/file_pages.cc native/engine/kernels*.cc \
  test/native/codes_test.cc test/native/kernels_test.cc test/native/main.cc; do
  "$compiler" -std=c++20 -O3 -pthread -Wall -Wextra -ffp-contract=off \
    -Inative -Itest/native -c "$source" -o "$folder/$(basename "$source").o"
done
"$compiler" -pthread -static "$folder"/*.o -o "$folder/arm_test"
"$emulator" -cpu cortex-a53 "$folder/arm_test"

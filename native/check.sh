#!/bin/sh
# Checks the C++ sources with the tools that are installed: the format with clang-format, warnings and the use of locks
# (engine/mutex.h) with clang.
set -eu
cd "$(dirname "$0")/.."
compiler="${CLANGXX:-clang++}"

# The check takes half a minute of CPU time, so files that passed are not checked again by the same tools.
passed='node_modules/.cache/native-check'
tools=$(clang-format --version 2>/dev/null || true; "$compiler" --version 2>/dev/null || true)
files=$(find native test/native \( -name '*.cc' -o -name '*.h' -o -name '*.sh' \) | sort)
# shellcheck disable=SC2086 # one word per file
sum=$({ echo "$tools"; node --version; cksum $files; } | cksum)
if [ -f "$passed" ] && [ "$(cat "$passed")" = "$sum" ]; then exit 0; fi

if command -v clang-format >/dev/null; then
  find native \( -name '*.cc' -o -name '*.h' \) -exec clang-format --dry-run --Werror {} +
else
  echo 'clang-format is not installed: the format of native/ is not checked'
fi

# Directory of node_api.h: beside the program, or in the cache of node-gyp.
node_headers() {
  node -p 'const { existsSync } = require("node:fs"); const { join } = require("node:path"); const { homedir } = require("node:os");
    [join(process.execPath, "../../include/node"), join(homedir(), ".cache/node-gyp", process.versions.node, "include/node"),
     join(homedir(), "Library/Caches/node-gyp", process.versions.node, "include/node")]
      .find((folder) => existsSync(join(folder, "node_api.h"))) ?? ""'
}

if ! command -v "$compiler" >/dev/null; then
  echo 'clang++ is not installed: the locks of native/ are not checked'
  exit 0
fi
headers=$(node_headers)
includes='-Inative -Itest/native'
folders='native/engine native/text'
parts=$(ls native/parts/*.cc | grep -v /bridge_)
# shellcheck disable=SC2086 # one word per file
standard=$(grep -hoE '^#include <[a-z_]+>' $files | sort -u)
if [ -n "$headers" ]; then
  folders="$folders native/bridge"
  parts=$(ls native/parts/*.cc)
  includes="$includes -isystem $headers -isystem $(node -p 'require("node-addon-api").include_dir')"
  standard="$standard
#include <napi.h>"
else
  echo 'the headers of Node.js were not found: the locks of native/bridge are not checked'
fi
flags="-std=c++20 -Wall -Wextra -Wthread-safety -Werror $includes -DNAPI_VERSION=8 -DNAPI_CPP_EXCEPTIONS"
compiled=$(mktemp -d)
trap 'rm -rf "$compiled"' EXIT

# Compiles the lines of standard input into a header; other arguments are flags.
compile_header() {
  name="$1"
  shift
  cat >"$compiled/$name.h"
  # shellcheck disable=SC2086 # several words
  "$compiler" $flags "$@" -x c++-header -fpch-instantiate-templates "$compiled/$name.h" -o "$compiled/$name.pch"
}

# Checks the files of standard input in parallel, after the compiled header $1.
check_files() {
  # shellcheck disable=SC2086 # several words
  xargs -n 1 -P "$(nproc)" "$compiler" $flags -fsyntax-only -include-pch "$compiled/$1.pch"
}

# Prints a file of native/parts with its sources in place. An #include would do, but clang looks for unused functions and
# constants in the main file only.
join_part() {
  sed -n 's,^#include "\(.*\)"$,native/\1,p' "$1" | while read -r source; do
    echo "#line 1 \"$source\""
    cat "$source"
  done
}

# The headers of the standard library and of Node.js are most of the code of a file. With each source alone and without
# compiled headers, the check takes about four times as much CPU time.
echo "$standard" | compile_header standard
# shellcheck disable=SC2086 # several words
find $folders test/native -name '*.h' | sed -E 's,^(test/)?native/(.*),#include "\2",' |
  compile_header project -include-pch "$compiled/standard.pch"
# shellcheck disable=SC2086 # several words
for source in $(find $folders -name '*.cc' | sort); do
  case "$source" in
    # The files for other instruction sets use no locks and need flags of their own.
    *_avx2.cc | *_avx512.cc) ;;
    *) grep -qxF "#include \"${source#native/}\"" native/parts/*.cc || echo "$source" ;;
  esac
done >"$compiled/sources"
for part in $parts; do
  join_part "$part" >"$compiled/$(basename "$part")"
  echo "$compiled/$(basename "$part")"
done >>"$compiled/sources"
failed=0
check_files standard <"$compiled/sources" || failed=1
find test/native -name '*.cc' | check_files project || failed=1
[ "$failed" -eq 0 ]
mkdir -p "$(dirname "$passed")"
echo "$sum" >"$passed"

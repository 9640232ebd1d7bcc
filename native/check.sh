#!/bin/sh
# Checks the C++ sources with the tools that are installed: the format with clang-format, warnings and the use of locks
# (engine/mutex.h) with clang.
set -eu
cd "$(dirname "$0")/.."
compiler="${CLANGXX:-clang++}"

# The check takes half a minute, so files that passed are not checked again by the same tools.
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
sources='native/engine/*.cc native/text/*.cc test/native/*.cc'
if [ -n "$headers" ]; then
  sources="$sources native/bridge/*.cc"
  includes="$includes -isystem $headers -isystem $(node -p 'require("node-addon-api").include_dir')"
else
  echo 'the headers of Node.js were not found: the locks of native/bridge are not checked'
fi
# The files for other instruction sets use no locks and need flags of their own.
# shellcheck disable=SC2086 # several words each
ls $sources | grep -v -e '_avx2\.cc$' -e '_avx512\.cc$' |
  xargs -n 1 -P "$(nproc)" "$compiler" -std=c++20 -fsyntax-only -Wall -Wextra -Wthread-safety \
    -Werror $includes -DNAPI_VERSION=8 -DNAPI_CPP_EXCEPTIONS
mkdir -p "$(dirname "$passed")"
echo "$sum" >"$passed"

#!/bin/sh
# Compiles the C++ of README.md as it is printed there, so that it cannot rot.
#   readme_code.sh README.md COMPILER FLAG…
set -eu
readme=$1
shift
code=$(mktemp --suffix=.cpp)
trap 'rm -f "$code"' EXIT
awk '/^```/ { inside = $0 == "```cpp"; next } inside' "$readme" >"$code"
grep -q 'int main' "$code" || { echo "no whole program in $readme" >&2; exit 1; }
"$@" -std=c++20 -Wall -Wextra -Werror -fsyntax-only "$code"

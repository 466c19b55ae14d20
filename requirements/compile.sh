#!/bin/sh
# Compile the hashed lock files from pyproject.toml and constraints.txt: make lock
#
# torch, setuptools (which comes with it) and what only its CUDA builds need stay outside: which build a machine takes (CPU, CUDA, ROCm) depends on the machine.
# Usage: compile.sh UV
set -eu
cd "$(dirname "$0")/.."
uv=$1
outside="torch setuptools triton cuda-bindings cuda-pathfinder cuda-toolkit nvidia-cublas nvidia-cuda-cupti nvidia-cuda-nvrtc
nvidia-cuda-runtime nvidia-cudnn-cu13 nvidia-cufft nvidia-cufile nvidia-curand nvidia-cusolver nvidia-cusparse
nvidia-cusparselt-cu13 nvidia-nccl-cu13 nvidia-nvjitlink nvidia-nvshmem-cu13 nvidia-nvtx"
left_out=""
for package in $outside; do left_out="$left_out --no-emit-package $package"; done

compile() {
    target=requirements/$1.txt
    shift
    # shellcheck disable=SC2086
    "$uv" pip compile -q requirements/build.in pyproject.toml "$@" -c constraints.txt --generate-hashes --python-version 3.11 \
        --no-emit-index-url --no-annotate --no-header $left_out -o "$target"
    printf '%s\n%s\n' "# Compiled by \`make lock\`; do not edit. torch is installed first, by its pin in constraints.txt." \
        "$(cat "$target")" >"$target.new"
    mv "$target.new" "$target"
}

compile demo --extra offline
compile dev --extra offline --extra dev

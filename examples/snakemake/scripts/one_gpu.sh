#!/bin/sh
# Run a command on one free GPU of this machine, or without a GPU if there is none.
# Usage: one_gpu.sh COMMAND [ARGUMENT...]
#
# The command holds a lock on its GPU. The kernel releases the lock when the command ends, even if
# it is killed. If all GPUs are taken, the script waits.
set -eu

if [ "${CUDA_VISIBLE_DEVICES+set}" ]; then
    gpus=$CUDA_VISIBLE_DEVICES
else
    # Without a driver it fails, and its message is on standard output.
    gpus=$(nvidia-smi --query-gpu=index --format=csv,noheader 2>/dev/null) || gpus=
fi
[ -n "$gpus" ] || exec "$@"
command -v flock >/dev/null || {
    echo "flock: not found; install util-linux" >&2
    exit 127
}

while :; do
    for gpu in $(echo "$gpus" | tr ',' ' '); do
        exec 9>>"${TMPDIR:-/tmp}/hapgpu-$(id -u)-gpu-$gpu.lock"
        if flock --nonblock 9; then
            export CUDA_VISIBLE_DEVICES="$gpu"
            exec "$@"
        fi
    done
    sleep 1
done

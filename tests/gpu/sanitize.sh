#!/usr/bin/env bash
# Runs every command that computes on a GPU under compute-sanitizer, on small inputs.
#
#   tests/gpu/sanitize.sh [TOOL ...]
#
# Tools are memcheck and racecheck, which it takes by default, initcheck and synccheck. It needs a
# GPU, compute-sanitizer on the PATH or in $CUDA_HOME/bin, and the packages that the tests need.
# Status: 0 no errors, 1 errors, 2 it could not run. Reports of runs with errors are printed, and
# all are kept in $SANITIZE_LOGS if that is set. PYTHON names another interpreter than python3.
set -uo pipefail
cd "$(dirname "$0")/../.."

python=${PYTHON:-python3}
sanitizer=$(command -v compute-sanitizer || echo "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer")
if [ ! -x "$sanitizer" ]; then
  echo "compute-sanitizer is not installed" >&2
  exit 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
logs=${SANITIZE_LOGS:-$work}
mkdir -p "$logs"
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"

names=$("$python" -m tests.gpu.sanitized_run) || exit 2
"$python" -m tests.gpu.sanitized_run "" "$work/inputs" || exit 2
# Without the sanitizer once: this compiles all, and shows runs that fail without it.
for name in $names; do
  if ! "$python" -m tests.gpu.sanitized_run "$name" "$work/inputs"; then
    echo "$name fails without the sanitizer" >&2
    exit 2
  fi
done

# Reads of memory that CuPy asks the driver about, and is told of by an error, are no faults.
options=(--error-exitcode 9 --report-api-errors no --print-limit 20)
failed=0
[ $# -gt 0 ] || set -- memcheck racecheck
for tool in "$@"; do
  for name in $names; do
    log=$logs/$tool.$name.log
    start=$SECONDS
    timeout 150 "$sanitizer" --tool "$tool" "${options[@]}" \
      "$python" -m tests.gpu.sanitized_run "$name" "$work/inputs" > "$log" 2>&1
    status=$?
    echo "$tool $name: status $status, $((SECONDS - start)) s, $(grep -o 'ERROR SUMMARY.*\|RACECHECK SUMMARY.*' "$log" | tail -n 1)"
    if [ $status -ne 0 ]; then
      failed=1
      head -n 60 "$log"
    fi
  done
done
exit $failed

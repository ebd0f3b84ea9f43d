#!/bin/sh
# Epilog of slurm.conf, only for nodes without the exporter: it removes what killed processes of the job's user left.
# With the exporter do not install it: the exporter shows the last state of a killed job for its grace time, then removes it.
[ -n "$SLURM_JOB_UID" ] || exit 0
pgrep -u "$SLURM_JOB_UID" >/dev/null && exit 0 # another job of the same user runs here
find /dev/shm/collwatch -maxdepth 1 -type f -name 'nccl-*.shm' -user "$SLURM_JOB_UID" -delete 2>/dev/null
exit 0

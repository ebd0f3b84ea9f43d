#!/bin/sh
# TaskProlog of slurm.conf: loads the plugin into every task whose job has not chosen another one.
# Lines "export NAME=VALUE" on standard output set the task's environment (slurm.conf(5), TaskProlog).
[ -n "$NCCL_PROFILER_PLUGIN" ] && exit 0
[ -d /dev/shm/collwatch ] || exit 0 # no exporter on this node
echo "export NCCL_PROFILER_PLUGIN=/usr/lib/collwatch/libnccl-profiler-collwatch.so"
# The job's id comes from SLURM_JOB_ID, rank and local rank from SLURM_PROCID and SLURM_LOCALID.
[ -n "$COLLWATCH_MODE" ] || echo "export COLLWATCH_MODE=normal"

#!/bin/bash
# Hogwild! inside each node, averages between nodes, as a Slurm job: one task a node, which starts
# a worker for each of its cores.
#
#   sbatch examples/slurm.sh                                  # four nodes
#   sbatch -N 16 --export=ALL,RUN=/shared/runs/big examples/slurm.sh --data /shared/mnist --model mlp:256,128
#
# A job that is preempted, or whose node fails, is queued again and runs this script again: --resume
# continues its run, or begins it if there is no snapshot yet. The run folder and the data must be on a file
# system that all nodes see. Build hogwild-mpi with the MPI that this cluster's srun knows
# (module load openmpi; make mpi); srun --mpi=list prints what it knows.
#SBATCH --job-name=hogwild
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=64
#SBATCH --exclusive
#SBATCH --time=04:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:TERM@120
set -euo pipefail

run=${RUN:-$PWD/runs/slurm-$SLURM_JOB_ID} # a job keeps its number when it is queued again
if [ $# = 0 ]; then
	set -- --data mnist/ --model mlp:128
fi

# Two minutes before the time is over (--signal), and when the job is preempted, batch gets SIGTERM. bash
# waits for srun in the background, so that it can pass the signal on: the ranks save and end,
# and the job goes back to the queue.
again=
trap 'again=yes; kill -TERM "$step"' TERM

# srun does not take the number of cores from sbatch: -c, else a rank has one. The tasks end together:
# with one that is lost the others have nobody to train with.
srun --mpi=pmix --ntasks-per-node=1 -c "${SLURM_CPUS_PER_TASK:-1}" --kill-on-bad-exit=1 \
	hogwild train --mpi on --run "$run" --resume "$run" --node-timeout 2m "$@" &
step=$!
status=0
wait "$step" || status=$?
if [ -n "$again" ]; then
	wait "$step" || true # the trap interrupted the first wait; srun is still saving
	scontrol requeue "$SLURM_JOB_ID"
fi
exit "$status"

#!/usr/bin/env bash
# Measures training between hosts that network namespaces play, as root: measure.py, with what it needs of each MPI (openmpi,
# or MPIS="openmpi mpich": mpicc.NAME).
set -euo pipefail
cd "$(dirname "$0")/../.."
mpis=${MPIS:-openmpi}
make --no-print-directory build
for mpi in $mpis; do
	to=build/nodes/$mpi
	mkdir -p "$to"
	cp bin/hogwild "$to"
	"mpicc.$mpi" -std=c11 -O2 -Wall -Wextra -o "$to/hogwild-mpi" hogwild/nodes/mpi/hogwild-mpi.c
	"mpicc.$mpi" -std=c11 -O2 -Wall -Wextra -o "$to/allreduce" bench/nodes/allreduce.c
done
exec python3 -B bench/nodes/measure.py --mpis "${mpis// /,}" "$@"

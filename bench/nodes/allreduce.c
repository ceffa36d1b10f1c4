// allreduce FLOATS TIMES [sleep]: what one sum over all ranks takes, without hogwild. With sleep it waits as
// hogwild-mpi does, which leaves the cores to workers; else in MPI_Allreduce. Rank 0 prints the half
// of a round trip of 4 bytes between two ranks, the median time of a sum, and the bytes that
// a rank sends for one, as its network interface counts them.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

// sent is the bytes that this host's eth0 has sent.
static double sent(void) {
	double n = 0;
	FILE *f = fopen("/sys/class/net/eth0/statistics/tx_bytes", "r");
	if (!f || fscanf(f, "%lf", &n) != 1) n = 0;
	if (f) fclose(f);
	return n;
}

static int ascending(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

// one measures the way of 4 bytes from rank 0 to rank 1, in seconds.
static double way(int rank) {
	enum { TIMES = 200 };
	float x = 0;
	double start = 0;
	for (int i = -20; i < TIMES; i++) { // the first ones connect
		if (i == 0) start = MPI_Wtime();
		for (int from = 0; from < 2; from++) {
			if (rank == from) MPI_Send(&x, 1, MPI_FLOAT, 1 - from, 0, MPI_COMM_WORLD);
			if (rank == 1 - from) MPI_Recv(&x, 1, MPI_FLOAT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		}
	}
	return (MPI_Wtime() - start) / TIMES / 2;
}

// sum is what is measured.
static void sum(float *w, int n, int sleeps) {
	MPI_Request request;
	struct timespec pause = {0, 10000};
	if (!sleeps) {
		MPI_Allreduce(MPI_IN_PLACE, w, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		return;
	}
	MPI_Iallreduce(MPI_IN_PLACE, w, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
	for (int tests = 0, done = 0;; tests++) {
		MPI_Test(&request, &done, MPI_STATUS_IGNORE);
		if (done) return;
		if (tests < 20) continue;
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 1000000) pause.tv_nsec += pause.tv_nsec / 8;
	}
}

int main(int argc, char **argv) {
	MPI_Init(&argc, &argv);
	int rank, size, times = argc >= 3 ? atoi(argv[2]) : 0;
	long n = argc >= 3 ? atol(argv[1]) : 0;
	if (n < 1 || times < 1) return fprintf(stderr, "usage: allreduce FLOATS TIMES [sleep]\n"), 2;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	float *w = calloc(n, sizeof *w);
	double *took = calloc(times, sizeof *took), before = 0, a = 0;
	if (size > 1) a = way(rank);
	for (int i = -1; i < times; i++) { // the first one connects
		if (i == 0) before = sent();
		for (long j = 0; j < n; j++) w[j] = rank + j % 7;
		MPI_Barrier(MPI_COMM_WORLD);
		double start = MPI_Wtime();
		sum(w, n, argc == 4);
		if (i >= 0) took[i] = MPI_Wtime() - start;
		float want = size * (size - 1) / 2 + size * ((n - 1) % 7);
		if (w[n - 1] != want) return fprintf(stderr, "a wrong sum: %g, not %g\n", w[n - 1], want), 1;
	}
	double bytes = (sent() - before) / times, all = 0;
	MPI_Reduce(&bytes, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	qsort(took, times, sizeof *took, ascending);
	if (rank == 0) printf("%ld %d %.6f %.6f %.0f\n", n, size, a, took[times / 2], all / size);
	MPI_Finalize();
	return 0;
}

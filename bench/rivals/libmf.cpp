// LIBMF's speed on the entries of a NumPy array of (row, column, value).
//
//   g++ -O3 -march=native -fopenmp -I LIBMF -o libmf libmf.cpp LIBMF/mf.o
//   libmf TRAIN.npy TEST.npy K ITERATIONS THREADS LAMBDA ETA
//
// LIBMF prints no times. To exclude its preparation (shuffling, making blocks), the time of a
// run with one iteration is subtracted from that of the full run. TRAIN.npy and TEST.npy are
// float32 or float64, n x 3. Prints one line of JSON.

#include "mf.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

using namespace mf;

static std::vector<mf_node> load(const char *path, mf_problem &p) {
	FILE *f = fopen(path, "rb");
	if (!f) { perror(path); exit(1); }
	unsigned char head[10];
	if (fread(head, 1, 10, f) != 10) { fprintf(stderr, "%s: not a .npy\n", path); exit(1); }
	std::string text(head[8] + 256 * head[9], ' ');
	if (fread(&text[0], 1, text.size(), f) != text.size()) exit(1);
	bool wide = text.find("<f8") != std::string::npos;
	if (!wide && text.find("<f4") == std::string::npos) { fprintf(stderr, "%s: want <f4 or <f8: %s\n", path, text.c_str()); exit(1); }
	size_t n = strtoull(text.c_str() + text.find('(') + 1, nullptr, 10);
	std::vector<mf_node> nodes(n);
	std::vector<char> row(3 * (wide ? 8 : 4) * 65536);
	for (size_t i = 0; i < n;) {
		size_t got = fread(row.data(), 3 * (wide ? 8 : 4), 65536, f);
		if (!got) { fprintf(stderr, "%s: %zu of %zu entries\n", path, i, n); exit(1); }
		for (size_t k = 0; k < got; k++, i++) {
			float v[3];
			for (int j = 0; j < 3; j++) v[j] = wide ? ((double *)row.data())[3 * k + j] : ((float *)row.data())[3 * k + j];
			nodes[i] = {(mf_int)v[0], (mf_int)v[1], v[2]};
			p.m = std::max(p.m, nodes[i].u + 1), p.n = std::max(p.n, nodes[i].v + 1);
		}
	}
	fclose(f);
	p.nnz = n, p.R = nodes.data();
	return nodes;
}

static mf_model *timed(const mf_problem &p, mf_parameter a, int iterations, double &seconds) {
	a.nr_iters = iterations;
	auto began = std::chrono::steady_clock::now();
	mf_model *m = mf_train(&p, a);
	seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
	return m;
}

int main(int argc, char **argv) {
	if (argc != 8) { fprintf(stderr, "usage: libmf TRAIN.npy TEST.npy K ITERATIONS THREADS LAMBDA ETA\n"); return 2; }
	mf_problem train{}, test{};
	auto a = load(argv[1], train);
	auto b = load(argv[2], test);
	mf_parameter q = mf_get_default_param();
	q.k = atoi(argv[3]), q.nr_threads = atoi(argv[5]), q.eta = atof(argv[7]);
	q.lambda_p2 = q.lambda_q2 = atof(argv[6]);
	q.quiet = true;
	int iterations = atoi(argv[4]);
	double one, all;
	mf_model *m = timed(train, q, 1, one);
	mf_destroy_model(&m);
	m = timed(train, q, iterations, all);
	printf("{\"updates_per_second\": %.0f, \"seconds\": %.4f, \"test_rmse\": %.6f, \"preparation_seconds\": %.3f}\n",
		(iterations - 1) * train.nnz / (all - one), (all - one) * iterations / (iterations - 1.0), calc_rmse(&test, m),
		one - (all - one) / (iterations - 1.0));
	mf_destroy_model(&m);
}

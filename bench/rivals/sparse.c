/* A sparse linear model in plain C loops: the baseline for hogwild's, with the same order of
 * examples. Rows are shuffled once when they are read; each epoch permutes blocks of 64
 * rows, and the rows in each, as hogwild's data.Order does. Float32, one example a step,
 * constant rate, or a cosine or linear schedule. Several threads write racily.
 *
 *   cc -O3 -march=native -pthread -o sparse sparse.c -lm
 *   sparse TRAIN TEST [loss=logistic|hinge] [lr=X] [l2=X] [bias=0|1] [epochs=N] [threads=N] [schedule=constant|cosine|linear]
 *   sparse TRAIN bin=FILE        writes TRAIN in the format of Hogwild! and Hogwild++
 *
 * Files are LIBSVM's, labels above 0 are +1. The arrays are kept beside a file as
 * FILE.csr. Prints one line of JSON; seconds and test results are those of each epoch, orders
 * included.
 */
#define _GNU_SOURCE
#pragma GCC optimize("no-tree-vectorize") /* gcc's gathers are slower than loads here */
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct {
	int64_t n, d, nnz;
	int64_t *ptr;
	uint32_t *idx;
	float *val, *y;
} Set;

static struct { int hinge, bias, epochs, threads, cosine, linear; float lr, l2; } opt = {0, 1, 5, 1, 0, 0, 0.02f, 0};
static Set train, test;
static float *w, *often; /* d weights and the bias; l2 per visit, by 1/frequency */
static int32_t *order;
static int64_t ticket;
static int epoch;
enum { BLOCK = 64, CHUNK = 1024, AHEAD = 12 };

static uint64_t mix(uint64_t z) { /* splitmix64 */
	z += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static int64_t draw(uint64_t *key, int64_t n) { /* from 0 to n-1 */
	*key += 0x9e3779b97f4a7c15;
	return (int64_t)((mix(*key) >> 32) * (uint64_t)n >> 32);
}

static void *get(size_t bytes) {
	void *p = mmap(0, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) { perror("memory"); exit(1); }
	madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

static void allocate(Set *s) {
	s->ptr = get(8 * (s->n + 1)), s->idx = get(4 * s->nnz), s->val = get(4 * s->nnz), s->y = get(4 * s->n);
}

/* parse counts (s->ptr NULL) or fills the arrays. */
static void parse(Set *s, const char *p, const char *end) {
	int64_t row = 0, k = 0;
	while (p < end) {
		char *next;
		float y = strtof(p, &next);
		if (next == p) break; /* the end, or a blank last line */
		if (s->ptr) s->ptr[row] = k, s->y[row] = y > 0 ? 1 : -1;
		for (p = next; *p == ' ' || *p == '\t';) {
			long j = strtol(p, &next, 10);
			if (*next != ':') break;
			float v = strtof(next + 1, &next);
			if (s->ptr) s->idx[k] = j - 1, s->val[k] = v;
			if (j > s->d) s->d = j;
			k++, p = next;
		}
		while (p < end && *p != '\n') p++;
		p++, row++;
	}
	s->n = row, s->nnz = k;
	if (s->ptr) s->ptr[row] = k;
}

static void whole(ssize_t got, size_t want) { if (got != (ssize_t)want) { perror("short file"); exit(1); } }

static Set load(const char *path) {
	Set s = {0};
	char cache[4096];
	struct stat a, b;
	snprintf(cache, sizeof cache, "%s.csr", path);
	if (stat(path, &a)) { perror(path); exit(1); }
	FILE *f = stat(cache, &b) == 0 && b.st_mtime >= a.st_mtime ? fopen(cache, "r") : 0;
	if (f) {
		whole(fread(&s, 8, 3, f), 3);
		allocate(&s);
		whole(fread(s.ptr, 8, s.n + 1, f), s.n + 1), whole(fread(s.idx, 4, s.nnz, f), s.nnz);
		whole(fread(s.val, 4, s.nnz, f), s.nnz), whole(fread(s.y, 4, s.n, f), s.n);
		fclose(f);
		return s;
	}
	char *text = get(a.st_size);
	int fd = open(path, O_RDONLY);
	for (off_t at = 0; at < a.st_size;) {
		ssize_t got = read(fd, text + at, a.st_size - at);
		if (got <= 0) { perror(path); exit(1); }
		at += got;
	}
	parse(&s, text, text + a.st_size);
	allocate(&s);
	parse(&s, text, text + a.st_size);
	if ((f = fopen(cache, "w"))) {
		fwrite(&s, 8, 3, f), fwrite(s.ptr, 8, s.n + 1, f), fwrite(s.idx, 4, s.nnz, f);
		fwrite(s.val, 4, s.nnz, f), fwrite(s.y, 4, s.n, f), fclose(f);
	}
	return s;
}

static Set shuffled(Set s) {
	Set t = {s.n, s.d, s.nnz};
	int32_t *rows = get(4 * s.n);
	uint64_t key = 1;
	for (int64_t i = 0, j; i < s.n; i++) j = draw(&key, i + 1), rows[i] = rows[j], rows[j] = i;
	allocate(&t);
	for (int64_t i = 0; i < s.n; i++) {
		int64_t from = s.ptr[rows[i]], len = s.ptr[rows[i] + 1] - from;
		memcpy(t.idx + t.ptr[i], s.idx + from, 4 * len), memcpy(t.val + t.ptr[i], s.val + from, 4 * len);
		t.y[i] = s.y[rows[i]], t.ptr[i + 1] = t.ptr[i] + len;
	}
	return t;
}

/* arrange permutes the full blocks, and the rows inside each; the last block stays. */
static void arrange(void) {
	int64_t full = train.n / BLOCK;
	uint64_t key = mix(mix(1) + epoch);
	static int32_t *blocks;
	if (!blocks) blocks = get(4 * (full + 1));
	for (int64_t i = 0, j; i < full; i++) j = draw(&key, i + 1), blocks[i] = blocks[j], blocks[j] = i;
	blocks[full] = full;
	for (int64_t b = 0; b <= full; b++) {
		int64_t first = blocks[b] * (int64_t)BLOCK, size = b < full ? BLOCK : train.n - first;
		int32_t *o = order + b * BLOCK;
		for (int64_t i = 0, j; i < size; i++) j = draw(&key, i + 1), o[i] = o[j], o[j] = first + i;
	}
}

static float score(const Set *s, int64_t i) {
	float z = w[train.d];
	for (int64_t k = s->ptr[i]; k < s->ptr[i + 1]; k++)
		if (s->idx[k] < train.d) z += s->val[k] * w[s->idx[k]];
	return z;
}

/* dot has four sums, so that no addition waits for the last one. */
static inline float dot(const uint32_t *idx, const float *val, int64_t n) {
	float a = 0, b = 0, c = 0, d = 0;
	int64_t k = 0;
	for (; k + 4 <= n; k += 4)
		a += val[k] * w[idx[k]], b += val[k + 1] * w[idx[k + 1]], c += val[k + 2] * w[idx[k + 2]], d += val[k + 3] * w[idx[k + 3]];
	for (; k < n; k++) a += val[k] * w[idx[k]];
	return a + b + c + d;
}

/* fetch prefetches a row, one line of 16 numbers at a time. */
static inline void fetch(int64_t row) {
	for (int64_t k = train.ptr[row]; k < train.ptr[row + 1]; k += 16)
		__builtin_prefetch(train.idx + k), __builtin_prefetch(train.val + k);
}

/* chunk is the loop: dot, derivative, axpy. */
static void chunk(int64_t from, int64_t to) {
	float *bias = w + train.d, t = (epoch * train.n + from) / (float)(opt.epochs * train.n);
	float lr = opt.lr * (opt.cosine ? 0.5f * (1 + cosf(3.14159265f * t)) : opt.linear ? 1 - t : 1);
	for (int64_t i = from; i < to; i++) {
		if (i + AHEAD < to) fetch(order[i + AHEAD]);
		int64_t row = order[i], first = train.ptr[row], end = train.ptr[row + 1];
		float y = train.y[row], z = *bias + dot(train.idx + first, train.val + first, end - first);
		float g = opt.hinge ? (y * z < 1 ? lr * y : 0) : lr * y / (1 + expf(y * z));
		if (opt.l2)
			for (int64_t k = first; k < end; k++) w[train.idx[k]] *= 1 - lr * often[train.idx[k]];
		if (g == 0) continue;
		for (int64_t k = first; k < end; k++) w[train.idx[k]] += g * train.val[k];
		if (opt.bias) *bias += g;
	}
}

static void *worker(void *rank) {
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET((intptr_t)rank, &set);
	sched_setaffinity(0, sizeof set, &set);
	for (int64_t at; (at = __atomic_fetch_add(&ticket, CHUNK, __ATOMIC_RELAXED)) < train.n;)
		chunk(at, at + CHUNK < train.n ? at + CHUNK : train.n);
	return 0;
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static double loss(const Set *s, double *accuracy) {
	double sum = 0, right = 0;
	for (int64_t i = 0; i < s->n; i++) {
		double z = s->y[i] * score(s, i);
		sum += opt.hinge ? fmax(0, 1 - z) : log1p(exp(-z)), right += z > 0;
	}
	*accuracy = right / s->n;
	return sum / s->n;
}

static void convert(const char *path) {
	FILE *f = fopen(path, "w");
	struct { int32_t row, col; double value; } e;
	uint64_t count = train.nnz + train.n + 1; /* its reader drops the last entry */
	if (!f) { perror(path); exit(1); }
	fwrite(&count, 8, 1, f);
	for (int64_t i = 0; i < train.n; i++) {
		e.row = i, e.col = -2, e.value = train.y[i], fwrite(&e, sizeof e, 1, f);
		for (int64_t k = train.ptr[i]; k < train.ptr[i + 1]; k++)
			e.col = train.idx[k], e.value = train.val[k], fwrite(&e, sizeof e, 1, f);
	}
	e.row = train.n, fwrite(&e, sizeof e, 1, f), fclose(f);
}

static void list(const char *name, const double *v) { /* of all epochs; NaN as Python reads it */
	printf(", \"%s\": ", name);
	for (int i = 0; i < opt.epochs; i++) isfinite(v[i]) ? printf("%s%.6f", i ? ", " : "[", v[i]) : printf("%sNaN", i ? ", " : "[");
	printf("]");
}

int main(int argc, char **argv) {
	if (argc < 3) { fprintf(stderr, "usage: sparse TRAIN TEST|bin=FILE [name=value]...\n"); return 2; }
	train = shuffled(load(argv[1]));
	if (!strncmp(argv[2], "bin=", 4)) return convert(argv[2] + 4), 0;
	test = load(argv[2]);
	for (int i = 3; i < argc; i++) {
		char *v = strchr(argv[i], '=');
		if (!v++) { fprintf(stderr, "%s: want name=value\n", argv[i]); return 2; }
		if (!strncmp(argv[i], "loss", 4)) opt.hinge = !strcmp(v, "hinge");
		if (!strncmp(argv[i], "lr", 2)) opt.lr = atof(v);
		if (!strncmp(argv[i], "l2", 2)) opt.l2 = atof(v);
		if (!strncmp(argv[i], "bias", 4)) opt.bias = atoi(v);
		if (!strncmp(argv[i], "epochs", 6)) opt.epochs = atoi(v);
		if (!strncmp(argv[i], "threads", 7)) opt.threads = atoi(v);
		if (!strncmp(argv[i], "schedule", 8)) opt.cosine = !strcmp(v, "cosine"), opt.linear = !strcmp(v, "linear");
	}
	w = get(4 * (train.d + 1)), often = get(4 * train.d), order = get(4 * (train.n + BLOCK));
	for (int64_t k = 0; k < train.nnz; k++) often[train.idx[k]]++;
	for (int64_t j = 0; j < train.d; j++) often[j] = often[j] ? opt.l2 * train.n / often[j] : 0;
	double all = 0, *seconds = get(8 * opt.epochs), *losses = get(8 * opt.epochs), *accuracies = get(8 * opt.epochs);
	for (epoch = 0; epoch < opt.epochs; epoch++, ticket = 0) {
		pthread_t threads[64];
		double began = now();
		arrange();
		for (intptr_t t = 1; t < opt.threads; t++) pthread_create(&threads[t], 0, worker, (void *)t);
		worker(0);
		for (int t = 1; t < opt.threads; t++) pthread_join(threads[t], 0);
		all += seconds[epoch] = now() - began;
		losses[epoch] = loss(&test, &accuracies[epoch]);
	}
	printf("{\"examples_per_second\": %.0f", opt.epochs * train.n / all);
	list("seconds", seconds), list("test_loss", losses), list("test_accuracy", accuracies), puts("}");
}

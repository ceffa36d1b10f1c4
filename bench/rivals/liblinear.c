/* liblinear's training time to within a share of the optimum: the better of its two solvers
 * for l2-regularized logistic regression, at the loosest sufficient tolerance. The optimum
 * is that of solver 0 at tolerance 1e-9.
 *
 *   cc -O2 -o liblinear liblinear.c -llinear -lm        (Debian: liblinear-dev 2.3.0)
 *   liblinear TRAIN LAMBDA [SHARE=1e-3]
 *
 * The objective is mean log(1+exp(-y w'x)) + LAMBDA/2 |w|^2, without bias; liblinear's C
 * is 1/(LAMBDA n). Prints one line of JSON.
 */
#include <linear.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct problem p = {.bias = -1};

static void quiet(const char *s) { (void)s; }

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void load(const char *path) {
	FILE *f = fopen(path, "r");
	char *line = 0;
	size_t room = 0;
	if (!f) { perror(path); exit(1); }
	for (int rows = 0; getline(&line, &room, f) > 0;) {
		char *at, *next;
		double y = strtod(line, &at);
		if (at == line) continue;
		if (p.l == rows) {
			rows = rows ? 2 * rows : 1024;
			p.y = realloc(p.y, rows * sizeof *p.y), p.x = realloc(p.x, rows * sizeof *p.x);
		}
		int k = 1;
		for (char *c = at; *c; c++) k += *c == ':';
		struct feature_node *x = p.x[p.l] = malloc(k * sizeof *x);
		p.y[p.l++] = y > 0 ? 1 : -1;
		for (; --k; x++) {
			x->index = strtol(at, &next, 10), x->value = strtod(next + 1, &at);
			if (x->index > p.n) p.n = x->index;
		}
		x->index = -1;
	}
	fclose(f);
}

static double objective(const struct model *m, double lambda) {
	double sum = 0, square = 0, sign = m->label[0] > 0 ? 1 : -1;
	for (int i = 0; i < p.l; i++) {
		double z = 0;
		for (struct feature_node *x = p.x[i]; x->index > 0; x++) z += m->w[x->index - 1] * x->value;
		sum += log1p(exp(-sign * p.y[i] * z));
	}
	for (int j = 0; j < p.n; j++) square += m->w[j] * m->w[j];
	return sum / p.l + lambda / 2 * square;
}

/* run returns the objective, and sets seconds to the fastest of a few runs. */
static double run(int solver, double eps, double lambda, int times, double *seconds) {
	struct parameter a = {.solver_type = solver, .eps = eps, .C = 1 / (lambda * p.l), .p = 0.1};
	double value = 0;
	*seconds = 1e9;
	for (int i = 0; i < times; i++) {
		double began = now();
		struct model *m = train(&p, &a);
		*seconds = fmin(*seconds, now() - began);
		value = objective(m, lambda);
		free_and_destroy_model(&m);
	}
	return value;
}

int main(int argc, char **argv) {
	if (argc < 3) { fprintf(stderr, "usage: liblinear TRAIN LAMBDA [SHARE]\n"); return 2; }
	double lambda = atof(argv[2]), share = argc > 3 ? atof(argv[3]) : 1e-3, seconds, best = 1e9, best_eps = 0, best_value = 0;
	int best_solver = 0, solvers[] = {L2R_LR, L2R_LR_DUAL};
	set_print_string_function(quiet);
	load(argv[1]);
	double optimum = run(L2R_LR, 1e-9, lambda, 1, &seconds);
	for (int s = 0; s < 2; s++)
		for (double eps = 100; eps > 1e-6; eps /= 2) {
			double value = run(solvers[s], eps, lambda, 3, &seconds);
			if (value > optimum * (1 + share)) continue;
			if (seconds < best) best = seconds, best_solver = solvers[s], best_eps = eps, best_value = value;
			break;
		}
	printf("{\"seconds\": %.6f, \"solver\": %d, \"eps\": %g, \"objective\": %.9f, \"optimum\": %.9f, \"version\": %d}\n",
		best, best_solver, best_eps, best_value, optimum, liblinear_version);
	return 0;
}

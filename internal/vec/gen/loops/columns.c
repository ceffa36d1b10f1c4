#include "simd.h"

typedef double doubles __attribute__((vector_size(8 * LANES)));
typedef double place __attribute__((vector_size(8 * LANES), aligned(8)));
typedef int32_t counts __attribute__((vector_size(4 * LANES), aligned(4)));

#define widened(x) __builtin_convertvector(x, doubles)

// n columns go down the rows. From, Least and Most are wide numbers apart, and so are Sum and Squares.
inline void columns(float *x, float *edges, double *sums, long rows, long d, long wide, long n) {
	doubles origin = widened(*(anywhere *)edges), sum = *(place *)sums, squares = *(place *)(sums + wide);
	vector least = *(anywhere *)(edges + wide), most = *(anywhere *)(edges + 2 * wide);
	for (; rows > 0; rows--, x += d) {
		vector v = load(x, n);
		doubles over = widened(v) - origin;
		least = pick((ints)(v < least), v, least);
		most = pick((ints)(v > most), v, most);
		sum += over;
		squares += over * over;
	}
	*(place *)sums = sum;
	*(place *)(sums + wide) = squares;
	*(anywhere *)(edges + wide) = least;
	*(anywhere *)(edges + 2 * wide) = most;
}

// columnsSIMD is Columns.addGo.
//
//go: func columnsSIMD(x, edges *float32, sums *float64, rows, d, wide int)
void columnsSIMD(float *x, float *edges, double *sums, long rows, long d, long wide) {
	long left = d;
	for (; left >= LANES; left -= LANES, x += LANES, edges += LANES, sums += LANES)
		columns(x, edges, sums, rows, d, wide, LANES);
	if (left > 0)
		columns(x, edges, sums, rows, d, wide, left);
}

inline void scaled(float *x, double *mul, double *add, int32_t *seen, long rows, long d, long n) {
	doubles m = *(place *)mul, a = *(place *)add;
	counts count = *(counts *)seen;
	for (; rows > 0; rows--, x += d) {
		vector v = __builtin_convertvector(widened(load(x, n)) * m + a, vector);
		store(x, v, n);
		count -= (counts)(v != spread(0));
	}
	*(counts *)seen = count;
}

// scaledSIMD is Scaling.applyGo.
//
//go: func scaledSIMD(x *float32, mul, add *float64, seen *int32, rows, d int)
void scaledSIMD(float *x, double *mul, double *add, int32_t *seen, long rows, long d) {
	long left = d;
	for (; left >= LANES; left -= LANES, x += LANES, mul += LANES, add += LANES, seen += LANES)
		scaled(x, mul, add, seen, rows, d, LANES);
	if (left > 0)
		scaled(x, mul, add, seen, rows, d, left);
}

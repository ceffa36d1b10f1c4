#include "simd.h"

// Convolutions. What ../../conv.go knows too: images side by side, in numbers, and channels at once.
enum { numbers = 16, tile = 5, vectors = numbers / LANES };

// convTile adds up in registers, for a tile of channels and so many vectors.
inline void convTile(int n, float *c, long ldc, float *a, float *start, float *b, int32_t *off, long k) {
	vector sum[tile][4];
	float *at = c;
	unrolled for (int m = 0; m < tile; m++, at += ldc) {
		asm("" : "+r"(at)); // or five addresses are kept, and find no registers
		unrolled for (int v = 0; v < n; v++)
			sum[m][v] = start ? spread(start[m]) : load(at + LANES * v, LANES);
	}
	for (long i = 0; i < k; i++, a += tile) {
		float *from = b + *off++;
		vector x[4];
		unrolled for (int v = 0; v < n; v++)
			x[v] = load(from + LANES * v, LANES);
		unrolled for (int m = 0; m < tile; m++) {
			vector weight = spread(a[m]);
			unrolled for (int v = 0; v < n; v++)
				sum[m][v] = fma(x[v], weight, sum[m][v]);
		}
	}
	unrolled for (int m = 0; m < tile; m++, c += ldc) {
		asm("" : "+r"(c));
		unrolled for (int v = 0; v < n; v++)
			store(c + LANES * v, sum[m][v], LANES);
	}
}

// convRowSIMD is ConvRow; without start the sums begin at c.
//
//go: func convRowSIMD(c *float32, ldc int, a, start, b *float32, off *int32, k, n int)
void convRowSIMD(float *c, long ldc, float *a, float *start, float *b, int32_t *off, long k, long n) {
	if (vectors == 1)
		for (; n >= 4; n -= 4, c += 4 * numbers, b += 4 * numbers)
			convTile(4, c, ldc, a, start, b, off, k);
	for (; n > 0; n--, c += numbers, b += numbers)
		convTile(vectors, c, ldc, a, start, b, off, k);
}

// addTotals adds the sum over each of tile vectors to one number of g.
inline void addTotals(float *g, vector *v) {
#ifdef __aarch64__
	unrolled for (int m = 0; m < tile; m++)
		g[m] += total(v[m]);
#else
	__m128 y[tile];
	unrolled for (int m = 0; m < tile; m++)
		y[m] = folded(v[m]);
	y[0] = _mm_unpacklo_ps(y[0], y[1]) + _mm_unpackhi_ps(y[0], y[1]);
	y[2] = _mm_unpacklo_ps(y[2], y[3]) + _mm_unpackhi_ps(y[2], y[3]);
	_mm_storeu_ps(g, _mm_loadu_ps(g) + (_mm_movelh_ps(y[0], y[2]) + _mm_movehl_ps(y[2], y[0])));
	y[4] += _mm_movehl_ps(y[4], y[4]);
	g[4] += y[4][0] + y[4][1];
#endif
}

// gradPass adds up for n offsets from k on, at vectors that begin disp numbers into a position; where they are twice the
// same offset, at both halves of the lanes.
inline void gradPass(struct convGradSIMD *s, int n, int k, int disp, int twice) {
	enum { step = LANES == 4 ? LANES : numbers }; // all vectors of NEON meet all sums
	vector sum[tile][tile];
	float *from[tile], *d[tile];
	long at = 0, rows = s->rows;
	unrolled for (int i = 0; i < n; i++) {
		from[i] = s->b + s->off[k + (twice ? 0 : i)] + disp + (twice ? LANES * i : 0);
		unrolled for (int m = 0; m < tile; m++)
			sum[i][m] = spread(0);
	}
	unrolled for (int m = 0; m < tile; m++)
		d[m] = s->d + m * s->ldd + disp;
	for (; s->rows > 0; s->rows--) { // in memory, for there are not registers enough
		for (long left = s->n * (numbers / step); left > 0; left--, at += step) {
			asm("" : "+r"(at)); // one distance for ten pointers
			vector x[tile];
			unrolled for (int i = 0; i < n; i++)
				x[i] = load(from[i] + at, LANES);
			unrolled for (int m = 0; m < tile; m++) {
				vector delta = load(d[m] + at, LANES);
				unrolled for (int i = 0; i < n; i++)
					sum[i][m] = fma(twice && i ? load(d[m] + LANES * i + at, LANES) : delta, x[i], sum[i][m]);
			}
		}
		at += s->dRow - s->n * numbers;
		unrolled for (int i = 0; i < n; i++)
			from[i] += s->bRow - s->dRow;
		asm volatile("" ::: "memory");
	}
	if (LANES == 8) // it has more passes
		s->rows = rows;
	unrolled for (int i = 0; i < n; i++)
		addTotals(s->dw + tile * (k + (twice ? 0 : i)), sum[i]);
}

// convGradSIMD is ConvGrad. Its 25 sums stay in registers, with a vector of each offset and one of a channel. AVX2 has
// registers for ten: of two offsets in half of the lanes, or of the last offset in all of them.
//
//go: func convGradSIMD(dw, d *float32, ldd int, b *float32, off *int32, n, rows, dRow, bRow int)
void convGradSIMD(struct convGradSIMD *s) {
	if (LANES != 8) {
		gradPass(s, tile, 0, 0, 0);
		return;
	}
	unrolled for (int k = 0; k + 1 < tile; k += 2)
		unrolled for (int disp = 0; disp < numbers; disp += LANES)
			gradPass(s, 2, k, disp, 0);
	gradPass(s, 2, tile - 1, 0, 1);
}

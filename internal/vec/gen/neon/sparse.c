#include "neon.h"

// largestNEON is the largest of n > 0 indices.
//
//go: func largestNEON(idx *uint32, n int) uint32
uint32_t largestNEON(uint32_t *idx, long n) {
	uint32x4_t most[4];
	unrolled for (int v = 0; v < 4; v++)
		most[v] = vdupq_n_u32(0);
	for (; n >= 16; n -= 16, idx += 16)
		unrolled for (int v = 0; v < 4; v++)
			most[v] = vmaxq_u32(most[v], vld1q_u32(idx + 4 * v));
	for (; n > 0; n--, idx++)
		most[0] = vmaxq_u32(most[0], vld1q_dup_u32(idx));
	return vmaxvq_u32(vmaxq_u32(vmaxq_u32(most[0], most[1]), vmaxq_u32(most[2], most[3])));
}

// A panel is the columns that are worked on at once: vectors of four, and two or one more.
// Any number of columns is a sequence of panels, each no wider than the one before. The ten
// digits are one panel.
#define overPanels(k, panel, ...)                \
	for (; k >= 64; k -= 64)                 \
		panel(16, 0, 64, __VA_ARGS__);   \
	if (k >= 32) {                           \
		panel(8, 0, 32, __VA_ARGS__);    \
		k -= 32;                         \
	}                                        \
	if (k >= 16) {                           \
		panel(4, 0, 16, __VA_ARGS__);    \
		k -= 16;                         \
	}                                        \
	if (k >= 10) {                           \
		panel(2, 2, 10, __VA_ARGS__);    \
		k -= 10;                         \
	}                                        \
	if (k >= 8) {                            \
		panel(2, 0, 8, __VA_ARGS__);     \
		k -= 8;                          \
	}                                        \
	if (k >= 4) {                            \
		panel(1, 0, 4, __VA_ARGS__);     \
		k -= 4;                          \
	}                                        \
	if (k >= 2) {                            \
		panel(0, 2, 2, __VA_ARGS__);     \
		k -= 2;                          \
	}                                        \
	if (k > 0)                               \
		panel(0, 1, 1, __VA_ARGS__)

enum { most = 16 }; // vectors of a panel

// lanesOf is how many numbers vector v of a panel has.
#define lanesOf(v) ((v) < vectors ? 4 : more)
#define all(vectors, more) ((vectors) + ((more) > 0))

// gemv adds to the panel at z; of narrow panels several rows at once are under way, each with sums
// of its own, since an addition waits for the one before it.
inline long gemv(int vectors, int more, uint32_t *idx, float *val, long n, uint32_t end, float *w, long k, float *z) {
	const int count = all(vectors, more), rows = count > 4 ? 1 : 4;
	float32x4_t sum[4][most];
	unrolled for (int v = 0; v < count; v++) {
		sum[0][v] = load(z + 4 * v, lanesOf(v));
		unrolled for (int u = 1; u < rows; u++)
			sum[u][v] = vdupq_n_f32(0);
	}
	long i = 0;
	for (; i + rows <= n && idx[i + rows - 1] < end; i += rows)
		unrolled for (int u = 0; u < rows; u++) {
			float *row = w + idx[i + u] * k;
			unrolled for (int v = 0; v < count; v++)
				sum[u][v] = vfmaq_n_f32(sum[u][v], load(row + 4 * v, lanesOf(v)), val[i + u]);
		}
	for (; rows > 1 && i < n && idx[i] < end; i++) {
		float *row = w + idx[i] * k;
		unrolled for (int v = 0; v < count; v++)
			sum[0][v] = vfmaq_n_f32(sum[0][v], load(row + 4 * v, lanesOf(v)), val[i]);
	}
	unrolled for (int v = 0; v < count; v++) {
		float32x4_t s = sum[0][v];
		if (rows == 4)
			s = vaddq_f32(vaddq_f32(s, sum[1][v]), vaddq_f32(sum[2][v], sum[3][v]));
		store(z + 4 * v, s, lanesOf(v));
	}
	return i;
}

#define gemvPanel(vectors, more, width, k)                                   \
	do {                                                                 \
		done = gemv(vectors, more, idx, val, n, end, w, k, z);       \
		w += width;                                                  \
		z += width;                                                  \
	} while (0)

// sparseGemvNEON is sparseGemvGo, of a matrix with k columns.
//
//go: func sparseGemvNEON(idx *uint32, val *float32, n int, end uint32, w, z *float32, k int) int
long sparseGemvNEON(uint32_t *idx, float *val, long n, uint32_t end, float *w, float *z, long k) {
	long done = 0, left = k;
	overPanels(left, gemvPanel, k);
	return done;
}

// ger moves the panel of each row; that of a*d stays in registers.
inline void ger(int vectors, int more, float a, uint32_t *idx, float *val, long n, float *d, float *w, long k) {
	const int count = all(vectors, more);
	float32x4_t delta[most];
	unrolled for (int v = 0; v < count; v++)
		delta[v] = vmulq_n_f32(load(d + 4 * v, lanesOf(v)), a);
	for (long i = 0; i < n; i++) {
		float *row = w + idx[i] * k;
		unrolled for (int v = 0; v < count; v++)
			store(row + 4 * v, vfmaq_n_f32(load(row + 4 * v, lanesOf(v)), delta[v], val[i]), lanesOf(v));
	}
}

#define gerPanel(vectors, more, width, k)                          \
	do {                                                       \
		ger(vectors, more, a, idx, val, n, d, w, k);       \
		w += width;                                        \
		d += width;                                        \
	} while (0)

// sparseGerNEON is sparseGerGo, of a matrix with k columns.
//
//go: func sparseGerNEON(a float32, idx *uint32, val *float32, n int, d, w *float32, k int)
void sparseGerNEON(float a, uint32_t *idx, float *val, long n, float *d, float *w, long k) {
	long left = k;
	overPanels(left, gerPanel, k);
}

// outer sums the products of a row in registers before they meet the row: it is loaded and stored
// once, and nothing waits for it to arrive.
inline void outer(int vectors, int more, float a, uint32_t *from, long rows, uint64_t *list, float *d, float *w, long k) {
	const int count = all(vectors, more);
	uint64_t *e = list + from[0];
	for (long j = 0; j < rows; j++, w += k) {
		uint64_t *end = list + from[j + 1];
		if (e >= end)
			continue;
		float32x4_t sum[most];
		unrolled for (int v = 0; v < count; v++)
			sum[v] = vdupq_n_f32(0);
		for (; e < end; e++) {
			float *delta = d + (uint32_t)*e;
			float32x2_t x = vcreate_f32(*e); // the value is its upper half
			unrolled for (int v = 0; v < count; v++)
				sum[v] = vfmaq_lane_f32(sum[v], load(delta + 4 * v, lanesOf(v)), x, 1);
		}
		unrolled for (int v = 0; v < count; v++)
			store(w + 4 * v, vfmaq_n_f32(load(w + 4 * v, lanesOf(v)), sum[v], a), lanesOf(v));
	}
}

#define outerPanel(vectors, more, width, k)                               \
	do {                                                              \
		outer(vectors, more, a, from, rows, list, d, w, k);       \
		w += width;                                               \
		d += width;                                               \
	} while (0)

// sparseOuterNEON is addOuterGo, of a matrix with k columns.
//
//go: func sparseOuterNEON(a float32, from *uint32, rows int, list *uint64, d, w *float32, k int)
void sparseOuterNEON(float a, uint32_t *from, long rows, uint64_t *list, float *d, float *w, long k) {
	long left = k;
	overPanels(left, outerPanel, k);
}

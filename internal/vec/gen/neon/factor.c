#include "neon.h"

// near and far are how many entries before its turn the factors of an entry are asked for, and the
// entry itself.
enum { near = 12, far = 64 };

// dot is that of two rows: of so many vectors, all in p and q, and of the k%4 numbers behind them. squares
// becomes the sum of the squares of both.
inline float dot(int vectors, float *pu, float *pv, float32x4_t *p, float32x4_t *q, int more, float *squares) {
	float32x4_t sum[2] = {vdupq_n_f32(0), vdupq_n_f32(0)}, square[2] = {sum[0], sum[0]};
	unrolled for (int v = 0; v < vectors; v++) {
		p[v] = vld1q_f32(pu + 4 * v);
		q[v] = vld1q_f32(pv + 4 * v);
		sum[v % 2] = vfmaq_f32(sum[v % 2], p[v], q[v]);
		square[0] = vfmaq_f32(square[0], p[v], p[v]), square[1] = vfmaq_f32(square[1], q[v], q[v]);
	}
	if (more) {
		float32x4_t x = p[vectors] = load(pu + 4 * vectors, more);
		float32x4_t y = q[vectors] = load(pv + 4 * vectors, more);
		sum[vectors % 2] = vfmaq_f32(sum[vectors % 2], x, y);
		square[0] = vfmaq_f32(square[0], x, x), square[1] = vfmaq_f32(square[1], y, y);
	}
	*squares = vaddvq_f32(vaddq_f32(square[0], square[1]));
	return vaddvq_f32(vaddq_f32(sum[0], sum[1]));
}

inline float32x4_t moved(float32x4_t mine, float32x4_t other, float keep, float step) {
	return vfmaq_n_f32(vmulq_n_f32(mine, keep), other, step);
}

// move takes the step of both rows, as they are in p and q.
inline void move(int vectors, float *pu, float *pv, float32x4_t *p, float32x4_t *q, int more, float keep, float step) {
	unrolled for (int v = 0; v < vectors; v++) {
		vst1q_f32(pu + 4 * v, moved(p[v], q[v], keep, step));
		vst1q_f32(pv + 4 * v, moved(q[v], p[v], keep, step));
	}
	if (more) {
		store(pu + 4 * vectors, moved(p[vectors], q[vectors], keep, step), more);
		store(pv + 4 * vectors, moved(q[vectors], p[vectors], keep, step), more);
	}
}

enum { held = 8 }; // vectors of a row that the registers hold, with those of the other one

// longDot and longMove are for rows of more: they are loaded twice.
inline float longDot(float *pu, float *pv, long k, float *squares) {
	float32x4_t sum[4], square[4];
	unrolled for (int v = 0; v < 4; v++)
		sum[v] = square[v] = vdupq_n_f32(0);
	for (; k >= 16; k -= 16, pu += 16, pv += 16)
		unrolled for (int v = 0; v < 4; v++) {
			float32x4_t x = vld1q_f32(pu + 4 * v), y = vld1q_f32(pv + 4 * v);
			sum[v] = vfmaq_f32(sum[v], x, y);
			square[v] = vfmaq_f32(vfmaq_f32(square[v], x, x), y, y);
		}
	for (; k >= 4; k -= 4, pu += 4, pv += 4) {
		float32x4_t x = vld1q_f32(pu), y = vld1q_f32(pv);
		sum[0] = vfmaq_f32(sum[0], x, y);
		square[0] = vfmaq_f32(vfmaq_f32(square[0], x, x), y, y);
	}
	if (k > 0) {
		float32x4_t x = load(pu, k), y = load(pv, k);
		sum[1] = vfmaq_f32(sum[1], x, y);
		square[1] = vfmaq_f32(vfmaq_f32(square[1], x, x), y, y);
	}
	*squares = vaddvq_f32(vaddq_f32(vaddq_f32(square[0], square[1]), vaddq_f32(square[2], square[3])));
	return vaddvq_f32(vaddq_f32(vaddq_f32(sum[0], sum[1]), vaddq_f32(sum[2], sum[3])));
}

inline void longMove(float *pu, float *pv, long k, float keep, float step) {
	float32x4_t p[1], q[1];
	for (; k >= 4; k -= 4, pu += 4, pv += 4) {
		p[0] = vld1q_f32(pu), q[0] = vld1q_f32(pv);
		move(1, pu, pv, p, q, 0, keep, step);
	}
	if (k > 0) {
		p[0] = load(pu, k), q[0] = load(pv, k);
		move(0, pu, pv, p, q, k, keep, step);
	}
}

// ahead asks memory for the entry that comes far entries later, and for the factors of that which
// is near; where none comes, for this one's.
inline void ahead(int vectors, struct factorNEON *s, long i) {
	long later = i + far < s->known ? i + far : i, soon = i + near < s->known ? i + near : i;
	uint64_t r = (uint32_t)s->rows[later];
	if (r < (uint64_t)s->entries) {
		__builtin_prefetch(s->idx + 2 * r);
		__builtin_prefetch(s->y + r);
	}
	r = (uint32_t)s->rows[soon];
	if (r >= (uint64_t)s->entries)
		return;
	unrolled for (int end = 0; end < 2; end++) {
		float *row = s->w + s->idx[2 * r + end] * s->k;
		if (vectors > held)
			for (long at = 0; at < s->k; at += 16)
				__builtin_prefetch(row + at);
		else
			unrolled for (int at = 0; at < 4 * vectors; at += 16)
				__builtin_prefetch(row + at);
		__builtin_prefetch(row + s->k - 1); // a row may begin anywhere in a line
	}
}

// keepRows stores both rows as they are from coef on.
inline void keepRows(float *pu, float *pv, long k, float *coef) {
	for (long c = 0; c < k; c++)
		coef[c] = pu[c], coef[k + c] = pv[c];
}

// write is the half of an entry's step that writes: the rows are moved by those that coef holds.
inline void write(struct factorNEON *s) {
	uint64_t r = (uint32_t)s->rows[0];
	s->done = 0, s->loss = 0;
	if (r >= (uint64_t)s->entries)
		return;
	uint64_t u = s->idx[2 * r], v = s->idx[2 * r + 1];
	if (u >= (uint64_t)s->nodes || v >= (uint64_t)s->nodes)
		return;
	long k = s->k;
	float keep = s->keep, *bias = s->bias, *coef = s->coef, step = s->rate * *coef++;
	if (bias)
		bias[u] += step, bias[v] += step;
	float *pu = s->w + u * k, *pv = s->w + v * k;
	for (; k >= 4; k -= 4, pu += 4, pv += 4, coef += 4) {
		float32x4_t p = vld1q_f32(pu), q = vld1q_f32(pv);
		vst1q_f32(pu, moved(p, vld1q_f32(coef + s->k), keep, step));
		vst1q_f32(pv, moved(q, vld1q_f32(coef), keep, step));
	}
	for (; k > 0; k--, pu++, pv++, coef++) {
		float p = *pu, q = *pv;
		*pu = fma32(coef[s->k], step, p * keep);
		*pv = fma32(*coef, step, q * keep);
	}
	s->done = 1;
}

// steps is the loop for rows of so many whole vectors, or, if they are more than held, of any number.
inline void steps(int vectors, struct factorNEON *s) {
	long i = 0, n = s->n, k = s->k;
	float keep = s->keep, rate = s->rate, *bias = s->bias;
	double loss = 0;
	for (; i < n; i++) {
		ahead(vectors, s, i);
		uint64_t r = (uint32_t)s->rows[i];
		if (r >= (uint64_t)s->entries)
			break;
		uint64_t u = s->idx[2 * r], v = s->idx[2 * r + 1];
		if (u >= (uint64_t)s->nodes || v >= (uint64_t)s->nodes)
			break;
		float miss = s->mean - s->y[r];
		if (bias)
			miss += bias[u], miss += bias[v];
		float *pu = s->w + u * k, *pv = s->w + v * k;
		float32x4_t p[held + 1], q[held + 1];
		float squares;
		miss += vectors > held ? longDot(pu, pv, k, &squares) : dot(vectors, pu, pv, p, q, k & 3, &squares);
		loss = __builtin_fma((double)miss, (double)miss, loss);
		if (squares > s->most) // the step would overshoot
			miss /= 1 - rate * (squares - s->most);
		float step = rate * miss;
		if (s->half != both) {
			s->coef[0] = miss;
			keepRows(pu, pv, k, s->coef + 1);
			continue;
		}
		if (bias)
			bias[u] += step, bias[v] += step;
		if (vectors > held)
			longMove(pu, pv, k, keep, step);
		else
			move(vectors, pu, pv, p, q, k & 3, keep, step);
	}
	s->done = i;
	s->loss = loss;
}

// factorNEON is Factors.Steps. Both rows of a pair lie in registers from
// the load to the store, up to 35 numbers. Entries are fetched ahead; rows has known of them, n of which
// are done. It returns how many it did: fewer when one is outside w.
//
//go: func factorNEON(rows *int32, n, known int, idx *uint32, y *float32, entries int, w *float32, nodes int, bias *float32, k int, mean, keep, rate, most float32, half int, coef *float32) (done int, loss float64)
void factorNEON(struct factorNEON *s) {
	if (s->half == writes) {
		write(s);
		return;
	}
	switch (s->k / 4) {
	case 0: steps(0, s); return;
	case 1: steps(1, s); return;
	case 2: steps(2, s); return;
	case 3: steps(3, s); return;
	case 4: steps(4, s); return;
	case 5: steps(5, s); return;
	case 6: steps(6, s); return;
	case 7: steps(7, s); return;
	case 8: steps(8, s); return;
	}
	steps(held + 1, s);
}

#include "neon.h"

// The steps of Linear, as ../linear.go has them for amd64. All of it is scalar for sparse rows: such a
// row has a dozen numbers, and single weights are loaded as the row before has just stored them.

// The kinds of loss, as package vec numbers them.
enum { logistic, hinge, squared, absolute };

// lead is how many rows before its turn a row is asked for, as package vec has it.
enum { lead = 16 };

// greatest and least are NaN if x is.
inline float greatest(float x, float y) {
	asm("fmax %s0, %s1, %s2" : "=w"(x) : "w"(x), "w"(y));
	return x;
}

inline float least(float x, float y) {
	asm("fmin %s0, %s1, %s2" : "=w"(x) : "w"(x), "w"(y));
	return x;
}

inline float absolutely(float x) { return __builtin_fabsf(x); }

// exponential is what exponent needs, each in a register for the whole loop.
struct exponential {
	float log2e, least, most, magic, c[6];
};

inline struct exponential constants(void) {
	// magic is 1.5 x 2^23: a sum with it is rounded to a whole number. c are the coefficients
	// of 2^f in ../linear.go.
	struct exponential e = {1.44269504f, -126, 126, 3 << 22,
		{1.00000012f, 0.693146944f, 0.240221202f, 0.0555071309f, 0.00967554096f, 0.00132764713f}};
	asm("" : "+w"(e.log2e), "+w"(e.least), "+w"(e.most), "+w"(e.magic)); // or they are made anew in each step
	unrolled for (int i = 0; i < 6; i++)
		asm("" : "+w"(e.c[i]));
	return e;
}

// exponent is exp(x), for |x| up to 87: x/log 2 is a whole number n plus f, and n is added
// to the exponent of 2^f.
inline float exponent(struct exponential *e, float x) {
	float y = least(greatest(x * e->log2e, e->least), e->most);
	float n = y + e->magic, f = y - (n - e->magic), g = f * f;
	float low = fma32(e->c[1], f, e->c[0]), mid = fma32(e->c[3], f, e->c[2]), high = fma32(e->c[5], f, e->c[4]);
	float power = fma32(g, fma32(g, high, mid), low);
	int32x2_t bits = vreinterpret_s32_f32(vset_lane_f32(n, vdup_n_f32(0), 0));
	int32x2_t sum = vadd_s32(vreinterpret_s32_f32(vset_lane_f32(power, vdup_n_f32(0), 0)), vshl_n_s32(bits, 23));
	return vget_lane_f32(vreinterpret_f32_s32(sum), 0);
}

// fetchRow asks memory for the row at soon, the first lines of it at once, as few rows are
// longer, and twice as far ahead for its label and for where it lies.
inline void fetchRow(int32_t *soon, int64_t *ptr, uint32_t *idx, float *val, float *y) {
	long later = soon[lead], now = soon[0];
	__builtin_prefetch(y + later);
	__builtin_prefetch(ptr + later);
	long from = ptr[now], n = ptr[now + 1] - from;
	idx += from, val += from;
	__builtin_prefetch(idx);
	__builtin_prefetch(val);
	__builtin_prefetch(idx + 16);
	__builtin_prefetch(val + 16);
	for (n -= 32; n > 0; n -= 16, idx += 16, val += 16) {
		__builtin_prefetch(idx + 32);
		__builtin_prefetch(val + 32);
	}
}

// dot is the bias plus the row times the weights, in four sums.
inline float dot(uint32_t *idx, float *val, long n, float *w, float bias) {
	float sum[4] = {bias, 0, 0, 0};
	for (; n >= 4; n -= 4, idx += 4, val += 4)
		unrolled for (int k = 0; k < 4; k++)
			sum[k] = fma32(val[k], w[idx[k]], sum[k]);
	for (; n > 0; n--)
		sum[1] = fma32(*val++, w[*idx++], sum[1]);
	return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// step is one weight's: with decay it shrinks by lr*shrink first.
inline void step(uint32_t j, float v, float a, float lr, float *w, float *shrink, int decay) {
	float x = w[j];
	if (decay)
		x = fma32(-least(shrink[j] * lr, 1), x, x);
	w[j] = fma32(v, a, x);
}

// axpy is w += a row, and before that, with decay, w -= min(1, lr shrink) w.
inline void axpy(uint32_t *idx, float *val, long n, float a, float lr, float *w, float *shrink, int decay) {
	for (; n >= 4; n -= 4, idx += 4, val += 4) {
		uint32_t j[4] = {idx[0], idx[1], idx[2], idx[3]};
		float v[4] = {val[0], val[1], val[2], val[3]};
		unrolled for (int k = 0; k < 4; k++)
			step(j[k], v[k], a, lr, w, shrink, decay);
	}
	for (; n > 0; n--)
		step(*idx++, *val++, a, lr, w, shrink, decay);
}

// denseDot and denseAxpy are dot and axpy of dense rows, four numbers at a time.
inline float denseDot(float *val, long n, float *w, float bias) {
	float32x4_t sum[2] = {vdupq_n_f32(0), vdupq_n_f32(0)};
	for (; n >= 8; n -= 8, val += 8, w += 8)
		unrolled for (int k = 0; k < 2; k++)
			sum[k] = vfmaq_f32(sum[k], vld1q_f32(val + 4 * k), vld1q_f32(w + 4 * k));
	for (; n > 0; n--)
		bias = fma32(*val++, *w++, bias);
	return vaddvq_f32(vaddq_f32(sum[0], sum[1])) + bias;
}

inline void denseAxpy(float *val, long n, float a, float lr, float *w, float *shrink, int decay) {
	for (; n >= 4; n -= 4, val += 4, w += 4) {
		float32x4_t x = vld1q_f32(w);
		if (decay) {
			x = vfmsq_f32(x, vminq_f32(vmulq_n_f32(vld1q_f32(shrink), lr), vdupq_n_f32(1)), x);
			shrink += 4;
		}
		vst1q_f32(w, vfmaq_n_f32(x, vld1q_f32(val), a));
	}
	for (long j = 0; j < n; j++)
		step(j, val[j], a, lr, w, shrink, decay);
}

// fetchDense is fetchRow of dense rows: of a long one it asks for the first kilobyte.
inline void fetchDense(int32_t *soon, long width, float *val, float *y) {
	__builtin_prefetch(y + soon[lead]);
	val += soon[0] * width;
	for (long n = width < 256 ? width : 256; n > 0; n -= 16, val += 16)
		__builtin_prefetch(val);
}

// loss is that of a few examples: sum less the logarithm of product.
struct loss {
	float sum, product;
};

// derivative is minus that of the loss at z for the label y. It adds the loss.
inline float derivative(long kind, struct exponential *constant, float z, float y, struct loss *l) {
	float t = y + y - 1, x = t * z; // t is 1 for class 1, -1 for class 0
	switch (kind) {
	case logistic: {
		// e = exp(t z), and the result is t/(1+e). The loss is max(0, -t z) plus
		// log(1 + min(e, 1/e)), minus the logarithm of the larger of 1/(1+e) and e/(1+e).
		float e = exponent(constant, x), miss = 1 / (1 + e);
		l->product *= greatest(e * miss, miss);
		l->sum += greatest(-x, 0);
		return t * miss;
	}
	case hinge:
		if (1 - x <= 0) // as NaN is not
			return 0;
		l->sum += 1 - x;
		return t;
	}
	x = y - z;
	if (kind == squared) {
		l->sum = fma32(x, x, l->sum);
		return x + x;
	}
	l->sum += absolutely(x);
	return x > 0 ? 1 : x < 0 ? -1 : 0;
}

// weigh multiplies a by the weight of row i, and adds to weighted as many times its loss, which it takes from l. Of a row
// of weight 0 a and the loss do not matter. Both pointers are loaded in each step: there are no registers for them.
inline float weigh(struct linearStepsNEON *s, long i, float a, struct loss *l, float *weighted) {
	float *weight = *(float *volatile *)&s->weight, *class = *(float *volatile *)&s->class, by = 1;
	if (!weight && !class)
		return a;
	if (weight)
		by = weight[i];
	if (class)
		by *= class[(long)s->y[i]];
	float atanh[5] = {2, 0.6666632f, 0.40024596f, 0.27965158f, 0.2815778f}; // as in ../linear.go
	unrolled for (int i = 0; i < 5; i++)
		asm volatile("" : "+w"(atanh[i])); // or each has a register for the whole loop
	float x = (l->product - 1) / (l->product + 1), q = x * x, p = atanh[4]; // the logarithm is 2 atanh(x)
	unrolled for (int i = 3; i >= 0; i--)
		p = fma32(p, q, atanh[i]);
	float loss = l->sum - x * p;
	*l = (struct loss){0, 1};
	if (by == 0)
		return 0;
	*weighted = fma32(by, loss, *weighted);
	return by * a;
}

// steps is the loop over the rows; with decay the weights of each shrink before its step. A
// half-step leaves it after the derivative, or enters it there.
inline void steps(struct linearStepsNEON *s, int decay, int dense) {
	int32_t *rows = s->rows, *soon = s->soon;
	int64_t *ptr = s->ptr;
	float *w = s->w, *shrink = s->shrink, *labels = s->y, *bias = s->bias, lr = s->lr;
	struct loss l = {0, 1};
	float weighted = 0;
	struct exponential e = constants();
	for (long n = s->n; n > 0; n--) {
		long i = *rows++, from = dense ? i * s->width : ptr[i], numbers = dense ? s->width : ptr[i + 1] - from;
		uint32_t *idx = s->idx + from;
		float *val = s->val + from;
		float a;
		if (s->half == writes)
			a = *s->coef;
		else {
			if (dense)
				fetchDense(soon++, s->width, s->val, labels);
			else
				fetchRow(soon++, ptr, s->idx, s->val, labels);
			float z = dense ? denseDot(val, numbers, w, *bias) : dot(idx, val, numbers, w, *bias);
			a = weigh(s, i, derivative(s->loss, &e, z, labels[i], &l), &l, &weighted);
			if (s->half != both) {
				*s->coef = a;
				continue;
			}
		}
		a *= lr;
		if (!decay && a == 0) // a hinge that is satisfied
			continue;
		if (dense)
			denseAxpy(val, numbers, a, lr, w, shrink, decay);
		else
			axpy(idx, val, numbers, a, lr, w, shrink, decay);
		*bias = fma32(a, s->biasStep, *bias);
	}
	s->sum = l.sum + weighted, s->product = l.product;
}

// linearStepsNEON is Linear's fewGo of sparse rows without WeightDecay and SoftThreshold; it does not look at
// shrink.
//
//go: func linearStepsNEON(loss int, rows, soon *int32, n int, ptr *int64, idx *uint32, width int, val, y, w, bias, shrink, weight, class *float32, lr, biasStep float32, half int, coef *float32) (sum, product float32)
void linearStepsNEON(struct linearStepsNEON *s) { steps(s, 0, 0); }

// linearDecayNEON is Linear's fewGo with WeightDecay, and without SoftThreshold.
//
//go: func linearDecayNEON(loss int, rows, soon *int32, n int, ptr *int64, idx *uint32, width int, val, y, w, bias, shrink, weight, class *float32, lr, biasStep float32, half int, coef *float32) (sum, product float32)
void linearDecayNEON(struct linearDecayNEON *s) { steps((struct linearStepsNEON *)s, 1, 0); } // of the same fields

// denseStepsNEON is linearStepsNEON of dense rows; it does not look at ptr and idx.
//
//go: func denseStepsNEON(loss int, rows, soon *int32, n int, ptr *int64, idx *uint32, width int, val, y, w, bias, shrink, weight, class *float32, lr, biasStep float32, half int, coef *float32) (sum, product float32)
void denseStepsNEON(struct denseStepsNEON *s) { steps((struct linearStepsNEON *)s, 0, 1); }

// denseDecayNEON is linearDecayNEON of dense rows.
//
//go: func denseDecayNEON(loss int, rows, soon *int32, n int, ptr *int64, idx *uint32, width int, val, y, w, bias, shrink, weight, class *float32, lr, biasStep float32, half int, coef *float32) (sum, product float32)
void denseDecayNEON(struct denseDecayNEON *s) { steps((struct linearStepsNEON *)s, 1, 1); }

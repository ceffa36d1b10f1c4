#include "simd.h"

enum { numbers = 16, vectors = numbers / LANES }; // images side by side

inline vector number(uint32_t bits) {
	asm("" : "+r"(bits)); // or the compiler makes it data
	return (vector)(bits - (uint32_t __attribute__((vector_size(4 * LANES)))){});
}

// poolSIMD is Pool.
//
//go: func poolSIMD(out, win, z, scale *float32, n, p, row int)
void poolSIMD(float *out, float *win, float *z, float *scale, long n, long p, long row) {
	vector zero = spread(0), one = number(0x3f800000), none = number(0xbf800000), least = number(0xff800000);
	for (; n > 0; n--, out += numbers, win += numbers, z += p * numbers) {
		vector best[vectors], winner[vectors], index = zero;
		unrolled for (int v = 0; v < vectors; v++)
			best[v] = least, winner[v] = zero;
		float *first = z;
		for (long y = p; y > 0; y--, first += row) {
			float *place = first;
			for (long x = p; x > 0; x--, place += numbers) {
				unrolled for (int v = 0; v < vectors; v++) {
					vector x = load(place + LANES * v, LANES);
					winner[v] = pick((ints)(x <= best[v]), winner[v], index); // not of NaN
					best[v] = pick((ints)(x <= best[v]), best[v], x);
				}
				index += one;
			}
		}
		unrolled for (int v = 0; v < vectors; v++) {
			vector x = best[v] * load(scale + LANES * v, LANES);
			store(out + LANES * v, pick((ints)(x <= zero), zero, x), LANES);
			store(win + LANES * v, pick((ints)(x <= zero), none, winner[v]), LANES);
		}
	}
}

// unpoolSIMD is Unpool.
//
//go: func unpoolSIMD(dz, d, win, scale, sum *float32, n, p, row int)
void unpoolSIMD(float *dz, float *d, float *win, float *scale, float *sum, long n, long p, long row) {
	vector zero = spread(0), one = number(0x3f800000), total[vectors];
	unrolled for (int v = 0; v < vectors; v++)
		total[v] = load(sum + LANES * v, LANES);
	for (; n > 0; n--, d += numbers, win += numbers, dz += p * numbers) {
		vector delta[vectors], winner[vectors], index = zero;
		unrolled for (int v = 0; v < vectors; v++) {
			delta[v] = load(d + LANES * v, LANES) * load(scale + LANES * v, LANES);
			winner[v] = load(win + LANES * v, LANES);
			total[v] += pick((ints)(winner[v] < zero), zero, delta[v]);
		}
		float *first = dz;
		for (long y = p; y > 0; y--, first += row) {
			float *place = first;
			for (long x = p; x > 0; x--, place += numbers) {
				unrolled for (int v = 0; v < vectors; v++)
					store(place + LANES * v, pick((ints)(winner[v] == index), delta[v], zero), LANES);
				index += one;
			}
		}
	}
	unrolled for (int v = 0; v < vectors; v++)
		store(sum + LANES * v, total[v], LANES);
}

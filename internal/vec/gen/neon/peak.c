#include "neon.h"

// chains is the number of running sums: the widest cores start four multiply-adds a cycle, each
// of which takes four; the rest is reserve.
enum { chains = 20 };

// The sums of peakNEON are a += c*c; an empty instruction says that each has a value
// of its own and is used, or the compiler would keep one of them, or none.
//
//go: func peakNEON(n int)
void peakNEON(long n) {
	float32x4_t c = vdupq_n_f32(0.125), sum[chains];
	unrolled for (int i = 0; i < chains; i++) {
		sum[i] = c;
		asm volatile("" : "+w"(sum[i]));
	}
	for (; n > 0; n--)
		unrolled for (int i = 0; i < chains; i++)
			sum[i] = vfmaq_f32(sum[i], c, c);
	unrolled for (int i = 0; i < chains; i++)
		asm volatile("" : : "w"(sum[i]));
}

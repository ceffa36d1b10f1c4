// cumf.cu is matrix factorization by batch-Hogwild!, the scheme of cuMF_SGD (Xie, Tan, Fong, Liang, HPDC 2017): a warp
// takes entries in runs that lie together in memory, and updates the two rows of factors of each entry without locks:
// plain loads and stores, of which some are lost. Factors are half-precision numbers in memory, and single ones in the
// arithmetic. The rank is 64: a lane has two numbers of a row. gpu_factor.py builds and launches it.

struct Entry {
	int row, column;
	float value;
};

// Without cuda_fp16.h, so that any CUDA compiler takes it.
static __device__ __forceinline__ float wide(unsigned short h) {
	float v;
	asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(h));
	return v;
}
static __device__ __forceinline__ unsigned narrow(float v) {
	unsigned short h;
	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(v));
	return h;
}
static __device__ __forceinline__ float2 unpack(unsigned v) { return make_float2(wide(v & 0xffff), wide(v >> 16)); }
static __device__ __forceinline__ unsigned pack(float x, float y) { return narrow(x) | narrow(y) << 16; }

// total is the sum over the warp, in each lane.
static __device__ __forceinline__ float total(float v) {
	for (int other = 16; other; other /= 2) v += __shfl_xor_sync(~0u, v, other);
	return v;
}

// Factors are rows of 32 words; the rows of columns follow those of rows. Volatile: other multiprocessors write
// them, and the L1 cache is not coherent.
typedef volatile unsigned *Factors;

// learn trains on all entries once, in runs of length; turn is the run with which the pass begins.
extern "C" __global__ void __launch_bounds__(256) learn(const Entry *entries, long long n, Factors w, int rows, float lr, int length,
		long long turn) {
	const int lane = threadIdx.x % 32;
	const long long warps = (long long)gridDim.x * blockDim.x / 32, runs = (n + length - 1) / length;
	for (long long k = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32; k < runs; k += warps) {
		const long long from = (k + turn) % runs * length, to = from + length < n ? from + length : n;
		for (long long base = from; base < to; base += 32) { // each lane loads an entry, then all take each in turn
			const Entry mine = entries[base + lane < to ? base + lane : to - 1];
			const int count = to - base < 32 ? to - base : 32;
			for (int j = 0; j < count; j++) {
				const int row = __shfl_sync(~0u, mine.row, j), column = __shfl_sync(~0u, mine.column, j);
				const float value = __shfl_sync(~0u, mine.value, j);
				Factors p = w + row * 32ll + lane, q = w + (rows + (long long)column) * 32 + lane;
				const float2 a = unpack(*p), b = unpack(*q);
				const float step = 2 * lr * (value - total(a.x * b.x + a.y * b.y));
				*p = pack(a.x + step * b.x, a.y + step * b.y);
				*q = pack(b.x + step * a.x, b.y + step * a.y);
			}
		}
	}
}

// judge adds up the squared errors of the entries, each warp its own.
extern "C" __global__ void judge(const Entry *entries, long long n, Factors w, int rows, double *sums) {
	const int lane = threadIdx.x % 32;
	const long long warps = (long long)gridDim.x * blockDim.x / 32, warp = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32;
	double sum = 0;
	for (long long i = warp; i < n; i += warps) {
		const Entry e = entries[i];
		const float2 a = unpack(w[e.row * 32ll + lane]), b = unpack(w[(rows + (long long)e.column) * 32 + lane]);
		const double error = total(a.x * b.x + a.y * b.y) - e.value;
		sum += error * error;
	}
	if (lane == 0) sums[warp] = sum;
}

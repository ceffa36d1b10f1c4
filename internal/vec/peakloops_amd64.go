//go:build !noasm

package vec

// chains is the number of running sums of peak_amd64.s.
const chains = 12

func vectorPeaks() (all []Peak) {
	if avx512 {
		all = append(all, Peak{Name: "AVX-512", Flops: 2 * 16 * chains, Run: peakAVX512})
	}
	if avx2 {
		all = append(all, Peak{Name: "AVX2", Flops: 2 * 8 * chains, Run: peakAVX2})
	}
	return all
}

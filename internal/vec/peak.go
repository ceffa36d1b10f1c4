package vec

// Peak is a loop of multiply-adds that touches no memory: what it reaches is the most
// that any loop with the same instructions can.
type Peak struct {
	Name  string      // the instructions: AVX-512, AVX2, NEON or plain Go
	Flops float64     // floating-point operations of a round; a multiply-add counts as two
	Run   func(n int) // n rounds, at least one; 50 million take under a second
}

// Peaks are the loops that this processor can run, the fastest first.
func Peaks() []Peak {
	all := vectorPeaks()
	return append(all, Peak{Name: "plain Go", Flops: 2 * 8, Run: peakGo})
}

// peakSink keeps the result of peakGo from being optimized away, as it keeps itself
// from being written: the sums tend to one.
var peakSink float32

// peakGo is a = a*c + c for eight sums, as the loops in plain Go compute it.
func peakGo(n int) {
	const c = 0.5
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	for range n {
		s0, s1, s2, s3 = s0*c+c, s1*c+c, s2*c+c, s3*c+c
		s4, s5, s6, s7 = s4*c+c, s5*c+c, s6*c+c, s7*c+c
	}
	if s0+s1+s2+s3+s4+s5+s6+s7 > 9 {
		peakSink = s0
	}
}

package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// benchWindows are windows of a text of words that are as frequent as in a text: 1/(rank+2.7), negatives by that to
// the 3/4.
func benchWindows(n, words, negatives int, groups bool) (inputs, targets [][]uint32) {
	r := rand.New(rand.NewPCG(3, 4))
	table := func(power float64) []uint32 {
		list := make([]uint32, 0, 1<<22)
		var sum float64
		for j := range words {
			sum += math.Pow(1/(float64(j)+2.7), power)
		}
		at := 0.0
		for j := range words {
			at += math.Pow(1/(float64(j)+2.7), power) / sum
			for float64(len(list)) < at*float64(cap(list)) && len(list) < cap(list) {
				list = append(list, uint32(j))
			}
		}
		return list
	}
	text, noise := table(1), table(0.75)
	for range n {
		in := make([]uint32, 2*(1+r.IntN(5)))
		for i := range in {
			in[i] = text[r.IntN(len(text))]
		}
		word := text[r.IntN(len(text))]
		var t []uint32
		for range in {
			t = append(t, word)
			for range negatives {
				j := noise[r.IntN(len(noise))]
				if j == word {
					j = NoTarget
				}
				t = append(t, j)
			}
			if !groups {
				break
			}
		}
		inputs, targets = append(inputs, in), append(targets, t)
	}
	return inputs, targets
}

// BenchmarkWords is word2vec of 30,000 words, whose tables do not fit in the second cache: reach 1 to 5, five
// negatives.
func BenchmarkWords(b *testing.B) {
	const words = 30000
	for _, s := range wordSteps {
		if s.name == "Pair" { // Window of one
			continue
		}
		for _, k := range []int{100, 300} {
			b.Run(fmt.Sprintf("%s/k=%d", s.name, k), func(b *testing.B) {
				inputs, targets := benchWindows(1<<16, words, 5, s.each)
				w := &Words{K: k, In: make([]float32, words*k), Out: make([]float32, words*k)}
				for i := range w.In {
					w.In[i] = (rand.Float32() - 0.5) / float32(k)
				}
				b.ResetTimer()
				n := 0
				for b.Loop() {
					i, next := n&(1<<16-1), (n+1)&(1<<16-1)
					w.Fetch(inputs[next], targets[next])
					s.step(w, inputs[i], targets[i], 0.025)
					n++
				}
				b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Mwords/s")
			})
		}
	}
}

// BenchmarkRows is the input of a text of 100 words, of a million.
func BenchmarkRows(b *testing.B) {
	const rows, k, n = 1000000, 100, 100
	w, idx, h := make([]float32, rows*k), drawn(rand.New(rand.NewPCG(1, 2)), 1<<16, rows, false), make([]float32, k)
	for i := range w {
		w[i] = 1
	}
	for name, f := range map[string]func(idx []uint32){
		"Gather":  func(idx []uint32) { GatherRows(w, k, idx, 0.01, h) },
		"Scatter": func(idx []uint32) { ScatterRows(w, k, idx, 0.01, h) },
	} {
		b.Run(name, func(b *testing.B) {
			i := 0
			for b.Loop() {
				f(idx[i : i+n])
				i = (i + n) % (1<<16 - n)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
		})
	}
}

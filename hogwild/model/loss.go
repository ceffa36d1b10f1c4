package model

import (
	"math"

	"hogwild/internal/vec"
)

// Loss is the loss of one example, as a function of the model's outputs z for it
// and of its label. The outputs are k, one for each class, but 1 for values and for
// the logistic and hinge losses of two classes. Conventions are PyTorch's.
type Loss string

// The losses. Logistic and hinge have t = 1 where the label is an output's class
// and -1 elsewhere; a single output stands for class 1. With more, they are summed:
// one classifier for each class against the rest.
const (
	CrossEntropy Loss = "cross-entropy" // log(sum exp(z)) - z[y]
	Logistic     Loss = "logistic"      // log(1 + exp(-t z))
	Hinge        Loss = "hinge"         // max(0, 1 - t z)
	SquaredHinge Loss = "squared-hinge" // max(0, 1 - t z)^2
	Squared      Loss = "squared"       // (z - y)^2, without a half
	L1           Loss = "l1"            // |z - y|
)

// Losses lists them.
var Losses = []Loss{CrossEntropy, Logistic, Hinge, SquaredHinge, Squared, L1}

// values reports whether the loss is for labels that are values, not classes.
func (l Loss) values() bool { return l == Squared || l == L1 }

// deltas turns the outputs z (b x k) of a batch with labels y into the derivatives
// of its mean loss, in place, and returns the summed loss.
func (l Loss) deltas(z, y []float32, k int) float64 {
	mean := 1 / float32(len(y))
	switch l {
	case CrossEntropy:
		return crossEntropy(z, y, k, mean)
	case Logistic:
		return logistic(z, y, nil, k, mean)
	case Hinge:
		return hinge(z, y, k, mean)
	case SquaredHinge:
		return squaredHinge(z, y, k, mean)
	case Squared:
		return squared(z, y, mean)
	case L1:
		return absolute(z, y, mean)
	}
	panic("model: no such loss: " + string(l))
}

// weighted is deltas of rows whose losses are multiplied by w; of no w, by 1. What a row of weight 0 puts out does not
// matter.
func (l Loss) weighted(z, y, w []float32, k int) (sum float64) {
	switch {
	case len(w) == 0:
		return l.deltas(z, y, k)
	case l == Logistic:
		return logistic(z, y, w, k, 1/float32(len(y)))
	}
	for i, a := range w {
		zi := z[i*k : (i+1)*k]
		if a == 0 {
			clear(zi)
			continue
		}
		sum += float64(a) * l.deltas(zi, y[i:i+1], k)
		vec.Scale(a/float32(len(w)), zi)
	}
	return sum
}

func crossEntropy(z, y []float32, k int, mean float32) (sum float64) {
	for i, yi := range y {
		p := z[i*k : (i+1)*k]
		c := int(yi)
		own := float64(p[c])
		sum += vec.Softmax(p) - own
		p[c]--
		vec.Scale(mean, p)
	}
	return sum
}

// exponentials sets e to exp(-|z|), of as many z: of 8 or more to the precision of float32. They are of negative
// numbers only: none overflows, and no digits are lost for large |z|.
func exponentials(z []float32, e []float64) {
	if len(z) < 8 {
		for j, v := range z {
			e[j] = math.Exp(-math.Abs(float64(v)))
		}
		return
	}
	var many [few]float32
	for j, v := range z {
		many[j] = math.Float32frombits(math.Float32bits(v) | 1<<31)
	}
	vec.Exp(many[:len(z)])
	for j, v := range many[:len(z)] {
		e[j] = float64(v)
	}
}

// few is how many exponentials are taken at once.
const few = 64

// logLoss adds up log(1 + exp(-m)), with one logarithm for many: of the product of 1+e, e = exp(-|m|), to
// which the sum adds what rounding takes from each 1+e.
type logLoss struct{ sum, product float64 }

// add adds the sum and the product of few examples at most.
func (l *logLoss) add(sum, product float64) {
	l.sum += sum
	if l.product *= product; l.product > 0x1p900 {
		l.sum, l.product = l.total(), 1
	}
}

// logTerm returns what an example adds to the sum, and its factor of the product.
func logTerm(m, e float64) (term, factor float64) {
	factor = 1 + e
	return max(0, -m) + (e - (factor - 1)), factor
}

// log1p returns log(1+e) of e from 0 to 1 to 5e-9 of it, as 2 atanh(e/(2+e)).
func log1p(e float64) float64 {
	s := e / (2 + e)
	q := s * s
	return s * (2.00000001 + q*(0.666663216+q*(0.400245952+q*(0.279651577+q*0.281577784))))
}

func (l *logLoss) total() float64 { return l.sum + math.Log(l.product) }

// logistic has no branches that are foretold wrongly half the time, which takes as long as the rest. w is as in
// weighted: each of its rows takes a logarithm of its own.
func logistic(z, y, w []float32, k int, mean float32) float64 {
	loss := logLoss{product: 1}
	var e, t, by [few]float64
	for i, c := 0, 0; len(z) > 0; {
		n := min(few, len(z))
		exponentials(z[:n], e[:])
		for j := range t[:n] {
			if t[j] = 2*float64(y[i]) - 1; k > 1 {
				t[j] = side(y[i], c, k)
			}
			if w != nil {
				by[j] = float64(w[i])
			}
			if c++; c == k {
				i, c = i+1, 0
			}
		}
		sum, product := 0.0, 1.0
		for j, v := range z[:n] {
			m, e := t[j]*float64(v), e[j]
			term, factor := logTerm(m, e)
			// The probability of the other side: e/factor where m > 0, else 1/factor.
			miss := 1 / factor * math.Float64frombits(choose(m, math.Float64bits(e), math.Float64bits(1)))
			if w != nil {
				if term, miss, factor = by[j]*(max(0, -m)+log1p(e)), by[j]*miss, 1; by[j] == 0 {
					term, miss = 0, 0
				}
			}
			sum, product = sum+term, product*factor
			z[j] = float32(-t[j]*miss) * mean
		}
		loss.add(sum, product)
		z = z[n:]
	}
	return loss.total()
}

// choose returns a if m is positive, b if it is negative, and either if it is 0 or NaN.
func choose(m float64, a, b uint64) uint64 {
	negative := uint64(int64(math.Float64bits(m)) >> 63)
	return a&^negative | b&negative
}

func hinge(z, y []float32, k int, mean float32) (sum float64) {
	for i, yi := range y {
		for c := range k {
			t := side(yi, c, k)
			m := t * float64(z[i*k+c])
			z[i*k+c] = 0
			if !(m >= 1) { // as NaN is not
				sum += 1 - m
				z[i*k+c] = float32(-t) * mean
			}
		}
	}
	return sum
}

func squaredHinge(z, y []float32, k int, mean float32) (sum float64) {
	for i := range z {
		t := side(y[i/k], i%k, k)
		miss := 1 - t*float64(z[i])
		z[i] = 0
		if !(miss <= 0) { // as NaN is not
			sum += miss * miss
			z[i] = float32(-2*t*miss) * mean
		}
	}
	return sum
}

func squared(z, y []float32, mean float32) (sum float64) {
	for i, yi := range y {
		e := float64(z[i]) - float64(yi)
		sum += e * e
		z[i] = float32(2*e) * mean
	}
	return sum
}

func absolute(z, y []float32, mean float32) (sum float64) {
	for i, yi := range y {
		e := float64(z[i]) - float64(yi)
		sum += math.Abs(e)
		switch {
		case e > 0:
			z[i] = mean
		case e < 0:
			z[i] = -mean
		default:
			z[i] = 0
		}
	}
	return sum
}

// side returns t for output c of k.
func side(y float32, c, k int) float64 {
	if k == 1 {
		c = 1
	}
	if int(y) == c {
		return 1
	}
	return -1
}

// eval returns the score of the outputs z (b x k), which it changes. Weights w are the loss's alone.
func (l Loss) eval(z, y, w []float32, k int) Score {
	if l == Logistic && k == 1 && len(w) == 0 {
		return evalLogistic(z, y)
	}
	s := l.score(z, y, k)
	s.Loss = l.weighted(z, y, w, k)
	return s
}

// evalLogistic has no branches either.
func evalLogistic(z, y []float32) Score {
	s, loss := Score{N: len(y)}, logLoss{product: 1}
	var e [few]float64
	for len(z) > 0 {
		n := min(few, len(z))
		exponentials(z[:n], e[:])
		sum, product := 0.0, 1.0
		for j, v := range z[:n] {
			term, factor := logTerm(float64((2*y[j]-1)*v), e[j])
			sum, product = sum+term, product*factor
			class, correct := 0, 0
			if v > 0 {
				class = 1
			}
			if class == int(y[j]) {
				correct = 1
			}
			s.Correct += correct
		}
		loss.add(sum, product)
		z, y = z[n:], y[n:]
	}
	s.Loss = loss.total()
	return s
}

// score counts the errors of the outputs z (b x k); Loss it leaves at zero.
func (l Loss) score(z, y []float32, k int) Score {
	s := Score{N: len(y)}
	for i, yi := range y {
		if l.values() {
			v, e := float64(yi), float64(z[i])-float64(yi)
			s.SqErr += e * e
			s.Y += v
			s.Y2 += v * v
		} else if decide(z[i*k:(i+1)*k]) == int(yi) {
			s.Correct++
		}
	}
	return s
}

// predict appends what the outputs z of rows, k each, stand for: classes, or values.
func (l Loss) predict(z []float32, k int, to []float32) []float32 {
	if l.values() {
		return append(to, z...)
	}
	for ; len(z) > 0; z = z[k:] {
		to = append(to, float32(decide(z[:k])))
	}
	return to
}

// Probable reports whether outputs under the loss stand for probabilities of classes.
func (l Loss) Probable() bool { return l == CrossEntropy || l == Logistic }

// LogLoss reports whether the loss is the log loss of the classes' probabilities.
func (l Loss) LogLoss(classes int) bool { return l == CrossEntropy || l == Logistic && classes == 2 }

// probabilities appends the classes' probabilities, for each row of outputs z of k. Of several logistic
// outputs, each for one class against the rest, the sum is made 1. Rounding never
// makes another class as probable as the one that decide chooses.
func (l Loss) probabilities(z []float32, k int, to []float32) []float32 {
	for ; len(z) > 0; z = z[k:] {
		best, first := decide(z[:k]), len(to)
		switch {
		case l == CrossEntropy:
			to = append(to, z[:k]...)
			vec.Softmax(to[first:])
		case k == 1:
			p := sigmoid(z[0])
			to = append(to, float32(1-p), float32(p))
		default:
			sum := 0.0
			for _, v := range z[:k] {
				sum += sigmoid(v)
			}
			for _, v := range z[:k] {
				to = append(to, float32(sigmoid(v)/max(sum, math.SmallestNonzeroFloat64)))
			}
		}
		p := to[first:]
		for c := range p {
			if c < best && p[c] >= p[best] || p[c] > p[best] {
				p[best] = math.Nextafter32(p[c], 2)
			}
		}
	}
	return to
}

func sigmoid(z float32) float64 { return 1 / (1 + math.Exp(-float64(z))) }

// decide returns the class that the outputs of one example stand for: the
// largest one's, or with a single output the class 1 if it is positive.
func decide(z []float32) int {
	if len(z) == 1 {
		if z[0] > 0 {
			return 1
		}
		return 0
	}
	best := 0
	for c, v := range z {
		if v > z[best] {
			best = c
		}
	}
	return best
}

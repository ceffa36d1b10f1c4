package tuning

import (
	"math"

	"hogwild/hogwild/model"
)

// pathPoints is how many points of the way to the mean prediction the curvature is taken at.
const pathPoints = 16

// lossCurvature returns h, the curvature of a loss at the model's outputs: its mean over the straight
// way from the first outputs, which are 0 or near it, to those that predict the shares of the
// classes whatever the inputs are. 0: the loss has none.
//
// A model is on that way for its first steps, which is when the curvature is largest and when
// too many steps in flight do harm. Later it may fall, so that more would be stable; with a small learning
// rate, or for classes that the inputs do not tell apart, it does not. The end of the way alone
// would be too little where one class is rare: its curvature is small only once it is known.
func lossCurvature(loss model.Loss, shares []float64) (h float64) {
	switch loss {
	case model.Squared, model.SquaredHinge: // (z-y)^2, without a half
		return 2
	case model.Hinge: // from an output of 0 to a margin of 1 the gradient falls by 1
		return 1
	case model.Logistic, model.CrossEntropy:
	default:
		return 0
	}
	if loss == model.Logistic {
		for _, p := range shares { // each class is told from the rest by itself
			h = max(h, meanCurvature([]float64{p, 1 - p})/2) // the curvature of z is half of (z, -z)'s
		}
		return h
	}
	return meanCurvature(shares)
}

// largestCurvature returns the largest that a loss has at any outputs; 0: the loss has none.
func largestCurvature(loss model.Loss) float64 {
	switch loss {
	case model.Squared, model.SquaredHinge:
		return 2
	case model.Hinge:
		return 1
	case model.Logistic:
		return 0.25
	case model.CrossEntropy: // two classes of even chances
		return 0.5
	}
	return 0
}

// meanCurvature returns the largest eigenvalue of diag(p) - p p', the Hessian of the cross-entropy,
// on average over p = softmax(t log shares), t from 0 to 1.
func meanCurvature(shares []float64) (h float64) {
	p := make([]float64, len(shares))
	for i := range pathPoints {
		t, sum := (float64(i)+.5)/pathPoints, 0.0
		for c, s := range shares {
			p[c] = math.Pow(s, t)
			sum += p[c]
		}
		for c := range p {
			p[c] /= sum
		}
		h += largestOfSoftmax(p) / pathPoints
	}
	return h
}

// largestOfSoftmax returns the largest eigenvalue of diag(p) - p p' by bisection. It lies between the
// two largest of p, where sum p^2/(p-x) = 1 (the secular equation); equal ones are it.
func largestOfSoftmax(p []float64) float64 {
	first, second := 0.0, 0.0
	for _, a := range p {
		first, second = max(first, a), max(second, min(first, a))
	}
	low, high := second, first
	for range 60 {
		x, sum := (low+high)/2, 0.0
		for _, a := range p {
			sum += a * a / (a - x)
		}
		if sum > 1 {
			high = x
		} else {
			low = x
		}
	}
	return (low + high) / 2
}

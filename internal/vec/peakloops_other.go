//go:build !amd64 || noasm

package vec

func vectorPeaks() []Peak { return nil }

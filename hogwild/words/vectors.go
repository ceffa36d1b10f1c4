package words

// Vectors are words, by falling count, and a vector of K numbers for each.
type Vectors struct {
	Path  string
	Words []string
	K     int
	W     []float32 // words x K

	units []float32 // W with rows of length 1
}

// unit returns the vector of a word, of length 1.
func (v *Vectors) unit(i int) []float32 { return v.units[i*v.K : (i+1)*v.K] }

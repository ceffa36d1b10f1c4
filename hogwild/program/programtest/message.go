package programtest

// message is a line to the program.
type message struct {
	Welcome int
	Role    string
	Rank    int
	Mode    string
	Batch   int
	L2      float64
	Init    bool

	Weights   place
	Gradients *place
	Clocks    *struct {
		place
		Count, Stride int
	}
	Data map[string]struct {
		File, Rows, Features int
		Arrays               map[string]struct{ Offset int64 }
	}
	Train *struct {
		Epoch int
		Rows  []int
		LR    []float64
	}
	Score *struct {
		Set      string
		From, To int
	}
	End *struct {
		Set  string
		Rows int
	}
	Leave bool
}

type place struct {
	File   int
	Offset int64
}

type object = map[string]any

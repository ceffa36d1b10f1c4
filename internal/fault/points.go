package fault

// Place is a point in the source.
type Place struct {
	Name    string
	NoError bool // nothing there can return one
	What    string
}

// Points are all of them: a test compares them with the source. Processes come to them in about this order.
var Points = []Place{
	{"worker.start", false, "before a worker process is started"},
	{"worker.join", false, "in a worker, before it maps the segments"},
	{"worker.joined", false, "in a worker, after it has mapped them"},
	{"epoch.open", true, "before an epoch is opened"},
	{"chunk.taken", false, "after a worker has taken chunks, before it trains them"},
	{"chunk.report", false, "after it has trained them, before it reports"},
	{"barrier.meet", false, "in sync mode, before a worker waits for the others"},
	{"round.average", false, "in sync mode, before it averages its slice"},
	{"round.averaged", false, "in sync mode, after it has averaged its slice"},
	{"download.write", false, "in data get, before bytes that came are written"},
	{"download.rename", false, "in data get, before a file that is whole gets its name"},
}

func names() (all []string) {
	for _, p := range Points {
		all = append(all, p.Name)
	}
	return all
}

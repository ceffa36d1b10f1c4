package fault

// Place is a point in the source.
type Place struct {
	Name    string
	NoError bool // nothing there can return one
	What    string
}

// Points are all of them: a test compares them with the source.
var Points = []Place{
	// the coordinator
	{"worker.start", false, "before a worker process is started"},
	{"worker.died", true, "when a worker has ended, before its chunks are given back"},
	{"epoch.end", true, "when all chunks of an epoch are done"},
	{"epoch.open", true, "before the next epoch is opened"},
	{"epoch.opened", true, "after it was opened"},
	{"pause.ask", true, "before the workers are asked to wait for a save within an epoch"},
	{"pause.end", true, "when the run was copied, before they continue"},
	{"scale.announce", true, "before workers are told that there will be more or fewer of them"},
	{"scale.announced", false, "after that, before the new ones are started"},
	{"workers.halt", true, "before the workers are asked to end"},

	// the run folder
	{"folder.lock", false, "before the coordinator locks it"},
	{"snapshot.save", false, "before weights and snapshot are saved"},
	{"file.create", false, "before a file is made that replaces another: weights, snapshot, result.json, config.yaml"},
	{"file.write", false, "before a part of it is written"},
	{"file.sync", false, "after all of it is written, before the disk has confirmed it"},
	{"snapshot.link", false, "before the old snapshot becomes the previous one"},
	{"snapshot.linked", false, "after that"},
	{"file.rename", false, "before the new file takes the name"},
	{"file.folder", false, "after that, before the disk has confirmed the name"},
	{"snapshot.saved", false, "after weights and snapshot are saved, before the epoch's line is written"},
	{"file.append", false, "before a line of metrics.jsonl or an event is written"},

	// a worker
	{"worker.join", false, "before a worker maps the segments"},
	{"worker.joined", false, "after it has mapped them"},
	{"chunk.taken", false, "after a worker has taken chunks, before it trains them"},
	{"chunk.report", false, "after it has trained them, before it reports"},
	{"merge.begin", true, "before a worker's copy of the weights is merged"},
	{"merge.half", true, "within the merge of centred weights"},
	{"merge.end", true, "after the merge"},
	{"lock.held", true, "in locked mode, while a worker has the locks of an update"},
	{"turn.held", true, "in ordered mode, while it is a worker's turn to write"},
	{"barrier.meet", false, "in sync mode, before a worker waits for the others"},
	{"barrier.met", false, "after all have met"},
	{"round.average", false, "before it averages its slice"},
	{"round.averaged", false, "after it has averaged its slice"},
	{"worker.paused", false, "when a worker waits for a save within an epoch"},
	{"worker.idle", true, "when it waits for the next epoch"},
	{"worker.end", false, "when it has finished"},

	// on a GPU
	{"gpu.export", false, "before the coordinator makes a handle of its GPU memory"},
	{"gpu.upload", false, "before it copies the weights to the GPU"},
	{"gpu.keep", false, "before it copies them on the GPU, to be evaluated"},
	{"gpu.download", false, "before it copies them back"},
	{"gpu.open", false, "before a worker opens the coordinator's GPU memory"},
	{"gpu.launch", false, "before it launches kernels"},
	{"gpu.wait", false, "before it waits for a launch"},
	{"gpu.pull", false, "before a replica on another GPU takes over the weights"},
	{"gpu.push", false, "before what it has learnt is sent"},
	{"gpu.add", false, "before a part of what a round with other nodes changes is added to the weights"},

	// data convert
	{"convert.window", false, "before a window of rows is written"},
	{"convert.sync", false, "after all of the cache is written, before the disk has confirmed it"},
	{"convert.rename", false, "before the cache gets its name"},

	// data get
	{"download.write", false, "before bytes that came, or are unpacked, are written"},
	{"download.rename", false, "before a file that is whole gets its name"},
}

func names() (all []string) {
	for _, p := range Points {
		all = append(all, p.Name)
	}
	return all
}

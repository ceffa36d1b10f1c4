package control

import (
	"math/bits"

	"github.com/aclements/go-moremath/mathx"
)

// Record is the sum of a rank's samples since the start of the run, in shared
// memory: only the rank writes it, the coordinator reads it. It is counts alone, so
// that the process that takes a dead one's place goes on with it.
type Record []uint64

// The words of a record. The histogram of staleness is exact below exactBelow; from
// there each power of two has eight buckets.
const (
	RecordLooked    = iota // coordinates looked at between read and write
	RecordConflicts        // of those: another has changed them
	RecordTried            // coordinates tried for a loss
	RecordLost             // of those: another's update would be overwritten
	recordSum              // of staleness
	recordMax
	recordHistogram

	RecordTries = 16 // coordinates tried in a sample, at most

	exactBelow = 256
	buckets    = exactBelow + (64-8)*8

	// Behind what GPUs write too are the first four words once more for each table.
	recordTables = recordHistogram + buckets
	tableWords   = RecordLost + 1
	MostTables   = 8

	recordSteps = recordTables + MostTables*tableWords // how long steps took: a histogram like staleness's
	RecordWords = (recordSteps + buckets + RankWords - 1) / RankWords * RankWords
)

// CountConflict counts a coordinate of a table that was looked at.
func (r Record) CountConflict(table int, conflict bool) { r.count(table, RecordLooked, conflict) }

// CountLost counts a coordinate of a table at which an update was tried.
func (r Record) CountLost(table int, lost bool) { r.count(table, RecordTried, lost) }

// count adds one to a word, and to the next if it was hit: of the record and of a table.
func (r Record) count(table, word int, hit bool) {
	for _, at := range [2]int{word, recordTables + table*tableWords + word} {
		r[at]++
		if hit {
			r[at+1]++
		}
	}
}

// Stale takes in that an update was stale by n others.
func (r Record) Stale(n uint64) {
	r[recordSum] += n
	r[recordMax] = max(r[recordMax], n)
	r[recordHistogram+Bucket(n)]++
}

// AddStepTime takes in that an update took ns nanoseconds.
func (r Record) AddStepTime(ns uint64) { r[recordSteps+Bucket(ns)]++ }

// StepTimes returns how long updates took: pairs of nanoseconds, the least of a bucket, and how many there were.
func (r Record) StepTimes() [][2]uint64 { return histogram(r[recordSteps : recordSteps+buckets]) }

// histogram returns the buckets that are not empty.
func histogram(counts []uint64) (all [][2]uint64) {
	for i, n := range counts {
		if n > 0 {
			all = append(all, [2]uint64{BucketFrom(i), n})
		}
	}
	return all
}

// Bucket returns the bucket in which the histogram counts n.
func Bucket(n uint64) int {
	if n < exactBelow {
		return int(n)
	}
	octave := bits.Len64(n) - 1 // 8 or more
	return exactBelow + (octave-8)*8 + int(n>>(octave-3)&7)
}

// BucketFrom returns the least number in a bucket.
func BucketFrom(i int) uint64 {
	if i < exactBelow {
		return uint64(i)
	}
	octave, part := 8+(i-exactBelow)/8, (i-exactBelow)%8
	return uint64(8+part) << (octave - 3)
}

// Instruments is what samples of a worker's steps, or of all workers', have shown.
// docs/modes.md says how each is measured.
type Instruments struct {
	// Updates by others between a step's read of the weights and its write.
	StalenessSamples   int64       `json:"staleness_samples"`
	StalenessMean      float64     `json:"staleness_mean"`
	StalenessP50       int64       `json:"staleness_p50"`
	StalenessP99       int64       `json:"staleness_p99"`
	StalenessMax       int64       `json:"staleness_max"`
	StalenessHistogram [][2]uint64 `json:"staleness_histogram,omitempty"` // least value, samples

	LostUpdates float64 `json:"lost_updates"`         // share of writes that overwrite another's update
	LostSamples int64   `json:"lost_updates_samples"` // steps at which such were looked for
	// upper limit of that share, with 95% confidence; 1 without samples
	LostBelow float64 `json:"lost_updates_below"`
	// share of coordinates that another changed between read and write
	Conflicts   float64 `json:"conflicts"`
	BarrierWait float64 `json:"barrier_wait_seconds"` // of all workers together: for others, and for the next epoch

	Tables []TableSamples `json:"tables,omitempty"` // of a model of tables, all workers together
}

// TableSamples is what samples of a part of the weights have shown: see Instruments.
type TableSamples struct {
	Table       string  `json:"table"`
	Samples     int64   `json:"samples"` // coordinates looked at
	Conflicts   float64 `json:"conflicts"`
	LostUpdates float64 `json:"lost_updates"`
}

// Table returns the record's samples of a table, from 0, under a name.
func (r Record) Table(table int, name string) TableSamples {
	w := r[recordTables+table*tableWords:][:tableWords]
	return TableSamples{name, int64(w[RecordLooked]), share(w[RecordConflicts], w[RecordLooked]),
		share(w[RecordLost], w[RecordTried])}
}

// Plus adds the samples of another rank.
func (r Record) Plus(o Record) {
	for i, n := range o {
		if i != recordMax {
			r[i] += n
		}
	}
	r[recordMax] = max(r[recordMax], o[recordMax])
}

// Instruments returns the record's figures, for workers that have waited this many seconds.
func (r Record) Instruments(waited float64) *Instruments {
	in := &Instruments{BarrierWait: waited, StalenessMax: int64(r[recordMax]),
		LostUpdates: share(r[RecordLost], r[RecordTried]),
		LostSamples: int64(r[RecordTried]+RecordTries-1) / RecordTries,
		Conflicts:   share(r[RecordConflicts], r[RecordLooked])}
	in.LostBelow = upperLimit(in.LostUpdates, float64(in.LostSamples))
	in.StalenessHistogram = histogram(r[recordHistogram:recordTables])
	for _, b := range in.StalenessHistogram {
		in.StalenessSamples += int64(b[1])
	}
	in.StalenessMean = share(r[recordSum], uint64(in.StalenessSamples))
	in.StalenessP50, in.StalenessP99 = in.Quantile(0.5), in.Quantile(0.99)
	return in
}

// Quantile returns the staleness that a share q of the samples does not exceed: from
// exactBelow on, the least of its bucket.
func (in *Instruments) Quantile(q float64) int64 {
	seen := int64(0)
	for _, b := range in.StalenessHistogram {
		if seen += int64(b[1]); float64(seen) >= q*float64(in.StalenessSamples) {
			return int64(b[0])
		}
	}
	return 0
}

// upperLimit returns the upper limit of a share that was this large in n samples, with 95% confidence (Clopper and
// Pearson 1934; 1 for no samples). What one step loses it often loses together, so a step is one sample, however many
// of its coordinates are tried.
func upperLimit(share, n float64) float64 {
	lost := share * n
	if lost >= n {
		return 1
	}
	low, high := share, 1.0
	for range 40 { // halvings: far below what is printed
		middle := (low + high) / 2
		if mathx.BetaInc(middle, lost+1, n-lost) < 0.95 {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

func share(part, of uint64) float64 { return float64(part) / float64(max(of, 1)) }

package saved

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/plan"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/tuning"
	"hogwild/internal/check"
)

// What the saved file of one input may allocate.
const fuzzAlloc = 128 << 20

// savedFile returns a safetensors file without a checksum: few changes of one with it would be read any further.
func savedFile(settings, meta, position, tensors string, values []byte) []byte {
	metadata := map[string]string{"hogwild.config": settings, "hogwild.data": meta}
	if position != "" {
		metadata["hogwild.position"] = position
	}
	text, _ := json.Marshal(metadata)
	head := `{"__metadata__":` + string(text) + "," + tensors + "}"
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...), values...)
}

const (
	fuzzMeta = `{"rows":6,"features":2,"kind":"floats","columns":["a","b"],"target":"y","classes":["u","v"],"scale":"auto","mul":[0.5,2],"add":[-1,-2]}`
	fuzzPos  = `{"epoch":3,"round":0,"within":false,"seconds":1,"examples":12,"history":[{"epoch":1,"test_loss":null},{"epoch":2,"test_loss":0.5}]}`
	fuzzJob  = `"bias":true,"tuning":{"batch":1,"lr":0.027,"bias_step":1,"merge_every":1}}`
)

// FuzzSaved: any saved file makes a model that predicts, or a run that goes on, or is an error of the user's.
func FuzzSaved(f *testing.F) {
	const steps = `"hogwild.state":{"dtype":"F32","shape":[0],"data_offsets":[24,24]},"hogwild.steps":{"dtype":"U64","shape":[16],"data_offsets":[24,152]}`
	softmax := `"0.weight":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},"0.bias":{"dtype":"F32","shape":[2],"data_offsets":[16,24]}`
	exact := `,"hogwild.exact":{"dtype":"F32","shape":[8],"data_offsets":[152,184]},"hogwild.best":{"dtype":"F32","shape":[6],"data_offsets":[184,208]}`
	within := `,"hogwild.slots":{"dtype":"F32","shape":[0],"data_offsets":[208,208]},"hogwild.chunks":{"dtype":"U64","shape":[2],"data_offsets":[208,224]}`
	f.Add(`{"model":"softmax",`+fuzzJob, fuzzMeta, fuzzPos, softmax+","+steps, make([]byte, 152))
	f.Add(`{"model":"softmax",`+fuzzJob, fuzzMeta, fuzzPos, softmax+","+steps+exact, make([]byte, 208))
	f.Add(`{"model":"softmax",`+fuzzJob, fuzzMeta, `{"epoch":2,"round":1,"within":true}`,
		softmax+","+steps+exact+within, make([]byte, 224))
	short := `,"hogwild.exact":{"dtype":"F32","shape":[1],"data_offsets":[152,156]},"hogwild.best":{"dtype":"F32","shape":[1],"data_offsets":[156,160]}`
	f.Add(`{"model":"softmax",`+fuzzJob, fuzzMeta, fuzzPos, softmax+","+steps+short, make([]byte, 160))
	f.Add(`{"model":"softmax",`+fuzzJob, fuzzMeta, `{"epoch":0,"round":-1,"within":true}`,
		softmax+","+steps+exact+within, bytes.Repeat([]byte{7}, 224))
	f.Add(`{"model":"linear",`+fuzzJob, `{"rows":6,"features":2,"kind":"sparse","scale":"none"}`, "",
		`"weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`, make([]byte, 8))
	f.Add(`{"model":"mlp:2",`+fuzzJob, fuzzMeta, "",
		softmax+`,"2.weight":{"dtype":"F32","shape":[2,2],"data_offsets":[24,40]},"2.bias":{"dtype":"F32","shape":[2],"data_offsets":[40,48]}`, make([]byte, 48))
	f.Add(`{"model":"factor:2",`+fuzzJob, `{"rows":3,"features":6,"kind":"pairs","shape":[4,2],"ids":[[1,4],[1,2]]}`,
		"",
		`"user.weight":{"dtype":"F32","shape":[4,2],"data_offsets":[0,32]},"item.weight":{"dtype":"F32","shape":[2,2],"data_offsets":[32,48]},"mean":{"dtype":"F32","shape":[1],"data_offsets":[48,52]}`, make([]byte, 52))
	f.Add(`{"model":"factor:2",`+fuzzJob,
		`{"rows":3,"features":6,"kind":"pairs","shape":[4,2],"ids":[[1,4294967295],[1,2]]}`, "", softmax,
		make([]byte, 24))
	f.Add(`{"model":"softmax",`+fuzzJob,
		`{"rows":6,"features":1099511627776,"kind":"floats","classes":["u","v"],"mul":[1,2,3]}`, fuzzPos, softmax,
		make([]byte, 24))
	f.Add(`{"model":"conv:1x8-1",`+fuzzJob,
		`{"rows":6,"features":784,"kind":"bytes","shape":[28,28],"classes":["u","v"]}`, "", softmax, make([]byte, 24))
	f.Add(`{"model":"mlp:1048576,1048576",`+fuzzJob, fuzzMeta, "", softmax, make([]byte, 24))
	dir := f.TempDir()
	path := filepath.Join(dir, rundir.SnapshotFile)
	f.Fuzz(func(t *testing.T, settings, meta, position, tensors string, values []byte) {
		if err := os.WriteFile(path, savedFile(settings, meta, position, tensors, values), 0o600); err != nil {
			t.Fatal(err)
		}
		check.Bounded(t, fuzzAlloc, func() {
			s, err := Open(path)
			if err == nil {
				err = predictsZeros(s)
			}
			ofUser(t, err)
			_, err = rundir.SavedConfig(dir)
			ofUser(t, err)
			for _, center := range []bool{false, true} {
				ofUser(t, resumes(dir, center))
			}
		})
	})
}

// ofUser checks that an error matches ErrUsage.
func ofUser(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, config.ErrUsage) {
		t.Errorf("%v: want an error that the user can mend", err)
	}
}

// predictsZeros predicts a row of zeros, or the pair of the ids 1 and 1.
func predictsZeros(s *Saved) error {
	d := &data.Memory{Rows: []data.Row{{Val: make([]float32, min(s.Meta().Features, 1000))}}}
	if s.Pairs() {
		d = &data.Memory{Pairs: [][2]uint32{{1, 1}}}
	}
	_, err := s.PredictData(d)
	return err
}

// resumes goes on from a snapshot, as a run of softmax with two inputs and two classes does.
func resumes(dir string, center bool) error {
	f, err := rundir.ReadSnapshot(dir)
	if err != nil {
		return err
	}
	c := config.Default()
	c.Workers, c.Model, c.Loss, c.Epochs = 1, "softmax", string(model.CrossEntropy), 9
	job := &tuning.Job{Asked: c, Used: tuning.Tuning{Batch: 1, LR: 0.1, BiasStep: 1, MergeEvery: 1, BiasMergeEvery: 1,
		Center: center}}
	meta := data.Meta{Rows: 6, Features: 2, Kind: data.Floats, Classes: []string{"u", "v"}}
	set := &data.Set{Meta: meta, Mean: []float32{1, 2}}
	plain, err := model.New(c.ModelOptions(), meta)
	if err != nil {
		panic(err)
	}
	trained, err := model.New(job.TrainedOptions(set), meta)
	if err != nil {
		panic(err)
	}
	s, err := f.Load(job, plain.Params(), trained.Params(), set.Mean)
	if err == nil {
		err = s.Check(plain.Params(), trained.Params())
	}
	if err != nil {
		return err
	}
	weights, err := control.CreateWeights(job, model.Size(trained.Params()))
	if err != nil {
		panic(err)
	}
	defer weights.Seg.Close()
	block := &control.Block{Plan: plan.Plan{N: 6, Unit: 1}, Chunks: make([]uint64, 2)}
	s.Plain(trained.Params())
	return s.Restore(weights, block, c.Optimizer)
}

package rundir

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data/format"
	"hogwild/internal/atomicfile"
)

// A safetensors file is the length of its header (8 bytes, little endian), the
// header (a JSON object, padded with spaces to 8 bytes), then the data of the
// tensors, each directly after the one before. The header has one entry a tensor
// and may have one, __metadata__, of strings.
//
// Files written here say so in their metadata (hogwild: the version) and carry a
// checksum: the sha256 of the whole file as it is with the checksum's digits all 0.
// So any byte that changes is noticed, also one in the name of either key, since
// each of the two asks for the checksum. Other files are read without one.
const (
	metadataKey = "__metadata__"
	writerKey   = "hogwild"
	checksumKey = "checksum"
)

// tensorEntry is a tensor in the header.
type tensorEntry struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets []int  `json:"data_offsets"` // where the data begins and ends, from the header's end
}

// WriteTensors writes a safetensors file with a checksum, atomically and durably:
// when it returns nil the file is on the disk, when it fails the old file is
// untouched. Types with larger elements come first, so that each array is aligned
// for those who map the file. The metadata's keys hogwild and checksum are its own.
func WriteTensors(path string, meta map[string]string, ts []Tensor) error {
	return writeTensors(path, meta, ts, atomicfile.Options{})
}

// writeTensors does as WriteTensors, with options.
func writeTensors(path string, meta map[string]string, ts []Tensor, o atomicfile.Options) error {
	parts, err := encodeTensors(meta, ts)
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", path, err)
	}
	if err := atomicfile.WriteAs(path, parts, o); err != nil {
		if p := (*os.PathError)(nil); errors.As(err, &p) { // it names the file
			err = p.Err
		}
		return fmt.Errorf("%s could not be saved: %w", path, err)
	}
	return nil
}

// readWeights reads a file of weights or a snapshot, up to most bytes; 0 is format.DefaultMemory.
func readWeights(path string, most int64) ([]byte, error) {
	asked := most > 0
	if !asked {
		most = format.DefaultMemory()
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() > most {
		return nil, &format.MemoryError{Of: path, What: "reading the file", Need: info.Size(),
			Limit: most, Asked: asked,
			Cure: "free memory, or name a smaller file of weights"}
	}
	return atomicfile.Read(path, most)
}

// ReadTensors reads and checks a safetensors file. The tensors come in the order
// of the file and share one buffer. The metadata is what was given to WriteTensors.
func ReadTensors(path string) (meta map[string]string, ts []Tensor, err error) {
	file, err := readWeights(path, 0)
	if err != nil {
		return nil, nil, err
	}
	return parseTensors(path, file)
}

// parseTensors does as ReadTensors with a file that is read; its path is for errors.
func parseTensors(path string, file []byte) (meta map[string]string, ts []Tensor, err error) {
	if meta, ts, err = decodeTensors(file); err != nil {
		return nil, nil, fmt.Errorf("%s is damaged or not a safetensors file: %w: use an earlier snapshot", path, err)
	}
	return meta, ts, nil
}

// encodeTensors returns the parts of the file: everything before the data, then
// the data of each tensor.
func encodeTensors(meta map[string]string, ts []Tensor) ([][]byte, error) {
	ts = slices.Clone(ts)
	slices.SortStableFunc(ts,
		func(a, b Tensor) int { return cmp.Compare(elements[b.DType].bytes, elements[a.DType].bytes) })
	own := map[string]string{}
	maps.Copy(own, meta)
	own[writerKey], own[checksumKey] = config.Version, noChecksum
	header := map[string]any{metadataKey: own}
	parts, end := [][]byte{nil}, 0
	for _, t := range ts {
		if err := t.check(); err != nil {
			return nil, err
		}
		if header[t.Name] != nil {
			return nil, fmt.Errorf("tensor name %q is used twice or reserved", t.Name)
		}
		header[t.Name] = tensorEntry{t.DType, append([]int{}, t.Shape...), []int{end, end + len(t.Data)}}
		parts = append(parts, t.Data)
		end += len(t.Data)
	}
	text, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	text = append(text, strings.Repeat(" ", (8-len(text)%8)%8)...)
	parts[0] = append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	parts[0] = replaceChecksum(parts[0], noChecksum, checksumOf(parts))
	return parts, nil
}

// decodeTensors undoes encodeTensors, also for files by other programs.
func decodeTensors(file []byte) (map[string]string, []Tensor, error) {
	if len(file) < 8 {
		return nil, nil, fmt.Errorf("%d bytes are too short for the length of a header", len(file))
	}
	n := binary.LittleEndian.Uint64(file)
	if n > uint64(len(file)-8) {
		return nil, nil, fmt.Errorf("a header of %d bytes in a file of %d", n, len(file))
	}
	head, data := file[:8+n], file[8+n:]
	meta, entries, err := decodeHeader(head[8:])
	if err != nil {
		return nil, nil, fmt.Errorf("header: %w", err)
	}
	_, ours := meta[writerKey]
	if sum, has := meta[checksumKey]; has || ours {
		zeroed := replaceChecksum(head, sum, noChecksum)
		if found := checksumOf([][]byte{zeroed, data}); found != sum {
			return nil, nil, fmt.Errorf("its checksum should be %q and is %q", sum, found)
		}
	}
	delete(meta, writerKey)
	delete(meta, checksumKey)
	ts, err := sliceTensors(entries, data)
	return meta, ts, err
}

// decodeHeader parses the JSON of a header.
func decodeHeader(text []byte) (map[string]string, map[string]tensorEntry, error) {
	meta, entries := map[string]string{}, map[string]tensorEntry{}
	d := json.NewDecoder(bytes.NewReader(text))
	err := decodeObject(d, func(name string) error {
		if name == metadataKey {
			return decodeObject(d, func(key string) error { return decodeValue(d, meta, key) })
		}
		return decodeValue(d, entries, name)
	})
	if err != nil {
		return nil, nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, nil, errors.New("there is data after its JSON")
	}
	return meta, entries, nil
}

// decodeObject reads a JSON object: value is called after each key, to read what
// belongs to it. A key that is there twice is an error: readers would disagree
// about which one counts.
func decodeObject(d *json.Decoder, value func(key string) error) error {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("a JSON object should begin before byte %d", d.InputOffset())
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		key := t.(string)
		if seen[key] {
			return fmt.Errorf("%q occurs twice", key)
		}
		seen[key] = true
		if err := value(key); err != nil {
			return fmt.Errorf("%q: %w", key, err)
		}
	}
	_, err := d.Token()
	return err
}

// decodeValue reads the JSON value that belongs to key.
func decodeValue[V any](d *json.Decoder, into map[string]V, key string) error {
	var v V
	err := d.Decode(&v)
	into[key] = v
	return err
}

// sliceTensors cuts the data into tensors, which must cover it without gap or overlap.
func sliceTensors(entries map[string]tensorEntry, data []byte) ([]Tensor, error) {
	for name, e := range entries {
		if len(e.Offsets) != 2 || e.Offsets[0] < 0 || e.Offsets[0] > e.Offsets[1] || e.Offsets[1] > len(data) {
			return nil, fmt.Errorf("tensor %q lies at %v of %d bytes of data", name, e.Offsets, len(data))
		}
	}
	names := slices.SortedFunc(maps.Keys(entries), func(a, b string) int {
		return cmp.Or(slices.Compare(entries[a].Offsets, entries[b].Offsets), cmp.Compare(a, b))
	})
	ts, end := make([]Tensor, 0, len(names)), 0
	for _, name := range names {
		e := entries[name]
		if e.Offsets[0] != end {
			return nil, fmt.Errorf("tensor %q begins at byte %d of the data, the one before ends at %d", name,
				e.Offsets[0], end)
		}
		begin := end
		end = e.Offsets[1]
		t := Tensor{Name: name, DType: e.DType, Shape: e.Shape, Data: data[begin:end:end]}
		if err := t.check(); err != nil {
			return nil, err
		}
		ts = append(ts, t)
	}
	if end != len(data) {
		return nil, fmt.Errorf("%d bytes follow the last tensor", len(data)-end)
	}
	return ts, nil
}

// noChecksum stands in a file while its checksum is computed.
var noChecksum = strings.Repeat("0", 2*sha256.Size)

// replaceChecksum writes one checksum in the place of another. A quote cannot occur
// unescaped inside a JSON string, so the first match is the metadata's own.
func replaceChecksum(head []byte, from, to string) []byte {
	field := func(sum string) []byte { return []byte(`"` + checksumKey + `":"` + sum + `"`) }
	return bytes.Replace(head, field(from), field(to), 1)
}

func checksumOf(parts [][]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p) // never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}

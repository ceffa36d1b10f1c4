package rundir

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

// What TensorBoard reads: a file of TFRecords (tensorflow.org/tutorials/load_data/tfrecord), each one an Event in the
// wire format of Protocol Buffers. Both are small enough to be written by hand; the numbers of the fields are from
// TensorFlow's event.proto and summary.proto.

// maskedCRC returns the checksum of a TFRecord. It is masked, since a checksum of data that hold checksums of
// themselves is a weak one. The table is made by the first call, and not at the start of each worker, which has no use
// for it.
func maskedCRC(data []byte) uint32 {
	crc := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return (crc>>15 | crc<<17) + 0xa282ead8
}

// AppendRecord appends a TFRecord: its length, the length's checksum, the data, and
// theirs.
func AppendRecord(to, data []byte) []byte {
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	to = append(to, length...)
	to = binary.LittleEndian.AppendUint32(to, maskedCRC(length))
	to = append(to, data...)
	return binary.LittleEndian.AppendUint32(to, maskedCRC(data))
}

// Message is a message in the wire format, to which fields are appended.
type Message []byte

// The kinds of fields on the wire.
const (
	wireVarint = 0
	wireDouble = 1
	wireBytes  = 2
	wireFloat  = 5
)

func (m *Message) key(field, wire uint64) { *m = binary.AppendUvarint(*m, field<<3|wire) }

// Integer adds a field of an integer.
func (m *Message) Integer(field uint64, v int64) {
	m.key(field, wireVarint)
	*m = binary.AppendUvarint(*m, uint64(v))
}

// Double adds a field of a float64.
func (m *Message) Double(field uint64, v float64) {
	m.key(field, wireDouble)
	*m = binary.LittleEndian.AppendUint64(*m, math.Float64bits(v))
}

// Float adds a field of a float32.
func (m *Message) Float(field uint64, v float32) {
	m.key(field, wireFloat)
	*m = binary.LittleEndian.AppendUint32(*m, math.Float32bits(v))
}

// Bytes adds a field of bytes.
func (m *Message) Bytes(field uint64, v []byte) {
	m.key(field, wireBytes)
	*m = binary.AppendUvarint(*m, uint64(len(v)))
	*m = append(*m, v...)
}

// doubles appends a list, packed.
func (m *Message) doubles(field uint64, v []float64) {
	packed := make([]byte, 0, 8*len(v))
	for _, x := range v {
		packed = binary.LittleEndian.AppendUint64(packed, math.Float64bits(x))
	}
	m.Bytes(field, packed)
}

package torch

import (
	"encoding/binary"
	"fmt"
	"math"

	"hogwild/hogwild/rundir/tensor"
)

// What a pickle makes: nil, bool, int, float64, string, tuple, *list, *dict, class, storage, tensor.Tensor, and other.
type (
	tuple []any
	list  struct{ items []any }
	dict  struct{ keys, values []any }
	other string // a value that no tensor needs; its text says what it is
)

// kind is what a value is, for people.
func kind(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return "a bool"
	case int, float64:
		return "a number"
	case string:
		return "a text"
	case tuple, *list:
		return "a list"
	case *dict:
		return "a dictionary"
	case other:
		return string(v)
	case tensor.Tensor:
		return "a tensor"
	}
	return "an object"
}

// literal reads the value of an opcode that makes one from the bytes behind it; ok reports whether it does.
func (m *machine) literal(op byte) (v any, ok bool) {
	switch op {
	case 'N':
		return nil, true
	case 0x88:
		return true, true
	case 0x89:
		return false, true
	case 'K':
		return int(m.number(1)), true
	case 'M':
		return int(m.number(2)), true
	case 'J':
		return int(int32(m.number(4))), true
	case 0x8a:
		return integer(m.take(m.number(1))), true
	case 0x8b:
		return integer(m.take(m.number(4))), true
	case 'G':
		if b := m.take(8); b != nil {
			return math.Float64frombits(binary.BigEndian.Uint64(b)), true
		}
		return nil, true
	case 0x8c, 'U':
		return string(m.take(m.number(1))), true
	case 'X', 'T':
		return string(m.take(m.number(4))), true
	case 0x8d:
		return string(m.take(m.number(8))), true
	case 'C':
		m.take(m.number(1))
		return other("bytes"), true
	case 'B':
		m.take(m.number(4))
		return other("bytes"), true
	case ')':
		return tuple(nil), true
	case ']', 0x8f:
		return &list{}, true
	case '}':
		return &dict{}, true
	}
	return nil, false
}

// integer is a number of any length, in two's complement.
func integer(b []byte) any {
	if len(b) == 0 {
		return 0
	}
	if len(b) > 8 {
		return other("a large number")
	}
	v := int64(int8(b[len(b)-1]))
	for i := len(b) - 2; i >= 0; i-- {
		v = v<<8 | int64(b[i])
	}
	return int(v)
}

// take is the next n bytes.
func (m *machine) take(n uint64) []byte {
	if n > uint64(len(m.text)) {
		m.fail("is damaged: its pickle ends too early")
		return nil
	}
	b := m.text[:n]
	m.text = m.text[n:]
	return b
}

// number is the next number, of so many bytes.
func (m *machine) number(bytes uint64) (v uint64) {
	for i, b := range m.take(bytes) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

func (m *machine) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf(format, args...)
	}
}

// Advice is how to save a file that can be read here.
const Advice = "save the weights alone: torch.save(net.state_dict(), \"net.pt\")"

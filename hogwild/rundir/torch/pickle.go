package torch

import (
	"errors"
)

// machine carries out a pickle: opcodes, a stack of values, and a memo of values that are used again.
// Marks on the stack are where groups of values begin.
type machine struct {
	text    []byte // what is left of it
	stack   []any
	marks   []int
	memo    map[int]any
	storage func(key string) ([]byte, error)
	err     error // the first
}

// mostSteps bounds what a pickle can make: a step makes one value at most.
const mostSteps = 4 << 20

// run is the value that the pickle describes.
func (m *machine) run() (any, error) {
	for range mostSteps {
		op := m.take(1)
		if m.err == nil && op[0] == '.' {
			v := m.pop()
			return v, m.err
		}
		if m.err == nil {
			m.step(op[0])
		}
		if m.err != nil {
			return nil, m.err
		}
	}
	return nil, errors.New("has a pickle with too many values for a state_dict: " + Advice)
}

// line is the text to the end of the line.
func (m *machine) line() string {
	for i, b := range m.text {
		if b == '\n' {
			return string(m.take(uint64(i) + 1)[:i])
		}
	}
	m.fail("is damaged: its pickle ends too early")
	return ""
}

func (m *machine) push(v any) { m.stack = append(m.stack, v) }

// pop takes the last value that came after the last mark.
func (m *machine) pop() any {
	least := 0
	if len(m.marks) > 0 {
		least = m.marks[len(m.marks)-1]
	}
	if len(m.stack) <= least {
		m.fail("is damaged: its pickle uses a value that it has not made")
		return nil
	}
	v := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	return v
}

// group takes all values after the last mark, and the mark.
func (m *machine) group() []any {
	if len(m.marks) == 0 {
		m.fail("is damaged: its pickle uses a mark that it has not made")
		return nil
	}
	from := m.marks[len(m.marks)-1]
	m.marks = m.marks[:len(m.marks)-1]
	values := append([]any(nil), m.stack[from:]...)
	m.stack = m.stack[:from]
	return values
}

// step carries out one opcode.
func (m *machine) step(op byte) {
	if v, ok := m.literal(op); ok {
		m.push(v)
		return
	}
	switch op {
	case 0x80: // the protocol
		m.take(1)
	case 0x95: // the length of a frame
		m.take(8)
	case '(':
		m.marks = append(m.marks, len(m.stack))
	case 't':
		m.push(tuple(m.group()))
	case 0x85, 0x86, 0x87:
		values := make(tuple, op-0x84)
		for i := len(values) - 1; i >= 0; i-- {
			values[i] = m.pop()
		}
		m.push(values)
	case 'a':
		m.extend([]any{m.pop()})
	case 'e', 0x90:
		m.extend(m.group())
	case 's':
		value := m.pop()
		m.set([]any{m.pop(), value})
	case 'u':
		m.set(m.group())
	case 'q':
		m.put(int(m.number(1)))
	case 'r':
		m.put(int(m.number(4)))
	case 0x94:
		m.put(len(m.memo))
	case 'h':
		m.get(int(m.number(1)))
	case 'j':
		m.get(int(m.number(4)))
	case 'c':
		module := m.line()
		m.push(m.class(module + "." + m.line()))
	case 0x93:
		name, _ := m.pop().(string)
		module, _ := m.pop().(string)
		m.push(m.class(module + "." + name))
	case 'Q':
		m.push(m.stored(m.pop()))
	case 'R':
		args, _ := m.pop().(tuple)
		m.push(m.call(m.pop(), args))
	case 'b': // attributes of an object: the version numbers of a state_dict
		m.pop()
		m.top()
	default:
		m.fail("has a pickle with the opcode %#x, which no tensor needs: %s", op, Advice)
	}
}

// top is the last value, which stays.
func (m *machine) top() any {
	v := m.pop()
	m.push(v)
	return v
}

func (m *machine) put(at int) { m.memo[at] = m.top() }

func (m *machine) get(at int) {
	v, ok := m.memo[at]
	if !ok {
		m.fail("is damaged: its pickle uses a value that it has not made")
	}
	m.push(v)
}

// extend appends to the list on the stack.
func (m *machine) extend(values []any) {
	l, ok := m.top().(*list)
	if !ok {
		m.fail("is damaged: its pickle appends to what is no list")
		return
	}
	l.items = append(l.items, values...)
}

// set adds keys and values, in turns, to the dictionary on the stack.
func (m *machine) set(pairs []any) {
	d, ok := m.top().(*dict)
	if !ok || len(pairs)%2 != 0 {
		m.fail("is damaged: its pickle adds a key to what is no dictionary")
		return
	}
	for i := 0; i < len(pairs); i += 2 {
		d.keys, d.values = append(d.keys, pairs[i]), append(d.values, pairs[i+1])
	}
}

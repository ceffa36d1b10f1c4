package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// What package vec has in the words of a Guard, of locks and of tickets.
const (
	guardMine = 8 * iota
	guardLine
	guardShift
	guardSlept

	guardTicket = 8 * (iota - 4)
	guardMask
	guardOwner

	// and in the words of tickets, which are shared
	ticketNext  = 0
	ticketNow   = 1 << ticketShift
	ticketRing  = 2 << ticketShift
	ticketShift = 7 // log2 of the bytes from one to the next

	lockSleeper = 4 // bytes behind a lock: 1 while somebody sleeps until it is free
)

// guards are the steps under each guard. write is the half that writes; keep stores from room on,
// area bytes each, the row of u before and after the step, and v's.
func (l *factorLoop) guards(step VecVirtual, area int, write func(), keep func(room Register)) {
	l.guard("locked", locked, step, l.lock, func() {
		write()
		l.release()
	})
	l.guard("ordered", ordered, step, turn, func() {
		write()
		l.nextTurn()
	})
	l.guard("atomic", atomic, step, func() {}, func() {
		room := arg("coef")
		keep(room)
		l.replace("first", l.pu, Mem{Base: room}, area)
		l.replace("second", l.pv, Mem{Base: room, Disp: 2 * area}, area)
	})
}

// guard is a step under a guard, where half says so: it takes the guard, and writes.
func (l *factorLoop) guard(name string, half int, step VecVirtual, take, write func()) {
	CMPQ(l.half, Imm(uint64(half)))
	JNE(LabelRef("not_" + name))
	take()
	count()
	l.move(name, step)
	write()
	JMP(LabelRef("entry"))
	Label("not_" + name)
}

// count counts the step: of what others write, samplers are told at every step.
func count() {
	at := arg("count")
	INCQ(Mem{Base: at})
}

// lock takes the locks of the blocks of both rows, or goes to pause with none: where another
// has one, and where a row lies in two blocks. From here on u and v are the locks.
func (l *factorLoop) lock() {
	guard, last := arg("guard"), GP64()
	for _, row := range [][2]GPVirtual{{l.pu, l.u}, {l.pv, l.v}} {
		block := row[1]
		MOVQ(row[0], block)
		SUBQ(l.w, block)
		LEAQ(Mem{Base: block, Index: l.stride, Scale: 1, Disp: -4}, last)
		MOVQ(Mem{Base: guard, Disp: guardShift}, RAX)
		SHRXQ(RAX, block, block)
		SHRXQ(RAX, last, last)
		CMPQ(block, last)
		JNE(LabelRef("pause"))
		IMULQ(Mem{Base: guard, Disp: guardLine}, block)
		ADDQ(number("locks"), block)
	}
	mine := last.As32()
	MOVL(Mem{Base: guard, Disp: guardMine}, mine)
	XORL(EAX, EAX)
	compareAndSwap(mine, Mem{Base: l.u})
	JNE(LabelRef("pause"))
	CMPQ(l.u, l.v)
	JEQ(LabelRef("ours"))
	compareAndSwap(mine, Mem{Base: l.v})
	JEQ(LabelRef("ours"))
	MOVL(U32(0), Mem{Base: l.u})
	JMP(LabelRef("pause"))
	Label("ours")
}

// release gives them back, each once: from then on another may have it. Others see stores of
// x86 in their order. The loop ends where somebody sleeps.
func (l *factorLoop) release() {
	MOVL(U32(0), Mem{Base: l.v})
	CMPQ(l.u, l.v)
	JEQ(LabelRef("released"))
	MOVL(U32(0), Mem{Base: l.u})
	asleep(l.u, "slept")
	Label("released")
	asleep(l.v, "slept")
	JMP(LabelRef("entry"))
	Label("slept")
	slept()
	JMP(LabelRef("stop"))
}

// asleep goes somewhere if somebody sleeps until a lock is free.
func asleep(lock Register, where string) {
	CMPL(Mem{Base: lock, Disp: lockSleeper}, Imm(1))
	JEQ(LabelRef(where))
}

// slept says that the loop ends for that.
func slept() {
	guard := arg("guard")
	MOVQ(I32(1), Mem{Base: guard, Disp: guardSlept})
}

// nextTurn ends the turn, and leaves the loop if it cannot take the next one.
func (l *factorLoop) nextTurn() {
	nextTurn(func(t Register) {
		LEAQ(Mem{Base: l.i, Disp: 1}, t)
		CMPQ(t, l.n)
		JGE(LabelRef("entry"))
	}, "stop")
	JMP(LabelRef("entry"))
	Label("stop")
	MOVQ(I32(0), l.n)
}

// replace puts in the place of a row what stands so far behind was, two numbers at a time where
// they lie in eight bytes by themselves; where another number stands by now, the difference is
// added to that. See ReplaceAtomic.
func (l *factorLoop) replace(name string, row Register, was Mem, to int) {
	c, t := l.u, l.v
	now, sum := XMM(), XMM()
	was.Index, was.Scale = c, 1
	at := Mem{Base: row, Index: c, Scale: 1}
	XORQ(c, c)
	Label(name + "Next")
	LEAQ(at, t)
	TESTQ(U32(4), t)
	JNZ(LabelRef(name + "One"))
	LEAQ(Mem{Base: c, Disp: 8}, t)
	CMPQ(t, l.stride)
	JG(LabelRef(name + "One"))
	MOVQ(was, RAX)
	MOVQ(was.Offset(to), t)
	compareAndSwap(t, at)
	JNE(LabelRef(name + "One"))
	ADDQ(Imm(8), c)
	JMP(LabelRef(name + "Test"))

	Label(name + "One")
	MOVL(was, EAX)
	MOVL(was.Offset(to), t.As32())
	Label(name + "Again")
	compareAndSwap(t.As32(), at)
	JEQ(LabelRef(name + "Done"))
	VMOVSS(was.Offset(to), sum)
	VSUBSS(was, sum, sum)
	VMOVD(EAX, now)
	VADDSS(sum, now, sum)
	VMOVD(sum, t.As32())
	JMP(LabelRef(name + "Again"))
	Label(name + "Done")
	ADDQ(Imm(4), c)
	Label(name + "Test")
	CMPQ(c, l.stride)
	JL(LabelRef(name + "Next"))
}

// oneLock takes the one lock of all weights, or goes to pause.
func oneLock() (lock Register) {
	lock, guard := arg("lock"), arg("guard")
	MOVL(Mem{Base: guard, Disp: guardMine}, guard.As32())
	XORL(EAX, EAX)
	compareAndSwap(guard.As32(), Mem{Base: lock})
	JNE(LabelRef("pause"))
	return lock
}

// turn goes to pause unless the turn is this worker's.
func turn() {
	guard, tickets := arg("guard"), arg("tickets")
	ticket := GP64()
	MOVQ(Mem{Base: guard, Disp: guardTicket}, ticket)
	CMPQ(ticket, Mem{Base: tickets, Disp: ticketNow})
	JNE(LabelRef("pause"))
}

// nextTurn ends the turn, and takes the ticket behind it for the next row, if more finds one; it goes
// to stop where another has that ticket, who may be asleep, or dead. See Tickets in
// hogwild/control.
func nextTurn(more func(t Register), stop string) {
	guard, tickets := arg("guard"), arg("tickets")
	ticket, entry, t := GP64(), GP64(), GP64()
	MOVQ(Mem{Base: guard, Disp: guardTicket}, RAX)
	LEAQ(Mem{Base: RAX, Disp: 1}, ticket)
	compareAndSwap(ticket, Mem{Base: tickets, Disp: ticketNow})
	more(t)
	MOVQ(ticket, entry)
	ANDQ(Mem{Base: guard, Disp: guardMask}, entry)
	SHLQ(Imm(ticketShift), entry)
	ADDQ(tickets, entry)
	MOVQ(Mem{Base: entry, Disp: ticketRing}, RAX)
	MOVQ(RAX, t)
	SHRQ(Imm(16), t)
	CMPQ(t, ticket)
	JHI(LabelRef(stop)) // taken
	LEAQ(Mem{Base: ticket, Disp: 1}, t)
	SHLQ(Imm(16), t)
	ORQ(Mem{Base: guard, Disp: guardOwner}, t)
	compareAndSwap(t, Mem{Base: entry, Disp: ticketRing})
	JNE(LabelRef(stop))
	MOVQ(ticket, Mem{Base: guard, Disp: guardTicket})
	MOVQ(ticket, RAX)
	INCQ(ticket)
	compareAndSwap(ticket, Mem{Base: tickets, Disp: ticketNext})
}

// swapped changes the number at a place by compare-and-swap.
func swapped(at Mem, by func(x Register)) {
	x, next := XMM(), GP32()
	swaps++
	again := fmt.Sprint("swap", swaps)
	MOVL(at, EAX)
	Label(again)
	VMOVD(EAX, x)
	by(x)
	VMOVD(x, next)
	compareAndSwap(next, at)
	JNE(LabelRef(again))
}

var swaps int // so far: each has a label

// compareAndSwap puts next at m where EAX is, and sets the flag of equality; else EAX is what is
// there. avo knows neither the prefix nor that the instruction has an operand in EAX.
func compareAndSwap(next Register, m Mem) {
	name := "CMPXCHGL"
	if next.Size() == 8 {
		name = "CMPXCHGQ"
	}
	Instruction(&ir.Instruction{Opcode: "LOCK"})
	Instruction(&ir.Instruction{Opcode: name, Operands: []Op{next, m}, Inputs: []Op{next, m, RAX}, Outputs: []Op{RAX}})
}

package config

// ModeKind is a way in which workers may update one set of weights.
type ModeKind int

// The kinds of modes; the first is the default.
const (
	Async ModeKind = iota
	Atomic
	Locked
	Ordered
	Sync
	Clock
	Blocks
)

// Traits are what the program asks of a mode: code that asks for a trait works with a new mode, a row of modes, too.
type Traits struct {
	Barrier   bool // workers train replicas, or parts of a batch, and meet to average
	Simulated bool // one process plays all workers, on a virtual clock
	Free      bool // workers wait for nothing but a core
	Fused     bool // nothing stands between the read and the write of a step
	Alone     bool // no other writes what a worker is training
	Racy      bool // stores are plain: an update that another overtakes is lost
	Atomic    bool // updates are added by compare-and-swap
	Locks     bool // an update locks what it writes
	Ordered   bool // updates are in the order of their gradients
	Copies    bool // workers may take steps on copies of the weights, which they merge

	name string // "" of a mode with parameters, which Mode.Set reads
	help string
}

// modes are the rows, in the order of the kinds.
var modes = [...]Traits{
	Async: {name: "async", Free: true, Fused: true, Racy: true, Copies: true, help: `
  async                   plain stores, no locks: updates may be lost. Small models train on local
                          copies that are merged often; --merge-every 1 is Hogwild! in place`},
	Atomic: {name: "atomic", Free: true, Atomic: true, help: `
  atomic                  adds by compare-and-swap: no update is lost`},
	Locked: {name: "locked", Locks: true, help: `
  locked                  each update locks the blocks of weights that it writes (AIG)`},
	Ordered: {name: "ordered", Ordered: true, help: `
  ordered                 parallel gradients, updates in the order of the gradients (RR, round robin)`},
	Sync: {name: "sync", Barrier: true, Fused: true, Alone: true, help: `
  sync                    each worker trains a replica, or a share of the batch; averaged at a barrier`},
	Clock: {Simulated: true, help: `
  clock:SPEEDS            one worker that plays many on a virtual clock: repeatable bit for bit; see --rule
  delayed:K               clock:equal:K+1: each update is K steps late
  delayed:geometric:K     the same with random delays, K steps on average`},
	Blocks: {Fused: true, Alone: true, help: `
  blocks[:G]              factor, bpr, warp, kge: a G x G grid of blocks; workers train those that share no
                          row or column. The same bits with any number of workers`},
}

// Traits returns the mode's row; a mode that no text has, has no traits.
func (m Mode) Traits() *Traits {
	if uint(m.Kind) >= uint(len(modes)) {
		return &Traits{}
	}
	return &modes[m.Kind]
}

// Modes are the names of the modes that have no parameters.
var Modes = namesOf(modes[:])

func namesOf(modes []Traits) (names []string) {
	for _, m := range modes {
		if m.name != "" {
			names = append(names, m.name)
		}
	}
	return names
}

// ModeHelp returns what each mode is, a line each.
func ModeHelp() (text string) {
	for i := range modes {
		text += modes[i].help[1:] + "\n"
	}
	return text
}

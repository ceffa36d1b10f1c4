package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
)

// Runner carries out a plan in a folder: every run is a fresh process, and the cases take
// turns, so that what the machine does meanwhile falls on all alike.
type Runner struct {
	Folder   string    // results.json, runs/CASE.SEED, and search/CASE.lr=RATE.SEED
	Program  []string  // that trains, with the arguments in front of the flags; nil: this one, as hogwild train
	Progress io.Writer // nil: nowhere
	Fresh    bool      // measure again what is there

	part string // of the folder; "": runs
}

// Run measures what the folder does not hold yet and writes results.json, also when ctx
// is cancelled in between. A run is done if the folder has what came of it, by the same
// settings, program and processor. One that diverged is done: that is a result. One that
// failed in another way is tried again by the next Run.
//
// What was measured is returned with an error too, nil if that is nothing. Errors match
// config.ErrUsage if a case asks for what cannot be (no such file): no other run is
// started then; and config.ErrInterrupted, or another interruption if that is the cause of ctx.
func (r *Runner) Run(ctx context.Context, p Plan) (*Experiment, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(r.Folder, "runs"), 0o777); err != nil {
		return nil, usage("results folder: %v; choose another with --out", err)
	}
	lock, err := lockFolder(r.Folder)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	// A child is told of its parent's death when the thread that started it ends: this
	// one lives as long as the children.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, err := p.rates(r.tryOut(ctx)); err != nil {
		return nil, err
	}
	w := &work{Runner: r, plan: p, trials: r.trials(p)}
	if r.Fresh {
		if err := w.forget(); err != nil {
			return nil, err
		}
	}
	failed := w.turns(ctx)
	if failed == nil {
		w.dropWeights()
	}
	e := w.experiment()
	if e != nil {
		failed = errors.Join(failed, w.save(e))
	}
	return e, failed
}

// Done is how many runs of each case the folder holds already: none, while it is not known at which learning rates.
func (r *Runner) Done(p Plan) []int {
	done := make([]int, len(p.Cases))
	if _, err := p.rates(r.known); err != nil {
		return done
	}
	for i, repeats := range r.trials(p) {
		for _, t := range repeats {
			if t.done() {
				done[i]++
			}
		}
	}
	return done
}

// work is a plan while it is carried out.
type work struct {
	*Runner
	plan   Plan
	trials [][]*trial // by case and seed; nil: not run yet
	show   *progress
}

var folderNames = regexp.MustCompile(`^[^/\x00-\x1f]+$`)

// check refuses a plan whose cases have no folders of their own.
func (p *Plan) check() error {
	names := map[string]bool{}
	for _, c := range p.Cases {
		if !folderNames.MatchString(c.Name) || names[c.Name] {
			return fmt.Errorf("bench: invalid case name %q: it must be a valid folder name and unique", c.Name)
		}
		names[c.Name] = true
		for _, path := range []string{c.Value("data"), c.Value("test")} {
			if err := data.Find(cmp.Or(path, "digits")); err != nil {
				return usage("%v", err)
			}
		}
	}
	if len(p.Cases) == 0 || len(p.Seeds) == 0 {
		return errors.New("bench: the plan needs at least one case and one seed")
	}
	return nil
}

// lockFolder keeps a second program from working in the folder until the file is closed,
// if by the end of this process.
func lockFolder(folder string) (*os.File, error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	// not all file systems have locks
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		f.Close()
		return nil, usage("another hogwild is running in %s; wait for it or use another folder", folder)
	}
	return f, nil
}

// order returns the order of the cases in a turn: any, but for one plan always the same.
func order(turn, cases int) []int {
	return rand.New(rand.NewPCG(0x686f6777696c64, uint64(turn))).Perm(cases)
}

// turns runs, for each seed, every case that is not done.
func (w *work) turns(ctx context.Context) error {
	w.show = newProgress(w.Progress, w.part, w.trials)
	w.show.atOnce = max(1, w.plan.AtOnce)
	defer w.show.close()
	for turn := range w.plan.Seeds {
		before := w.show.done
		if err := w.turn(ctx, turn); err != nil {
			return err
		}
		if w.part == "" && w.show.done > before && turn < len(w.plan.Seeds)-1 {
			if err := w.save(w.experiment()); err != nil {
				return err
			}
		}
	}
	return nil
}

// turn runs every case that is not done with one seed, as many at a time as the plan says.
func (w *work) turn(ctx context.Context, turn int) error {
	readers, kept := map[string]int{}, filepath.Join(w.Folder, "data.tmp") // what is read once
	for i, c := range w.plan.Cases {
		if !w.trials[i][turn].done() {
			readers[c.reads()]++
		}
	}
	_ = os.RemoveAll(kept) // of a program that was killed
	if err := os.Mkdir(kept, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(kept)
	within, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var all sync.WaitGroup
	atWork := make(chan struct{}, max(1, w.plan.AtOnce))
	for _, i := range order(turn, len(w.plan.Cases)) {
		if w.trials[i][turn].done() {
			continue
		}
		atWork <- struct{}{}
		if within.Err() != nil {
			break
		}
		all.Go(func() {
			defer func() { <-atWork }()
			runtime.LockOSThread() // see Run
			defer runtime.UnlockOSThread()
			c, seed := w.plan.Cases[i], w.plan.Seeds[turn]
			w.show.start(i, c, seed, w.folder(c, seed))
			share := ""
			if readers[c.reads()] > 1 {
				share = kept
			}
			t, err := w.run(within, c, seed, share)
			if err != nil {
				stop(err)
				return
			}
			w.trials[i][turn] = t
			w.show.finish(i, t)
			if len(w.plan.Seeds) == 1 && w.plan.AtOnce < 2 { // else nothing is the best yet
				w.dropWeights()
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return w.interrupted(ctx)
	}
	return context.Cause(within)
}

// interrupted is the error of a plan that was stopped, and says how to continue.
func (w *work) interrupted(ctx context.Context) error {
	kind := cmp.Or(config.Interruption(context.Cause(ctx)), config.ErrInterrupted)
	how := "run the same command to continue"
	if w.plan.Command != "" {
		how = "run `" + w.plan.Command + "` to continue"
	}
	where := ""
	if w.part == searches {
		where = " of this step of the search for learning rates"
	}
	return fmt.Errorf("%w after %d of %d runs%s, kept in %s; %s", kind, w.show.done, w.show.total, where, w.Folder, how)
}

// searcher works in the folder's part for searches.
func (r *Runner) searcher() *Runner {
	s := *r
	s.part = searches
	return &s
}

// tryOut carries out a step of a search, what the folder does not hold of it.
func (r *Runner) tryOut(ctx context.Context) trier {
	return func(step Plan) ([][]*trial, error) {
		s := r.searcher()
		w := &work{Runner: s, plan: step, trials: s.trials(step)}
		if r.Fresh {
			if err := w.forget(); err != nil {
				return nil, err
			}
		}
		err := w.turns(ctx)
		return w.trials, err
	}
}

// known reads what the folder holds of a step of a search.
func (r *Runner) known(step Plan) ([][]*trial, error) { return r.searcher().trials(step), nil }

// Searched is how many runs of the search for learning rates the folder holds, of those that are known to be needed:
// more, while all is not true.
func (r *Runner) Searched(p Plan) (done, total int, all bool) {
	n, err := p.rates(r.known)
	return n.done, n.total, err == nil
}

package get

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// fetch downloads the file to its part, from the first mirror that has it.
func (j *job) fetch(ctx context.Context, p *part) error {
	if j.Size > 0 && p.have == j.Size { // all that was missing was the check, or the unpacking
		if j.check(p) == nil {
			return nil
		}
		if err := p.restart("", ""); err != nil {
			return err
		}
	}
	var failed []string
	for i, address := range j.URLs {
		err := j.mirror(ctx, address, p)
		if err == nil {
			return nil
		}
		if local := (localError{}); ctx.Err() != nil || errors.As(err, &local) {
			return fmt.Errorf("%s: %w", j.Name, err)
		}
		failed = append(failed, host(address)+": "+err.Error())
		if i+1 < len(j.URLs) {
			j.Note(fmt.Sprintf("%s: %s: %v; trying %s", j.Name, host(address), err, host(j.URLs[i+1])))
		}
	}
	return fmt.Errorf("%s: %s", j.Name, strings.Join(failed, "; "))
}

// enough is the progress after which a cut connection is no failed try.
const enough = 1 << 20

// mirror downloads from one server. It gives up after so many tries without progress, or when another try
// would have the same answer.
func (j *job) mirror(ctx context.Context, address string, p *part) error {
	most := p.have // bytes that were there at a time
	for failed := 1; ; failed++ {
		resumed := p.have > 0
		err := j.once(ctx, address, p)
		if err == nil {
			if err = j.check(p); err == nil {
				return nil
			}
			if restart := p.restart("", ""); restart != nil || !resumed { // not resumed: all of it came from here
				return cmp.Or(restart, err)
			}
			err = errors.New(err.Error()) // not final: what was there before may have been wrong
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var local localError
		var final finalError
		if errors.As(err, &local) || errors.As(err, &final) {
			return err
		}
		if p.have >= most+enough {
			most, failed = p.have, 1
		}
		if failed >= j.tries {
			return fmt.Errorf("%w (%d tries)", err, failed)
		}
		wait := j.pause(failed)
		var status statusError
		if errors.As(err, &status) {
			wait = max(wait, status.after)
		}
		j.Note(fmt.Sprintf("%s: %s: %v; trying again in %s", j.Name, host(address), err, wait.Round(100*time.Millisecond)))
		sleep(ctx, wait)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// backOff is 1, 2, 4 and so on up to 60 s, more or less by a quarter.
func backOff(failed int) time.Duration {
	seconds := min(float64(int(1)<<min(failed-1, 6)), 60)
	return time.Duration(seconds * (0.75 + 0.5*rand.Float64()) * float64(time.Second))
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

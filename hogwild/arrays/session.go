package arrays

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/data/format"
	"hogwild/internal/wire"
	"hogwild/shm"
)

// session is the socket of one call.
type session struct {
	line  *wire.Line
	files []*os.File // that came with the first line
	goOn  chan struct{}
}

func newSession(socket int) *session {
	return &session{line: &wire.Line{FD: socket}, goOn: make(chan struct{}, 1)}
}

func (s *session) close() {
	_ = unix.Close(s.line.FD)
	for _, f := range s.files {
		_ = f.Close()
	}
}

// listen reads what the other process says while the run goes on. When it has ended, however it did, so does the run.
func (s *session) listen(cancel context.CancelCauseFunc) {
	for {
		var a answer
		if err := s.line.Receive(&a); err != nil || a.Stop {
			cancel(config.ErrInterrupted)
			if err != nil {
				return
			}
		}
		if a.Go {
			select {
			case s.goOn <- struct{}{}:
			default:
			}
		}
	}
}

// file returns one of the files that came with the first line, which is the caller's from then on.
func (s *session) file(i int) (*os.File, error) {
	if i < 0 || i >= len(s.files) {
		return nil, errors.New("a file that did not come along")
	}
	fd, err := unix.FcntlInt(s.files[i].Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "received"), nil
}

// space is where the rows of a set are: in a room to be filled, or sealed already.
type space struct {
	room  *data.Room
	scale string
	set   *data.Set
}

// room makes the space of rows; nil of none.
func (s *session) room(r *rows, budget *format.Budget) (*space, error) {
	if r == nil {
		return nil, nil
	}
	if r.Sealed != nil {
		f, err := s.file(*r.Sealed)
		if err != nil {
			return nil, err
		}
		set, err := data.Map(f)
		return &space{set: set}, err
	}
	m := data.Meta{Name: r.Name, Kind: r.Kind, Rows: r.Rows, Features: r.Features, Columns: r.Columns,
		Classes: r.Classes, Shape: r.Shape, Implicit: r.Implicit}
	room, err := data.NewRoom(m, r.Stored, r.Weighted, budget)
	if err != nil {
		return nil, config.Usage("%w", err)
	}
	return &space{room: room, scale: r.Scale}, nil
}

// fill has the other process fill the rooms.
func (s *session) fill(spaces ...*space) error {
	var rooms []room
	var files []*os.File
	for _, at := range spaces {
		if at != nil && at.room != nil {
			rooms = append(rooms, room{at.room.Size(), at.room.Offsets()})
			files = append(files, at.room.File())
		}
	}
	if rooms == nil {
		return nil
	}
	if err := s.line.Send(reply{Rooms: rooms}, files...); err != nil {
		return err
	}
	var a answer
	if err := s.line.Receive(&a); err != nil {
		return err
	}
	if !a.Filled {
		return config.ErrInterrupted
	}
	return nil
}

// sealed returns the set; a room's has the scaling of rows that it is like, else the one asked for.
func (p *space) sealed(like *data.Meta) (*data.Set, error) {
	if p.room == nil {
		set := p.set
		p.set = nil
		return set, nil
	}
	room := p.room
	set, err := room.Sealed(p.scale, like)
	if err == nil {
		p.room = nil
	}
	return set, err
}

// close gives back what has not become a set of the run.
func (p *space) close() {
	switch {
	case p == nil:
	case p.room != nil:
		p.room.Close()
	case p.set != nil:
		_ = p.set.Close()
	}
}

// finish sends the end of a call, with a file of these bytes.
func (s *session) finish(d *done, b []byte) error {
	d.Size = len(b)
	seg, err := shm.Create("arrays", max(1, len(b)))
	if err != nil {
		return err
	}
	defer seg.Close()
	copy(seg.Bytes(), b)
	if err = seg.Seal(); err != nil {
		return err
	}
	return s.line.Send(reply{Done: d}, seg.File())
}

// refuse sends why there is nothing.
func (s *session) refuse(err error) error {
	return s.line.Send(reply{Failed: &failed{Kind: kindOf(err), Why: err.Error()}})
}

// kindOf returns the kind of an error, by which Python chooses the class of its own.
func kindOf(err error) string {
	switch {
	case errors.Is(err, config.ErrUsage):
		return "usage"
	case errors.Is(err, config.ErrDiverged):
		return "diverged"
	case config.Interruption(err) != nil:
		return "interrupted"
	}
	return "error"
}

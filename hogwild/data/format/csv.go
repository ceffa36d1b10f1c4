package format

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"hogwild/internal/human"
)

// csvRows is a table on its way to rows.
type csvRows struct {
	*table
	blocks                 *blocks
	in                     *inputs
	y                      int               // the column of labels; -1 of rows to be predicted
	w                      int               // the column of weights; -1: rows have none
	labels                 map[string]string // texts, each once
	all, given, unlabelled int               // rows
}

// openCSV reads a table of cells between commas, semicolons, tabs or |, some of them
// perhaps in quotes.
//
// The first line holds the names of the columns if a cell of it is a text above more numbers than texts, if it counts
// the columns from 0 (see countsColumns), or if there are no numbers at all and none of its texts occurs again in its
// column. The target is the column asked for, else one named target, label, y or class, else the last. A column of
// numbers becomes a feature; one of dates some features (see dateFeatures); one of texts a feature for each text (1
// where it stands, else 0), unless it is left out (see leftOut), as numbers of rows are. If one has more than MaxTexts
// texts, rows are sparse. A text among more numbers is an error. Missing values (see isMissing) are filled in, in the
// end; if that is asked for, such rows are left out, or are an error. Other data than the training data gets the
// features of that, by name. What was done is in the Notes.
func openCSV(s *Source, o Options) (*File, error) {
	r := &csvRows{table: newTable(s, o), y: -1, w: -1, labels: map[string]string{}}
	if r.Next = r.next; o.Like != nil && o.Like.Columns != nil && o.Like.Kind == Sparse {
		r.Kind = Sparse
	}
	begin := r.learn
	if o.Inputs {
		begin = r.known
	}
	return &r.File, begin()
}

// known begins a table to be predicted, whose columns are told by its first line.
func (r *csvRows) known() error {
	q := r.cut()
	b, err := q.first()
	if err == io.EOF {
		return nil
	}
	if err != nil {
		return err
	}
	first := b.texts()
	r.columns = make([]column, len(first))
	for j := range first {
		r.columns[j].name = strconv.Itoa(j + 1)
	}
	features, err := r.knownFeatures(first)
	if err != nil {
		return err
	}
	r.seeHead(r.header)
	r.findMarks()
	err = r.checkDoubts(func(j int) bool {
		return slices.ContainsFunc(features, func(x feature) bool { return x.column == j && !x.oneHot })
	})
	if err != nil {
		return err
	}
	r.in, r.blocks, q.row, q.count = newInputs(r.table, features), q, r.read, r.count
	if !r.header {
		q.again(b)
	}
	return nil
}

// learn begins a table, all cells read once.
func (r *csvRows) learn() error {
	if err := r.profile(); err != nil {
		return err
	}
	marks := r.findMarks()
	if slices.ContainsFunc(r.marks, func(is string) bool { return is != "" }) {
		if err := r.profile(); err != nil { // now they are numbers
			return err
		}
	}
	like, o := r.o.Like, r.o
	if like == nil {
		if err := r.refuseNoTable(); err != nil {
			return err
		}
	}
	r.Named = r.header
	if r.rowNames {
		r.notef("the header has a name less than rows have cells: the first cell of each row is taken for its name, " +
			"and left out")
	}
	r.Notes = append(r.Notes, marks...)
	if err := r.weights(o.Weight); err != nil {
		return err
	}
	y, err := r.target(o.Target)
	if err != nil {
		return err
	}
	if y == r.w {
		return r.Errorf("column %s is the target: it cannot have the weights; --target names another",
			human.Quote(r.Target))
	}
	if c := &r.columns[y]; like == nil && c.order != "" && len(c.distinct) > FewClasses {
		err := r.refuse(r.Errorf("the target %s has dates, e.g. %s: choose another column with --target",
			human.Quote(c.name), human.Quote(c.text)))
		if err != nil {
			return err
		}
	}
	var features []feature
	if like != nil && like.Columns != nil {
		features, err = r.featuresOf(like)
	} else if err = r.ignore(o.Ignore, y); err == nil {
		if err = r.checkDoubts(func(j int) bool { return !r.columns[j].ignored }); err == nil {
			features, err = r.features(y)
		}
	}
	if err == nil && like != nil {
		err = r.checkDoubts(func(j int) bool {
			return j == y || slices.ContainsFunc(features, func(x feature) bool { return x.column == j && !x.oneHot })
		})
	}
	if err == nil && like == nil && o.Target == "" {
		r.noteRatings()
	}
	if err == nil && len(features) == 0 && like == nil {
		err = r.refuse(r.Errorf("no column to learn %s from%s; free text must become numbers first, such as word "+
			"counts in a LIBSVM file", human.Quote(r.Target), Because(r.Notes)))
	}
	if err != nil {
		return err
	}
	r.describe(features)
	r.y, r.in, r.blocks = y, newInputs(r.table, features), r.cut()
	r.Texts = r.columns[y].texts > 0 || r.columns[y].codes && !r.columns[y].fractions // a class is its text
	if r.in.sparse {
		r.Values = r.Rows * len(r.in.columns)
	}
	r.blocks.row, r.blocks.count = r.read, r.count
	if r.blocks.once = true; r.header {
		_, err = r.blocks.first()
	}
	return err
}

// refuseNoTable refuses a file that is no table of columns.
func (r *csvRows) refuseNoTable() error {
	switch {
	case r.isMatrixMarket():
		return r.Errorf("MatrixMarket, the entries of a matrix, which the model factor:32 takes: for rows with " +
			"labels call hogwild.train(X, y) in Python, with X = scipy.io.mmread(...)")
	case len(r.columns) > 1:
		return nil
	case r.LooksLikeText():
		return r.Errorf("one column only: if it is text, choose the model word2vec:100, or text:100 if lines " +
			"have labels")
	}
	return r.Errorf("one column only, so there are no features: separate columns by commas, semicolons, tabs or |")
}

// weights finds the column of weights, which is no input.
func (r *csvRows) weights(asked string) error {
	if asked == "" || r.o.Like != nil {
		return nil
	}
	if r.w = r.find(asked); r.w < 0 {
		return r.Errorf("no column %s of weights; the columns are %s", human.Quote(asked), Some(r.names()))
	}
	r.columns[r.w].ignored = true
	return nil
}

// describe says what the features are.
func (r *csvRows) describe(features []feature) {
	r.Features = len(features)
	var last feature
	group := int32(0)
	for _, x := range features {
		if !x.oneHot {
			r.OneHot = append(r.OneHot, 0)
		} else {
			if !last.oneHot || last.column != x.column || last.part != x.part {
				group++
			}
			r.OneHot = append(r.OneHot, group)
		}
		last = x
		r.Columns = append(r.Columns, r.name(x))
		if x.part != "" {
			if r.Dates == nil {
				r.Dates = map[string]string{}
			}
			r.Dates[r.columns[x.column].name] = r.columns[x.column].order
		}
	}
}

// next reads the next row that is to be learned from, or to be predicted.
func (r *csvRows) next(row *Row) (err error) {
	b, i, err := r.blocks.hand()
	if err == io.EOF {
		return cmp.Or(r.end(), err)
	}
	if err != nil {
		return err
	}
	given, from, to := &b.given[i], 0, b.ends[i]
	if i > 0 {
		from = b.ends[i-1]
	}
	row.Line, row.Val, row.Label, row.Gap = given.Line, b.val[from:to], given.Label, given.Gap
	row.Weight, row.Weighted = given.Weight, given.Weighted
	if r.in.sparse {
		row.Idx = b.idx[from:to]
	}
	if r.Texts {
		row.Text, err = r.label(given.Text)
	}
	return err
}

// count adds the rows of a block to the table's.
func (r *csvRows) count(b *block) {
	r.all, r.given, r.unlabelled = r.all+b.rows, r.given+len(b.given), r.unlabelled+b.unlabelled
	for j := range b.holes {
		r.in.holes[j] += b.holes[j]
		r.in.unseen[j] += b.unseen[j]
	}
}

// read reads a row, unless it is left out.
func (r *csvRows) read(b *block) error {
	n, m := len(b.val), len(b.idx)
	row, cells := Row{Line: b.at}, b.row
	gap, err := r.in.row(b)
	if err == nil && r.y >= 0 && (isMissing(cells[r.y].text) || !r.Texts && isNullWord(cells[r.y].text)) {
		b.unlabelled++
		gap = r.y
	}
	switch {
	case err != nil:
	case gap >= 0 && r.o.Inputs:
		row.Gap = fmt.Sprintf("%s:%d: column %s has no value", r.Path, b.at, human.Quote(r.columns[gap].name))
	case gap >= 0 && r.o.Missing == Refuse:
		return fmt.Errorf("data: %s:%d: column %s has no value: fill it in, have hogwild do it (--missing fill), "+
			"or train without such rows (--missing drop)", r.Path, b.at, human.Quote(r.columns[gap].name))
	case gap < 0 && r.Texts:
		row.Text = string(cells[r.y].text)
	case gap < 0 && r.y >= 0:
		row.Label, err = r.number(b.at, r.y, &cells[r.y])
	}
	if err == nil && r.w >= 0 {
		row.Weighted = true
		row.Weight, err = r.number(b.at, r.w, &cells[r.w])
	}
	if err != nil || gap >= 0 && !r.o.Inputs {
		b.val, b.idx = b.val[:n], b.idx[:m]
		return b.refuse(err)
	}
	b.given, b.ends = append(b.given, row), append(b.ends, len(b.val))
	return nil
}

// label returns a label that is a text: each is held once.
func (r *csvRows) label(text string) (string, error) {
	if label, ok := r.labels[text]; ok {
		return label, nil
	}
	r.labels[text] = text
	return text, r.Budget.Take(r.Path, int64(len(text))+textBytes, "its labels, which are texts")
}

// end notes what became of missing values, behind the last row.
func (r *csvRows) end() error {
	if r.in == nil {
		return nil
	}
	in, left := r.in, r.all-r.given
	r.Read = r.all
	switch {
	case r.o.Inputs:
		r.Notes = in.notes(r.all)
		return nil
	case in.fill != nil && r.unlabelled > 0:
		r.notef("left out %s of %s rows without a value of the target %s", count(r.unlabelled), count(r.all),
			human.Quote(r.Target))
	case left > 0:
		in.holes[r.y] += r.unlabelled
		r.notef("left out %s of %s rows with missing values: %s", count(left), count(r.all), r.list(in.holes))
	}
	r.Notes = append(r.Notes, in.notes(r.given)...)
	var err error
	if r.o.Like == nil && 0 < r.given && 2*r.given < r.all {
		err = r.refuse(r.Errorf("%s of %s rows lack a value, most of them in column %s: leave that column out "+
			"(--ignore), or fill in its values",
			count(left), count(r.all), human.Quote(r.columns[most(in.holes)].name)))
	}
	r.Notes = append(r.Notes, r.problems...)
	return err
}

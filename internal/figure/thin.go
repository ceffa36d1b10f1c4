package figure

// thin leaves of the points of a line those that can be seen: of all that follow each other
// in one column of pixels the first, the last, the highest and the lowest.
func thin(points []xy) []xy {
	if len(points) < figureWidth {
		return points
	}
	var kept []xy
	for from := 0; from < len(points); {
		to := from
		low, high := from, from
		for ; to < len(points) && column(points[to]) == column(points[from]); to++ {
			if points[to].Y < points[low].Y {
				low = to
			}
			if points[to].Y > points[high].Y {
				high = to
			}
		}
		last := -1
		for _, i := range []int{from, min(low, high), max(low, high), to - 1} {
			if i != last {
				kept = append(kept, points[i])
			}
			last = i
		}
		from = to
	}
	return kept
}

func column(p xy) int { return int(p.X) }

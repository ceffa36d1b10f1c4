package format

import (
	"slices"
	"strings"
)

// twice is the place of a part that several columns seem to be.
const twice = -2

// partNames are the names of columns of each part, without marks and in small letters; the last are of none.
var partNames = [...]string{
	persons + "source sourceid src from fromid fromnode fromnodeid node1 follower sender citing head parent row " +
		"rowid ",
	" item itemid iid movie movieid film filmid artist artistid book bookid isbn product productid asin parentasin " +
		"game gameid song songid track trackid anime animeid business businessid article articleid target targetid " +
		"tgt dst dest destination to toid tonode tonodeid node2 followee receiver cited tail child column columnid ",
	" rating ratings score value weight stars overall bookrating count plays playcount capacity cost prediction ",
	" timestamp time date datetime ts unixtime unixreviewtime index unnamed0  ",
}

// persons are the partNames that make the file one of ratings, whatever the model.
const persons = " user userid uid customer customerid reviewer reviewerid member memberid account accountid "

// plainName returns the name of a column without marks and in small letters, and without a type, as in user_id:token.
func plainName(name string) string {
	for _, is := range []string{":token", ":float"} {
		name = strings.TrimSuffix(name, is)
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" _-.:#", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// known returns the columns whose names say what they are, and those that may be anything.
func known(names []string) (found [3]int, free []int) {
	found = [3]int{-1, -1, -1}
	for j, name := range names {
		of := slices.IndexFunc(partNames[:], func(part string) bool {
			return strings.Contains(part, " "+plainName(name)+" ")
		})
		switch {
		case of < 0:
			free = append(free, j)
		case of == len(found):
		case found[of] != -1:
			found[of] = twice
		default:
			found[of] = j
		}
	}
	return found, free
}

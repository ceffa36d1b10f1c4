package config

// Setting is all that is known of one: flags, files, the environment, completion, help and the checks of values and of
// combinations go by it. Its value is the field of Config with the same name in files.
type Setting struct {
	Name  string   // in files and errors
	Flag  string   // of a flag that says the opposite, as no-bias; "": the flag has the name
	Usage string   // for help; the name of the value is in backquotes
	Words []string // all that it takes; nil: other values
	Hints []string // some of those: words, and beginnings that end with a colon
	Zero  string   // the word for 0, where that is no number of things

	least, most float64             // of a number; both 0: see check
	check       func(*Config) error // refuses a value; nil: there is nothing more to check
	needs       []need              // without which it has no effect
}

// Group is settings under one title of the help.
type Group struct {
	Title    string
	Settings []Setting
}

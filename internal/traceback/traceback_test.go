package traceback

import "testing"

// deaths are what programs print, and what is to be found.
var deaths = []struct {
	name, said, want, begins string
	fatal                    bool
}{
	{name: "exception", said: `epoch 1
Traceback (most recent call last):
  File "/home/a/step.py", line 3, in <module>
    main()
  File "/home/a/step.py", line 2, in main
    raise ValueError("bad")
ValueError: bad
hogwild worker 0: the program exited with status 1`, want: "ValueError: bad (step.py:2)", begins: "Traceback"},
	{name: "within a library", said: `Traceback (most recent call last):
  File "/home/a/step.py", line 3, in <module>
    net.load_state_dict({"weight": torch.zeros(3,3)})
  File "/home/a/lib/python3.11/site-packages/torch/nn/modules/module.py", line 2647, in load_state_dict
    raise RuntimeError(
RuntimeError: Error(s) in loading state_dict for Linear:
	Missing key(s) in state_dict: "bias". 
	size mismatch for weight
`, want: `RuntimeError: Error(s) in loading state_dict for Linear: Missing key(s) in state_dict: "bias". (step.py:3)`, begins: "Traceback"},
	{name: "syntax", said: `  File "/home/a/step.py", line 2
    def f(:
          ^
SyntaxError: invalid syntax
`, want: "SyntaxError: invalid syntax (step.py:2)", begins: "  File"},
	{name: "trimmed", said: `File "/home/a/step.py", line 2
    def f(:
          ^
SyntaxError: invalid syntax`, want: "SyntaxError: invalid syntax (step.py:2)", begins: "File"},
	{name: "syntax in another file", said: `Traceback (most recent call last):
  File "/home/a/step.py", line 1, in <module>
    import net
  File "/home/a/net.py", line 7
    x = = 1
        ^
SyntaxError: invalid syntax
`, want: "SyntaxError: invalid syntax (net.py:7)", begins: "Traceback"},
	{name: "no torch", said: `Traceback (most recent call last):
  File "/home/a/step.py", line 1, in <module>
    import torch
ModuleNotFoundError: No module named 'torch'`, want: "ModuleNotFoundError: No module named 'torch' (step.py:1)", begins: "Traceback"},
	{name: "chained", said: `Traceback (most recent call last):
  File "/home/a/step.py", line 4, in f
    json.loads("{")
  File "/usr/lib/python3.11/json/__init__.py", line 346, in loads
    return _default_decoder.decode(s)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^
json.decoder.JSONDecodeError: Expecting property name: line 1 column 2 (char 1)

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/home/a/step.py", line 7, in <module>
    f()
  File "/home/a/step.py", line 6, in f
    raise RuntimeError("while reading") 
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
RuntimeError: while reading
`, want: "RuntimeError: while reading (step.py:6)", begins: "Traceback"},
	{name: "group", said: `  + Exception Group Traceback (most recent call last):
  |   File "/home/a/step.py", line 3, in <module>
  |     f()
  |   File "/home/a/step.py", line 2, in f
  |     raise ExceptionGroup("several", [ValueError(1), TypeError("two")])
  | ExceptionGroup: several (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | ValueError: 1
    +---------------- 2 ----------------
    | TypeError: two
    +------------------------------------
`, want: "ExceptionGroup: several (2 sub-exceptions) (step.py:2)", begins: "  + Exception Group"},
	{name: "group with frames", said: `  + Exception Group Traceback (most recent call last):
  |   File "/home/a/step.py", line 9, in <module>
  |     f()
  | ExceptionGroup: several (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/home/a/step.py", line 4, in g
    |     raise ValueError(1)
    | ValueError: 1
    +------------------------------------
`, want: "ValueError: 1 (step.py:4)", begins: "  + Exception Group"},
	{name: "loader", said: `Traceback (most recent call last):
  File "/home/a/step.py", line 5, in <module>
    for x in loader: pass
  File "/home/a/.venv/lib/python3.11/site-packages/torch/_utils.py", line 804, in reraise
    raise exception
IndexError: Caught IndexError in DataLoader worker process 0.
Original Traceback (most recent call last):
  File "/home/a/.venv/lib/python3.11/site-packages/torch/utils/data/_utils/fetch.py", line 54, in fetch
    data = [self.dataset[idx] for idx in possibly_batched_index]
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/home/a/rows.py", line 4, in __getitem__
    raise IndexError("no row %d" % i)
IndexError: no row 0

`, want: "IndexError: no row 0 (rows.py:4)", begins: "Traceback"},
	{name: "in the package hogwild", said: `Traceback (most recent call last):
  File "/home/a/step.py", line 8, in <module>
    for x, y in job.batches():
  File "/home/a/.cache/hogwild/python-1f/hogwild/__init__.py", line 120, in batches
    raise RuntimeError("a batch without step or done")
RuntimeError: a batch without step or done
`, want: "RuntimeError: a batch without step or done (step.py:8)", begins: "Traceback"},
	{name: "only a library", said: `Traceback (most recent call last):
  File "<frozen runpy>", line 198, in _run_module_as_main
  File "/usr/lib/python3.11/runpy.py", line 88, in _run_code
AssertionError
`, want: "AssertionError (runpy.py:88)", begins: "Traceback"},
	{name: "faulthandler", said: `Fatal Python error: Segmentation fault

Current thread 0x00007f243a3cab80 (most recent call first):
  File "/usr/lib/python3.11/ctypes/__init__.py", line 519 in string_at
  File "/home/a/step.py", line 4 in f
  File "/home/a/step.py", line 5 in <module>

Extension modules: numpy.core (total: 1)
`, want: "Fatal Python error: Segmentation fault (step.py:4)", begins: "Fatal", fatal: true},
	{name: "C++", said: `terminate called after throwing an instance of 'c10::Error'
  what():  boom
`, want: "c10::Error: boom", begins: "terminate", fatal: true},
	{name: "C++ without an exception", said: "terminate called without an active exception\n",
		want: "terminate called without an active exception", begins: "terminate", fatal: true},
	{name: "nothing", said: "epoch 1\nno such file: x.csv"},
	{name: "cut off", said: "Traceback (most recent call last):\n  File \"/home/a/step.py\", line 3, in <module>"},
	{name: ""},
}

// TestFind: of what programs print, why they died, and where.
func TestFind(t *testing.T) {
	for _, c := range deaths {
		got, found := Find(c.said)
		if !found {
			got = Trace{}
		}
		if got.String() != c.want || found != (c.want != "") || got.Fatal != c.fatal || len(got.Text) < len(c.begins) ||
			got.Text[:len(c.begins)] != c.begins {
			t.Errorf("%s: %q, want %q (%v, %v): %q", c.name, got.String(), c.want, found, got.Fatal, got.Text)
		}
	}
}

// FuzzFind: any text has an end.
func FuzzFind(f *testing.F) {
	f.Add("Traceback (most recent call last):\n  File \"a\", line 3, in b\nValueError: c:")
	f.Add("  + Exception Group Traceback (most recent call last):\n  |   File \"a\", line 1\n  | E:\n")
	f.Add("terminate called after throwing an instance of 'a'\n  what():  b")
	f.Fuzz(func(t *testing.T, said string) {
		if got, found := Find(said); found == (got.Reason == "") {
			t.Errorf("%+v", got)
		}
	})
}

package human

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestWriteJSON(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`1`, "1\n"}, {`"a,{\"[\\"`, "\"a,{\\\"[\\\\\"\n"}, {`{}`, "{}\n"}, {`[]`, "[]\n"},
		{`[1,2]`, "[\n  1,\n  2\n]\n"},
		{`{"a":{"b":1,"c":[{"d":2}]},"e":[],"f":[[1,2],[3,4]]}`, `{
  "a": {"b": 1, "c": [{"d": 2}]},
  "e": [],
  "f": [[1, 2], [3, 4]]
}
`},
		{`{"cases":[{"name":"x: {y}","loss":[0.1,null]},{"name":"]","all":[{},{"a":1}]}],"z":[{}]}`, `{
  "cases": [
    {"name": "x: {y}", "loss": [0.1, null]},
    {"name": "]", "all": [{}, {"a": 1}]}
  ],
  "z": [
    {}
  ]
}
`},
	} {
		var out, back bytes.Buffer
		if err := WriteJSON(&out, json.RawMessage(c.in)); err != nil || out.String() != c.want {
			t.Errorf("%s, %v: want\n%s", out.String(), err, c.want)
		}
		if err := json.Compact(&back, out.Bytes()); err != nil || back.String() != c.in+"\n" && back.String() != c.in {
			t.Errorf("%s came back as %s, %v", c.in, back.String(), err)
		}
	}
}

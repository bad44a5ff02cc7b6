package engine

import (
	"encoding/json"
	"testing"
)

// FuzzDockerLine: what the fast path accepts, encoding/json reads the same.
func FuzzDockerLine(f *testing.F) {
	for _, text := range []string{"x\n", "a\"b\\c\t\u00e9\u2028<&>\x1b[0m\r\n", "", "\U0001F600\n"} {
		log, _ := json.Marshal(text)
		f.Add([]byte(`{"log":` + string(log) + `,"stream":"stdout","time":"2031-05-01T10:00:00Z"}`))
		f.Add([]byte(`{"log":` + string(log) + `,"stream":"stderr","time":"2031"} `))
	}
	f.Add([]byte(`{"log":"\u0041\/","stream":"stderr","time":""}`))
	f.Add([]byte(`{"log":"\ud83d\ude00","stream":"stderr","time":""}`))
	f.Add([]byte(`{"log":"x","stream":"stdout","time":"\""}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var want struct{ Log, Stream, Time string }
		err := json.Unmarshal(data, &want)
		text, stream, ok := dockerLine(append([]byte{}, data...))
		if !ok {
			return
		}
		if err != nil {
			t.Fatalf("%q passed, JSON says %v", data, err)
		}
		if got := string(text); got != want.Log && json.Valid(data) && string([]rune(got)) != want.Log || stream != want.Stream {
			t.Errorf("%q: %q %s, want %q %s", data, got, stream, want.Log, want.Stream)
		}
	})
}

func TestDockerLine(t *testing.T) {
	text, stream, ok := dockerLine([]byte(`{"log":"a\u001b[0m\t\"\\\n","stream":"stderr","time":"2031-05-01T10:00:00Z"}`))
	if !ok || string(text) != "a\x1b[0m\t\"\\\n" || stream != "stderr" {
		t.Errorf("%q %s %v", text, stream, ok)
	}
	if _, _, ok := dockerLine([]byte(`{"log":"x","stream":"stdout","time":"2031","attrs":{}}`)); ok {
		t.Error("another spelling passed")
	}
}

package ordered

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"testing"
)

func numbers(n int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := range n {
			var err error
			if i == 7 {
				err = errors.New("bad seven")
			}
			if !yield(i, err) {
				return
			}
		}
	}
}

func none() (struct{}, error) { return struct{}{}, nil }

// Squares come in order for any number of workers, with the input's error in its place.
func TestOrder(t *testing.T) {
	for _, workers := range []int{0, 1, 2, 13} {
		var got []int
		for square, err := range Map(numbers(500), workers, none, func(_ struct{}, n int) (int, error) {
			if n%3 == 0 {
				runtime.Gosched()
			}
			return n * n, nil
		}) {
			if (err != nil) != (len(got) == 7) {
				t.Fatalf("%d workers: result %d has error %v", workers, len(got), err)
			}
			if err != nil {
				square = 49
			}
			got = append(got, square)
		}
		for i, square := range got {
			if square != i*i {
				t.Fatalf("%d workers: result %d is %d", workers, i, square)
			}
		}
		if len(got) != 500 {
			t.Errorf("%d workers gave %d results", workers, len(got))
		}
	}
}

// A caller that stops early leaves no goroutine behind and takes only a bounded number of inputs.
func TestStopEarly(t *testing.T) {
	before := runtime.NumGoroutine()
	taken := 0
	in := func(yield func(int, error) bool) {
		for taken < 1_000_000 && yield(taken, nil) {
			taken++
		}
	}
	for n := range Map(in, 3, none, func(_ struct{}, n int) (int, error) { return n, nil }) {
		if n == 10 {
			break
		}
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines before, %d after", before, after)
	}
	if taken > 10+3*ahead+10 {
		t.Errorf("%d inputs were taken for 11 results", taken)
	}
}

// A state that cannot be made is the error of every result, not a hang.
func TestStateFails(t *testing.T) {
	broken := errors.New("no planner")
	n := 0
	for _, err := range Map(numbers(7), 2, func() (int, error) { return 0, broken }, func(int, int) (int, error) { return 0, nil }) {
		if n++; !errors.Is(err, broken) {
			t.Errorf("error is %v", err)
		}
	}
	if n != 7 {
		t.Errorf("%d results, want 7", n)
	}
}

func ExampleMap() {
	words := func(yield func(string, error) bool) {
		for _, w := range []string{"donor", "recipient"} {
			yield(w, nil)
		}
	}
	lengths := Map(words, 2, func() ([]byte, error) { return make([]byte, 0, 64), nil }, func(buf []byte, w string) (int, error) {
		return len(append(buf, w...)), nil
	})
	var out []int
	for n := range lengths {
		out = append(out, n)
	}
	fmt.Println(slices.Max(out), out)
	// Output: 9 [5 9]
}

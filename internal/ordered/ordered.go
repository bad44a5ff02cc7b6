// Package ordered runs a function over a sequence on several goroutines and gives the results in input order, so that no
// output depends on GOMAXPROCS. Each worker has a state of its own (a planner, a buffer); at most a few inputs per worker
// are in flight, so memory stays bounded whatever the length of the sequence.
package ordered

import (
	"iter"
	"sync"
)

// ahead is how many inputs per worker may wait, so that one slow item does not idle the others.
const ahead = 4

// Map yields f(state, input) for every input, in order. State is made once per worker, on its goroutine. An error of the input
// sequence, of newState or of f is yielded in its place; the caller decides whether to go on. When the caller stops early, no further
// input is taken and all goroutines end before Map returns. Workers below 1 count as 1.
func Map[In, Out, State any](in iter.Seq2[In, error], workers int, newState func() (State, error), f func(State, In) (Out, error)) iter.Seq2[Out, error] {
	type result struct {
		out Out
		err error
	}
	type job struct {
		in   In
		err  error
		done chan result
	}
	return func(yield func(Out, error) bool) {
		workers := max(workers, 1)
		jobs := make(chan job)
		order := make(chan job, workers*ahead)
		stop := make(chan struct{})
		var running sync.WaitGroup
		defer running.Wait()
		defer close(stop)

		running.Go(func() {
			defer close(order)
			defer close(jobs)
			for input, err := range in {
				j := job{input, err, make(chan result, 1)}
				select {
				case order <- j:
				case <-stop:
					return
				}
				if err != nil {
					j.done <- result{err: err}
					continue
				}
				select {
				case jobs <- j:
				case <-stop:
					return
				}
			}
		})
		for range workers {
			running.Go(func() {
				state, stateErr := newState()
				for j := range jobs {
					r := result{err: stateErr}
					if stateErr == nil {
						r.out, r.err = f(state, j.in)
					}
					j.done <- r
				}
			})
		}
		for j := range order {
			r := <-j.done
			if !yield(r.out, r.err) {
				return
			}
		}
	}
}

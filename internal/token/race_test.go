//go:build race

package token

// quick: the race detector makes regular expressions ten times slower, and there is nothing to race in them.
const quick = true

//go:build !race

package token

const quick = false

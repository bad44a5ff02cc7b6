package token_test

import (
	"fmt"

	"sembench/internal/token"
)

func Example() {
	tok, err := token.Open("o200k")
	if err != nil {
		panic(err)
	}
	fmt.Println(tok.Encode(nil, "Hello, world!"))
	fmt.Printf("%q\n", tok.Pieces("Hello, world!"))
	// Output:
	// [13225 11 2375 0]
	// ["Hello" "," " world" "!"]
}

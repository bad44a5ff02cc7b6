package engine

import "testing"

func TestWithoutKeys(t *testing.T) {
	for line, want := range map[string]string{
		"vllm serve m --api-key s3cret --block-size 16":               "vllm serve m --api-key *** --block-size 16",
		"vllm serve m --api_key='a b' -tp 2":                          "vllm serve m --api_key=*** -tp 2",
		"HF_TOKEN=hf_x VLLM_API_KEY=\"q\" vllm serve m":               "HF_TOKEN=*** VLLM_API_KEY=*** vllm serve m",
		"vllm serve m --max-num-batched-tokens 8192 --tokenizer t":    "vllm serve m --max-num-batched-tokens 8192 --tokenizer t",
		"vllm serve m --enable-prompt-tokens-details --block-size=16": "vllm serve m --enable-prompt-tokens-details --block-size=16",
	} {
		if got := WithoutKeys(line); got != want {
			t.Errorf("%s\n got %s\nwant %s", line, got, want)
		}
	}
}

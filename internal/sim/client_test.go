package sim_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"sembench/internal/sim"
)

// A client library that nobody here wrote: the Python package openai, where it is installed. SEMBENCH_TEST_PYTHON names another
// interpreter than python3.
func TestOpenAIPythonClient(t *testing.T) {
	python := os.Getenv("SEMBENCH_TEST_PYTHON")
	if python == "" {
		python = "python3"
	}
	if exec.Command(python, "-c", "import openai").Run() != nil {
		t.Skip("the Python package openai is not installed (pip install openai)")
	}
	for _, voice := range []string{"vllm", "sglang", "trtllm", "lmcache", "llamacpp", "gateway"} {
		h := open(t, sim.Config{As: voice, Semantic: true})
		out, err := exec.Command(python, "testdata/openai_client.py", h.url).CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), "ok ") {
			t.Errorf("%s: %v\n%s", voice, err, out)
		}
	}
}

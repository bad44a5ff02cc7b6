package plan

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"sembench"
)

// The test binary is the child too: this is the usual way to run a helper process without other files.
func TestMain(m *testing.M) {
	if mode := os.Getenv("SEMBENCH_TEST_CHILD"); mode != "" {
		childMain(mode)
		return
	}
	os.Exit(m.Run())
}

// childMain plays a planner child that copies the whole target from the first donor, or misbehaves.
func childMain(mode string) {
	in := bufio.NewReader(os.Stdin)
	donors, plans := []string{}, 0
	if mode == "deaf" {
		hang() // never reads
	}
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var r execRequest
		if err := json.Unmarshal(line, &r); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		switch r.Op {
		case "reset":
			donors = nil
			continue
		case "register":
			donors = append(donors, r.DonorID)
			continue
		}
		plans++
		span := func(target, length int, donor string, start int) string {
			return fmt.Sprintf(`{"spans":[{"target_start":%d,"length":%d,"donor_id":%q,"donor_start":%d}],"similarity":0.5}`, target, length, donor, start)
		}
		n := len(r.TokenIDs)
		switch mode {
		case "good":
			fmt.Println(span(0, n, donors[0], 0))
		case "count":
			fmt.Printf(`{"spans":[],"rejection_reason":"%d donors"}`+"\n", len(donors))
		case "slots":
			fmt.Print(`{"slot_actions":[{"action":"recompute","targetPos":1,"donorPos":null,"donorId":null}`)
			for _, i := range []int{0, 3, 2} {
				fmt.Printf(`,{"action":"copy_from_donor","targetPos":%d,"donorPos":%d,"donorId":%q}`, i, i, donors[0])
			}
			fmt.Println(`],"reuse_ratio":0.75}`)
		case "crash":
			fmt.Fprintln(os.Stderr, "out of luck")
			os.Exit(7)
		case "crash once":
			if len(donors) == 1 {
				os.Exit(7)
			}
			fmt.Println(span(0, n, donors[0], 0))
		case "hang":
			hang()
		case "noise":
			fmt.Println("loading model ...")
		case "chatty":
			fmt.Println(span(0, n, donors[0], 0) + "\nINFO done")
		case "double":
			fmt.Println(span(0, n, donors[0], 0) + "\n" + span(0, n, donors[0], 0))
		case "donor end":
			fmt.Println(span(0, n, donors[0], 100001))
		case "half":
			fmt.Print(`{"spans":[`)
			return
		case "endless":
			for {
				fmt.Print(strings.Repeat("x", 1<<16))
			}
		case "nothing":
			fmt.Println(`{}`)
		case "error":
			fmt.Println(`{"error":"ValueError: no"}`)
		case "past target":
			fmt.Println(span(0, n+1, donors[0], 0))
		case "past donor":
			fmt.Println(span(0, n, donors[0], 1<<40))
		case "wrong donor":
			fmt.Println(span(0, n, "nobody", 0))
		case "shifted":
			fmt.Println(span(0, n-1, donors[0], 1))
		case "negative":
			fmt.Println(span(0, n, donors[0], -1))
		case "overlap":
			fmt.Printf(`{"spans":[{"target_start":0,"length":2,"donor_id":%q,"donor_start":0},{"target_start":1,"length":1,"donor_id":%q,"donor_start":1}]}`+"\n", donors[0], donors[0])
		case "twice":
			fmt.Printf(`{"slot_actions":[{"action":"copy_from_donor","targetPos":0,"donorPos":0,"donorId":%q},{"action":"copy_from_donor","targetPos":0,"donorPos":0,"donorId":%q}]}`+"\n", donors[0], donors[0])
		case "class":
			fmt.Printf(`{"spans":[{"target_start":0,"length":2,"donor_id":%q,"donor_start":0,"class":"magic"}]}`+"\n", donors[0])
		case "similarity":
			fmt.Println(`{"spans":[],"similarity":17}`)
		}
	}
}

// hang outlives every timeout of these tests; an empty select would end as a deadlock.
func hang() { <-time.After(time.Hour) }

func execTest(t *testing.T, mode string, timeout time.Duration) Planner {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "SEMBENCH_TEST_CHILD="+mode)
	return mustOpen(t, "exec:'"+self+"'", Options{BlockSize: 2, ExecTimeout: timeout, ExecEnv: env})
}

var execTarget = Target{ItemID: "i", Tokens: []uint32{1, 2, 3, 4}}

func TestExecGood(t *testing.T) {
	p := execTest(t, "good", 0)
	mustRegister(t, p, "d", []uint32{1, 2, 3, 4, 5})
	for range 3 {
		plan := p.Plan(context.Background(), execTarget)
		want := []sembench.Span{{TargetStart: 0, Length: 4, DonorID: "d", DonorStart: 0, Class: contiguous}}
		if plan.Error != nil || !slices.Equal(plan.Spans, want) || !plan.Found || *plan.Similarity != 0.5 || *plan.ReuseRatio != 1 {
			t.Fatalf("plan = %+v, error %v", plan, plan.Error)
		}
	}
}

func TestExecSlotActions(t *testing.T) {
	p := execTest(t, "slots", 0)
	mustRegister(t, p, "d", []uint32{1, 9, 3, 4})
	plan := p.Plan(context.Background(), execTarget)
	want := []sembench.Span{
		{TargetStart: 0, Length: 1, DonorID: "d", DonorStart: 0, Class: scattered},
		{TargetStart: 2, Length: 2, DonorID: "d", DonorStart: 2, Class: contiguous},
	}
	if plan.Error != nil || !slices.Equal(plan.Spans, want) {
		t.Fatalf("plan = %+v, error %v", plan, plan.Error)
	}
}

func TestExecDonors(t *testing.T) {
	p := execTest(t, "count", 0)
	check := func(want string) {
		t.Helper()
		plan := p.Plan(context.Background(), execTarget)
		if plan.Error != nil || *plan.RejectionReason != want || plan.Found || plan.ReuseRatio != nil {
			t.Fatalf("plan = %+v, error %v, want %q", plan, plan.Error, want)
		}
	}
	check("0 donors")
	mustRegister(t, p, "a", nil)
	mustRegister(t, p, "b", []uint32{1})
	check("2 donors")
	check("2 donors")
	mustRegister(t, p, "a", []uint32{2})
	check("2 donors")
	if err := p.Reset(); err != nil {
		t.Fatal(err)
	}
	check("0 donors")
	mustRegister(t, p, "c", []uint32{2})
	check("1 donors")
}

// Whatever a child does wrong is an error on the row, never a plan.
func TestExecMisbehaves(t *testing.T) {
	check := func(mode, want string) {
		t.Helper()
		timeout := 20 * time.Second
		if mode == "hang" || mode == "deaf" {
			timeout = 100 * time.Millisecond
		}
		p := execTest(t, mode, timeout)
		// The first donor does not fit a pipe's buffer, so that a deaf child blocks the writer.
		mustRegister(t, p, "d", append([]uint32{1, 2, 3, 4}, make([]uint32, 100000)...))
		plan := p.Plan(context.Background(), execTarget)
		if plan.Error == nil || !strings.Contains(*plan.Error, want) || plan.Found || len(plan.Spans) != 0 || plan.Similarity != nil || plan.ReuseRatio != nil {
			got := "none"
			if plan.Error != nil {
				got = *plan.Error
			}
			t.Errorf("%s: error %s, want %q; plan %+v", mode, got, want, plan)
		}
	}
	check("crash", "it ended: exit status 7: out of luck")
	check("hang", "no answer within 100ms")
	check("deaf", "no answer within 100ms")
	check("noise", `invalid character 'l'`)
	check("half", "it ended: exit status 0")
	check("endless", "line is longer than 1049600 bytes")
	check("nothing", "neither spans nor slot_actions")
	check("error", "ValueError: no")
	check("past target", "lie outside the target's 4")
	check("past donor", "lie outside the 100004 of")
	check("donor end", "lie outside the 100004 of")
	check("wrong donor", `donor "nobody" is not registered`)
	check("shifted", "target token 0 differs from token 1")
	check("negative", "donor_start -1 is negative")
	check("overlap", "before the end 2")
	check("twice", "before the end 1")
	check("class", `class "magic" is unknown`)
	check("similarity", "similarity 17")
}

// A line too many must not become the next target's answer.
func TestExecChatty(t *testing.T) {
	p := execTest(t, "chatty", 0)
	mustRegister(t, p, "d", []uint32{1, 2, 3, 4})
	failures := 0
	for range 4 {
		if plan := p.Plan(context.Background(), execTarget); plan.Error != nil {
			failures++
		}
	}
	if failures < 2 {
		t.Errorf("%d of 4 plans failed: the extra line went unnoticed", failures)
	}
}

// An answer too many is no less wrong for being well formed.
func TestExecDouble(t *testing.T) {
	p := execTest(t, "double", 0)
	mustRegister(t, p, "d", []uint32{1, 2, 3, 4})
	p.Plan(context.Background(), execTarget)
	if plan := p.Plan(context.Background(), execTarget); plan.Error == nil || !strings.Contains(*plan.Error, "more than one line") {
		t.Errorf("a stale answer became a plan: %+v", plan)
	}
}

func TestExecRestarts(t *testing.T) {
	p := execTest(t, "crash once", 0)
	mustRegister(t, p, "d", []uint32{1, 2, 3, 4})
	if plan := p.Plan(context.Background(), execTarget); plan.Error == nil {
		t.Fatal("no error from a child that ended")
	}
	mustRegister(t, p, "e", []uint32{5})
	plan := p.Plan(context.Background(), execTarget)
	if plan.Error != nil || len(plan.Spans) != 1 {
		t.Fatalf("after a restart: %+v, error %v", plan, plan.Error)
	}
}

func TestExecGivesUp(t *testing.T) {
	p := execTest(t, "crash", 0)
	mustRegister(t, p, "d", []uint32{1})
	var last string
	for range 4 {
		last = *p.Plan(context.Background(), execTarget).Error
	}
	if !strings.Contains(last, "failed 3 times in a row") {
		t.Errorf("last error = %s", last)
	}
}

func TestExecCanceled(t *testing.T) {
	p := execTest(t, "hang", time.Minute)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if plan := p.Plan(ctx, execTarget); plan.Error == nil {
		t.Error("no error from a canceled plan")
	}
}

func TestExecClose(t *testing.T) {
	p := execTest(t, "good", 0)
	mustRegister(t, p, "d", []uint32{1, 2, 3, 4})
	p.Plan(context.Background(), execTarget)
	process := p.(*execPlanner).child.cmd
	if err := p.Close(); err != nil || process.ProcessState == nil {
		t.Errorf("child still runs after Close, %v", err)
	}
}

func TestSplitWords(t *testing.T) {
	check := func(command string, want ...string) {
		t.Helper()
		got, err := splitWords(command)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("splitWords(%q) = %q, %v; want %q", command, got, err, want)
		}
	}
	check("python3 a.py", "python3", "a.py")
	check("  a\t b\n", "a", "b")
	check(`'a b' "c d" e\ f`, "a b", "c d", "e f")
	check(`a '' ""`, "a", "", "")
	check(`a $(rm) ; | > *`, "a", "$(rm)", ";", "|", ">", "*")
	check(`a"b"'c'`, "abc")
	check(`'a\b' "c\"d"`, `a\b`, `c"d`)
	for _, bad := range []string{"", "  ", `''`, `'a`, `"a`, `a\`} {
		if got, err := splitWords(bad); err == nil {
			t.Errorf("splitWords(%q) = %q, want an error", bad, got)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	check := func(spec string, o Options, want string) {
		t.Helper()
		if _, err := Open(spec, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%q, %+v): %v, want %q", spec, o, err, want)
		}
	}
	check("magic", Options{}, "unknown, use semblend, span or exec:COMMAND")
	check("exec", Options{}, "command is empty")
	check("exec:", Options{}, "command is empty")
	check("span", Options{BlockSize: -1}, "block size -1 is below 1")
	check("span", Options{BlockSize: 16, MinSpan: 15}, "min span 15 is below the block size 16")
	check("semblend", Options{MinReuseRatio: 1.5}, "min reuse ratio 1.5")
	check("semblend", Options{Embedder: "minilm"}, `embedder "minilm" is unknown`)
}

// The shipped adapter agrees with the recorded vectors through the whole path: child, JSON, checks. It
// needs a Python with semblend installed, named by SEMBENCH_SEMBLEND_PYTHON.
func TestSemblendAdapter(t *testing.T) {
	python := os.Getenv("SEMBENCH_SEMBLEND_PYTHON")
	if python == "" {
		t.Skip("SEMBENCH_SEMBLEND_PYTHON is not set")
	}
	if _, err := exec.LookPath(python); err != nil {
		t.Fatal(err)
	}
	_, rows := readVectors(t)
	p := mustOpen(t, "exec:"+python+" ../../adapters/semblend_planner.py", Options{BlockSize: 16})
	compared := 0
	for _, v := range rows {
		if v.size != 16 || v.kind == "real_text" || v.seed >= 10 {
			continue
		}
		donors, target := vectorCase(v.kind, v.size, v.seed, nil)
		if err := p.Reset(); err != nil {
			t.Fatal(err)
		}
		for i, d := range donors {
			mustRegister(t, p, fmt.Sprintf("d%d", i), d)
		}
		plan := p.Plan(context.Background(), Target{Tokens: target})
		c, err := Count(plan, make([]bool, len(target)/16))
		if err != nil || c.Candidate != *v.candidate || c.Eligible != *v.eligible || c.CopiedTokens != *v.copied {
			t.Errorf("%s/%d: %+v, %v; want %d, %d, %d", v.kind, v.seed, c, err, *v.candidate, *v.eligible, *v.copied)
		}
		compared++
	}
	t.Logf("%d plans compared", compared)
}

// Pools of many donors and block sizes that the recorded vectors lack, against the package live.
func TestSemblendLive(t *testing.T) {
	python := os.Getenv("SEMBENCH_SEMBLEND_PYTHON")
	if python == "" {
		t.Skip("SEMBENCH_SEMBLEND_PYTHON is not set")
	}
	equal, total := 0, 0
	for _, size := range []int{8, 16, 32, 48} {
		native := mustOpen(t, "semblend", Options{BlockSize: size})
		oracle := mustOpen(t, "exec:"+python+" ../../adapters/semblend_planner.py", Options{BlockSize: size})
		for seed := range 60 {
			r := vectorRandom(seed*7919 + size)
			vocabulary := []int{40, 400, 30000}[r.below(3)]
			var donors [][]uint32
			for range 1 + r.below(60) {
				donors = append(donors, r.tokens(size/2+r.below(20*size), vocabulary))
			}
			var target []uint32
			for range 1 + r.below(8) {
				d := donors[r.below(len(donors))]
				from := r.below(len(d))
				if r.below(2) == 0 {
					from -= from % size
					target = append(target, r.tokens((size-len(target)%size)%size, vocabulary)...)
				}
				target = append(target, r.edited(head(d[from:], 1+r.below(6*size)), []int{10, 60, 1000000}[r.below(3)], vocabulary)...)
			}
			var counts [2]Counts
			var similar [2]float64
			for i, p := range []Planner{native, oracle} {
				if err := p.Reset(); err != nil {
					t.Fatal(err)
				}
				for k, d := range donors {
					mustRegister(t, p, fmt.Sprintf("d%d", k), d)
				}
				plan := p.Plan(context.Background(), Target{Tokens: target})
				var err error
				if counts[i], err = Count(plan, make([]bool, len(target)/size)); err != nil {
					t.Fatal(err)
				}
				if plan.Similarity != nil { // the package says 0 where it found no donor
					similar[i] = *plan.Similarity
				}
			}
			if math.Abs(similar[0]-similar[1]) > 1e-9 {
				t.Logf("size %d seed %d: similarity %v, package %v", size, seed, similar[0], similar[1])
			}
			total++
			if counts[0].Candidate == counts[1].Candidate && counts[0].Eligible == counts[1].Eligible {
				equal++
			} else {
				t.Logf("size %d seed %d: %d donors, vocabulary %d, target %d: %d candidate %d eligible, package %d %d", size, seed, len(donors), vocabulary, len(target),
					counts[0].Candidate, counts[0].Eligible, counts[1].Candidate, counts[1].Eligible)
			}
		}
	}
	t.Logf("%d of %d equal", equal, total)
	if equal*100 < total*97 {
		t.Error("want 97 %")
	}
}

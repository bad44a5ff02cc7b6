package report

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sembench"
)

// probe runs in the page before anything else and keeps what goes wrong.
const probe = `<script>window.wrong=[];addEventListener('error',e=>wrong.push('error: '+e.message));addEventListener('unhandledrejection',e=>wrong.push('rejected: '+e.reason));
for(const k of ['error','warn']){const f=console[k];console[k]=(...a)=>{wrong.push(k+': '+a.join(' '));f.apply(console,a)}}
addEventListener('securitypolicyviolation',e=>wrong.push('policy: '+e.blockedURI+' '+e.violatedDirective));window.alert=()=>wrong.push('alert called');</script>`

// exercise uses the page as a reader does and leaves what it saw in an element.
const exercise = `<script>(()=>{try{
const saw={openMS:performance.now(),charts:{},wrong:[]};
const ink=()=>{const out={};for(const [id,c] of Object.entries(drawn)){c.getZr().flush();let n=0;for(const cv of document.querySelectorAll('figure[data-chart="'+id+'"] canvas')){const d=cv.getContext('2d').getImageData(0,0,cv.width,cv.height).data;for(let i=3;i<d.length;i+=4)if(d[i]>40)n++}out[id]=n}return out};
const first=id=>{const cv=document.querySelector('figure[data-chart="'+id+'"] canvas');return cv?cv.toDataURL():''};
drawAll();saw.charts=ink();saw.loadMS=performance.now();
saw.expected=data.charts.filter(c=>!c.empty).map(c=>c.id);
saw.legends=[...document.querySelectorAll('.legend')].map(l=>l.children.length);
saw.rows=document.querySelectorAll('#rows tr').length;
const f=document.getElementById('filter');f.value='exact_repeat warm';f.dispatchEvent(new Event('input'));
saw.filtered=[...document.querySelectorAll('#rows tr')].map(r=>r.textContent.slice(0,60));saw.shown=document.getElementById('shown').textContent;
f.value='';f.dispatchEvent(new Event('input'));
document.querySelector('#rows tr').dispatchEvent(new KeyboardEvent('keydown',{key:'Enter'}));
saw.pair=document.getElementById('pair').textContent.slice(0,4000);saw.sides=document.querySelectorAll('#pair pre').length;
const light=getComputedStyle(document.body).backgroundColor,before=first('scatter');
document.getElementById('theme').click();Object.values(drawn).forEach(c=>c.getZr().flush());
saw.themes=[light,getComputedStyle(document.body).backgroundColor];saw.redrawn=first('scatter')!==before;saw.dark=ink();
const d=document.querySelector('abbr.def');d.focus();saw.tip=document.getElementById('tip').textContent;saw.tipShown=!document.getElementById('tip').hidden;
const b=document.querySelector('.legend button');if(b){b.click();saw.pressed=document.querySelector('.legend button').getAttribute('aria-pressed')}
saw.scripts=document.scripts.length;saw.images=document.images.length;saw.overflow=document.documentElement.scrollWidth-innerWidth;
saw.wrong=wrong;const e=document.createElement('pre');e.id='saw';e.textContent=JSON.stringify(saw);document.body.append(e)}catch(x){const e=document.createElement('pre');e.id='saw';e.textContent=JSON.stringify({wrong:[...wrong,'exercise: '+x.stack]});document.body.append(e)}})();</script>`

type sawInPage struct {
	OpenMS, LoadMS    float64
	Charts, Dark      map[string]int
	Expected          []string
	Legends           []int
	Rows              int
	Filtered          []string
	Shown, Pair, Tip  string
	Sides             int
	Themes            []string
	Redrawn, TipShown bool
	Pressed           string
	Scripts, Images   int
	Overflow          int
	Wrong             []string
}

// open runs a page in headless Chromium and returns what exercise saw; the test is skipped where there is no Chromium.
func open(t *testing.T, in Input, width int) (sawInPage, int) {
	t.Helper()
	var browser string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		t.Skip("no chromium on this machine: the page is not opened")
	}
	var page bytes.Buffer
	if err := HTML(&page, in); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(page.String(), "<head>", "<head>"+probe, 1)
	end := strings.LastIndex(text, "</body>") // the charts' own code holds one too
	text = text[:end] + exercise + text[end:]
	dir := t.TempDir()
	path := filepath.Join(dir, "page.html")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
		"--user-data-dir="+filepath.Join(dir, "profile"), fmt.Sprintf("--window-size=%d,1000", width), "--dump-dom", "file://"+path)
	dom, err := c.Output()
	if err != nil {
		t.Fatalf("running %s: %v", browser, err)
	}
	found := regexp.MustCompile(`(?s)<pre id="saw">(.*?)</pre>`).FindSubmatch(dom)
	if found == nil {
		t.Fatal("the page's script did not reach its end")
	}
	var saw sawInPage
	if err := json.Unmarshal([]byte(html.UnescapeString(string(found[1]))), &saw); err != nil {
		t.Fatal(err)
	}
	return saw, page.Len()
}

// The page as a browser sees it: no errors, charts as pixels, filter, keyboard, dark mode, planted scripts dead.
func TestPageInChromium(t *testing.T) {
	planted := `</script><script>alert(1)</script><img src=x onerror=alert(2)><svg onload=alert(3)>"'`
	for name, in := range map[string]Input{"honest": many(40, ""), "hostile": many(40, planted), "without rows": {Result: &sembench.Result{}}} {
		t.Run(name, func(t *testing.T) {
			if name == "without rows" {
				in.Result.Requests = many(1, "").Result.Requests[:1]
			}
			saw, _ := open(t, in, 1280)
			for _, w := range saw.Wrong {
				t.Errorf("the page complains: %s", w)
			}
			if saw.Images != 0 || saw.Scripts != 5 {
				t.Errorf("%d images and %d scripts, want 0 and 5: data, charts, page, and this test's two", saw.Images, saw.Scripts)
			}
			if name == "without rows" {
				return
			}
			if len(saw.Expected) != 7 {
				t.Errorf("charts %v, want all 7", saw.Expected)
			}
			for _, id := range saw.Expected {
				if saw.Charts[id] < 400 || saw.Dark[id] < 400 {
					t.Errorf("chart %s has %d pixels, in the dark %d", id, saw.Charts[id], saw.Dark[id])
				}
			}
			for i, n := range saw.Legends {
				if n == 0 {
					t.Errorf("legend %d is empty", i)
				}
			}
			if saw.Rows != 120 || len(saw.Filtered) != 10 || !strings.HasPrefix(saw.Shown, "10 of 10 fitting") {
				t.Errorf("%d rows, %d after the filter (%s), want 120 and 10", saw.Rows, len(saw.Filtered), saw.Shown)
			}
			if saw.Sides != 3 || !strings.Contains(saw.Pair, "answer of") {
				t.Errorf("the pair shows %d outputs: %s", saw.Sides, saw.Pair)
			}
			if len(saw.Themes) != 2 || saw.Themes[0] == saw.Themes[1] || !saw.Redrawn {
				t.Errorf("the theme does not change the page and its charts: %v, %v", saw.Themes, saw.Redrawn)
			}
			if !saw.TipShown || !strings.Contains(saw.Tip, "blended_ttft_speedup_mean = ") {
				t.Errorf("no definition on focus: %q", saw.Tip)
			}
			if saw.Pressed != "false" {
				t.Errorf("a legend's button says %q after a click", saw.Pressed)
			}
			if saw.Overflow > 0 {
				t.Errorf("the page is %d pixels wider than the window", saw.Overflow)
			}
		})
	}
}

// A narrow screen needs no sideways scrolling.
func TestPageFitsAPhone(t *testing.T) {
	// Headless windows are at least 500 wide.
	if saw, _ := open(t, many(12, ""), 500); saw.Overflow > 0 {
		t.Errorf("the page is %d pixels wider than the window", saw.Overflow)
	}
}

// A run of 10,000 rows makes a page that opens in 2 s and weighs less than 10 MB, whatever its texts hold.
func TestLargePage(t *testing.T) {
	if testing.Short() {
		t.Skip("opens a page of 10,000 rows")
	}
	in := many(3334, strings.Repeat("<b>é</b> ", 80))
	saw, bytes := open(t, in, 1280)
	t.Logf("%d rows: %.1f MB, scripts done after %.0f ms, first drawing after %.0f ms", len(in.Result.Requests), float64(bytes)/1e6, saw.OpenMS, saw.LoadMS)
	if bytes >= 10_000_000 {
		t.Errorf("%d bytes, want less than 10 MB", bytes)
	}
	if limit := 2000 * slower; saw.OpenMS >= limit {
		t.Errorf("open after %.0f ms, want less than %.0f", saw.OpenMS, limit)
	}
	for _, w := range saw.Wrong {
		t.Errorf("the page complains: %s", w)
	}
}

// slower is how much a machine that runs other tests at the same time may take longer.
const slower = 4.0

// many is a result of n items with three arms each, by hand: every fourth is a control.
func many(n int, planted string) Input {
	f := func(x float64) *float64 { return &x }
	ci := func(lo, hi float64) *sembench.CI {
		return &sembench.CI{Point: f((lo + hi) / 2), Lo: &lo, Hi: &hi, Level: .95, N: 10, Method: "t_log"}
	}
	in := small(planted)
	r := in.Result
	r.Requests = nil
	r.ByTransform, r.ByLength = map[string]sembench.Group{}, map[string]sembench.Group{}
	transforms := []string{"exact_repeat", "fuzzy_edit", "rag_reorder", "negative_control"}
	for i := range n {
		transform, control := transforms[i%4], i%4 == 3
		for k, arm := range []string{"cold", "warm", "exact"} {
			ttft := 80 + float64(i%17)
			mechanism := "none"
			if arm == "warm" && !control {
				ttft, mechanism = ttft/2.5, []string{"exact", "external", "external"}[i%4]
			}
			row := sembench.Row{ItemID: fmt.Sprintf("item-%05d", i), Dataset: "d", Transform: transform, PromptTokens: 1000 + i%200, TotalBlocks: 62, Arm: &arm, PairID: new(fmt.Sprintf("item-%05d#0", i)), Order: &k, TTFTMS: &ttft,
				NegativeControl: control, Mechanism: &mechanism, LengthBand: new([]string{"1k", "2k"}[i%2]), BackendConfirmedTokens: new(512), SemanticConfirmedTokens: new(256), Isolation: new("reset_verified"),
				OutputText: new(fmt.Sprintf("answer of %s, %s %s", arm, planted, strings.Repeat("lorem ipsum ", 30)))}
			if arm == "warm" {
				row.TTFTSpeedup, row.WarmVsColdRougeL = f(2.5), f(0.9+float64(i%10)/100)
			}
			r.Requests = append(r.Requests, row)
		}
	}
	for i, transform := range transforms {
		p := &sembench.Paired{PairsTotal: 10, PairsUsed: 10, Valid: true, BlendedTTFTSpeedupMean: f(2 + float64(i)/5), BlendedTTFTSpeedupMeanCI: ci(1.5, 3), WarmVsColdRougeLMean: f(.95), WarmVsColdRougeLMeanCI: ci(.9, .99), ReuseMechanisms: map[string]int{"external": 6, "exact": 4}}
		if transform == "negative_control" {
			p = &sembench.Paired{NegativeControlPairs: 10, NegativeControlTTFTSpeedupMean: f(1.01), NegativeControlTTFTSpeedupMeanCI: ci(.95, 1.07), ReuseMechanisms: map[string]int{"none": 10}}
		}
		r.ByTransform[transform] = sembench.Group{Paired: p}
	}
	r.ByLength["1k"], r.ByLength["2k"] = r.ByTransform["exact_repeat"], r.ByTransform["fuzzy_edit"]
	in.Canaries = []CanaryPass{{0, sembench.Pass}, {30, sembench.Fail}}
	return in
}

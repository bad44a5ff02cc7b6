# Makes the table of bench/bench.sh from the output of go test -bench, bench/memory_test.go and bench/engine.sh. CPU figures are per second of one
# core's work, so that a busy machine does not count; percentiles are over targets, each the shortest of five plans, and beside them what the
# scheduler made of it.
/^Benchmark/ && NF >= 4 {
	name = $1
	sub(/^Benchmark/, "", name)
	sub(/-[0-9]+$/, "", name)
	again = (name, "ns/op") in v
	for (i = 3; i < NF; i += 2) # of several turns the fastest: the others measure the neighbours
		if (!again || ($(i + 1) ~ /\/s$/ ? $i + 0 > v[name, $(i + 1)] + 0 : $i + 0 < v[name, $(i + 1)] + 0)) v[name, $(i + 1)] = $i
	if (!again && name ~ /^Encode\//) { encode[++encodes] = substr(name, 8) }
	if (!again && name ~ /^(AllMeans|HodgesLehmann|RatioOfSums)/) { stats[++statistics] = name }
}
/^memory / { split($4, b, "="); split($5, s, "="); split($3, t, "="); bytes[$2] = b[2]; stated[$2] = s[2]; tokens = t[2] }
/^peer / { sub(/^us=/, "", $4); peer[$2, $3] = $4; if ($2 == "python") kinds[++cases] = $3; if ($4 == "raises") raised[$3] = $5 }
/^stream / { stream[++streams] = $2; for (i = 3; i <= 5; i++) { split($i, pair, "="); v[$2, pair[1]] = pair[2] + 0 } }
/^pool / { sub(/^p50_us=/, "", $3); sub(/^p99_us=/, "", $4); v["Pool/" $2, "p50"] = $3; v["Pool/" $2, "p99"] = $4 }
/ MB\/s, peak / { match($0, / +[0-9]+ MB\/s/); log_name = substr($0, 1, RSTART - 1); sub(/ +$/, "", log_name)
	rest = substr($0, RSTART); split(rest, f, " "); speed[log_name] = f[1]; peak[log_name] = f[4]; gb = f[6] }

function row(what, got, unit, target, peer) { printf "| %-66s | %12s | %-13s | %-14s | %s |\n", what, got, unit, target, peer }
function round(x, digits) { return sprintf("%." digits "f", x) }
# rate prints one figure of a benchmark when it was measured; at least means that the target is a floor.
function figure(what, name, unit, digits, shown, target, least, peer,   x, verdict) {
	if (!((name, unit) in v)) return
	x = v[name, unit] + 0
	verdict = target == "" ? "" : (least ? ">= " : "< ") target (((least && x >= target) || (!least && x < target)) ? " met" : " MISSED")
	row(what, round(x, digits), shown, verdict, peer)
}
function ratio(a, b) { return b > 0 ? sprintf("%.1fx", a / b) : "" }

END {
	row("work", "measured", "unit", "target", "beside")
	row("---", "---:", "---", "---", "---")
	sha = v["Index/sha256_alone", "cpu-Mtokens/s"]
	figure("exact index, 5 M blocks: lookup, hits", "Index/lookup/hit", "cpu-Mtokens/s", 0, "M tokens/s", 150, 1, ratio(v["Index/lookup/hit", "cpu-Mtokens/s"], sha) " of sha256 alone")
	figure("exact index, 5 M blocks: lookup, misses", "Index/lookup/miss", "cpu-Mtokens/s", 0, "M tokens/s", 150, 1, ratio(v["Index/lookup/miss", "cpu-Mtokens/s"], sha) " of sha256 alone")
	figure("exact index, 5 M blocks: insert", "Index/insert", "cpu-Mtokens/s", 0, "M tokens/s", 60, 1, "")
	figure("  XXH3 of a block alone", "Index/xxh3_alone", "cpu-Mtokens/s", 0, "M tokens/s", "", 1, "the floor")
	figure("  SHA-256 of a block alone", "Index/sha256_alone", "cpu-Mtokens/s", 0, "M tokens/s", "", 1, "")
	figure("span, 8k target, 10k donors x 8k, novel text: p50", "Pool/novel", "p50", 0, "us", 250, 0, "with the neighbours " round(v["SpanPool/novel", "p50-us"], 0) " us")
	figure("span, 8k target, 10k donors x 8k, novel text: p99", "Pool/novel", "p99", 0, "us", 1000, 0, "with the neighbours " round(v["SpanPool/novel", "p99-us"], 0) " us")
	figure("span, 8k target, 10k donors x 8k, half a donor's: p50", "Pool/half", "p50", 0, "us", 250, 0, "with the neighbours " round(v["SpanPool/half", "p50-us"], 0) " us")
	figure("span, 8k target, 10k donors x 8k, half a donor's: p99", "Pool/half", "p99", 0, "us", 1000, 0, "with the neighbours " round(v["SpanPool/half", "p99-us"], 0) " us")
	figure("span, item pool, 4k target: plan", "ItemPool/span/plan", "cpu-us/op", 0, "us CPU", 100, 0, "")
	figure("semblend, item pool, 4k target: plan", "ItemPool/semblend/plan", "cpu-us/op", 0, "us CPU", 1000, 0, "")
	for (i = 1; i <= cases; i++) {
		kind = kinds[i]
		if (kind in raised) { row("Python semblend 0.3.25, 4k target, " kind, "raises", "", "", raised[kind]); continue }
		python = peer["python", kind]
		row("Python semblend 0.3.25, 4k target, " kind, round(python, 0), "us", "", "the same ids, no process between")
		row("  semblend here", round(peer["semblend", kind], 0), "us", "", ratio(python, peer["semblend", kind]) " as fast")
		row("  span here", round(peer["span", kind], 0), "us", "", ratio(python, peer["span", kind]) " as fast")
	}
	for (i = 1; i <= streams; i++) {
		m = stream[i]
		row("stream, " m " tokens: span on one core, exact and prefix on another", round(v[m, "both"], 1), "M tokens/s", ">= 40 " (v[m, "both"] >= 40 ? "met" : "MISSED"), "span " v[m, "span"] ", exact and prefix " v[m, "exact"])
	}
	if (streams > 1) {
		x = v[stream[1], "both"] / v[stream[streams], "both"]
		row("  cost of a token at " stream[streams] " over one at " stream[1], round(x, 2), "ratio", "<= 1.5 " (x <= 1.5 ? "met" : "MISSED"), "")
	}
	figure("allocations of a span plan, item pool", "ItemPool/span/plan", "allocs/op", 0, "a plan", "", 0, "of 4,096 tokens")
	figure("allocations of a semblend plan, item pool", "ItemPool/semblend/plan", "allocs/op", 0, "a plan", "", 0, "of 4,096 tokens")
	millions = round(tokens / 1e6, 0) " M tokens"
	if ("span_held" in bytes) {
		row("span index over " millions ", held", round(bytes["span_held"] / 1e6, 0), "MB", "<= " round(stated["span_held"] / 1e6, 0) " met", round(bytes["span_held"] / tokens, 2) " bytes a token; " round(stated["span_plain"] / 1e6, 0) " MB at 16 a window and 4 a token")
		row("span index over " millions ", highest", round(bytes["span_highest"] / 1e6, 0), "MB", "<= " round(stated["span_highest"] / 1e6, 0) " met", "")
		row("exact and prefix pool over " millions, round(bytes["exact_pool"] / 1e6, 0), "MB", "<= " round(stated["exact_pool"] / 1e6, 0) " met", round(bytes["exact_pool"] / tokens * 16, 1) " bytes a block")
	}
	slow = v["EncodeExpression", "MB/s"]
	for (i = 1; i <= encodes; i++)
		figure("tokenizer " encode[i] ", English, one core", "Encode/" encode[i], "MB/s", 1, "MB/s", 8, 1, slow ? ratio(v["Encode/" encode[i], "MB/s"], slow) " of o200k by expression" : "")
	grep = speed["grep -c"]
	for (name in speed) if (name ~ /^summarize/) {
		row("summarize-engine-events, vLLM log, 1 % of interest", speed[name], "MB/s", ">= 500 " (speed[name] + 0 >= 500 ? "met" : "MISSED"), ratio(speed[name], grep) " of grep -c (" grep " MB/s)")
		row("  its memory over " gb " GB of log", peak[name], "MB", "< 100 " (peak[name] + 0 < 100 ? "met" : "MISSED"), "")
	}
	for (i = 1; i <= statistics; i++)
		row("statistics " stats[i], round(v[stats[i], "ns/op"] / 1e6, 2), "ms", "", "")
}

package sim

// decision is what the engine really reuses for one request. All fields but found are tokens of its prompt that need
// no computing; each is a multiple of the block size.
type decision struct {
	prompt  int
	prefix  int // local prefix cache
	offload int // second exact tier
	// semantic is what was materialized from donors, pieces where it goes. found is what the lookup proposed.
	semantic int
	found    int
	pieces   []piece
	donor    *donor // the one that gave most, the first of equals

	// lookedUp tells that the lookup ran; skipped is why it did not, in the connector's words. failed is its error.
	lookedUp bool
	skipped  string
	failed   error
	layers   int // layers written by materialization
}

func (d *decision) computed() int { return d.prompt - d.prefix - d.offload - d.semantic }

// reusable is how many tokens of a prompt may come from a cache: full blocks, and never the last token, whose
// logits have to be computed.
func reusable(prompt, block int) int { return max(0, prompt-1) / block * block }

// decide looks a request up in the tiers, in the order local, offload, semantic. It changes none of them.
func (e *Engine) decide(j *job) decision {
	block := e.cfg.BlockSize
	limit := reusable(len(j.ids), block)
	hashes := j.hashes[:limit/block]
	d := decision{prompt: len(j.ids)}
	local := e.prefix.prefix(hashes)
	d.prefix = local * block
	d.offload = e.offload.prefix(hashes[local:]) * block
	if e.donors == nil {
		return d
	}
	from := d.prefix + d.offload
	switch least := e.cfg.MinSemanticTokens; {
	case d.prompt < least:
		d.skipped = "short_prompt"
		return d
	case limit-from < least:
		d.skipped = "remaining_below_min_span"
		return d
	}
	d.lookedUp = true
	d.propose(e.donors.find(j.ids, j.text, from, limit, block))
	if d.found < e.cfg.MinSemanticTokens {
		d.forget()
		return d
	}
	d.semantic, d.layers = d.found, e.cfg.Layers
	return d
}

// propose sets what a lookup found.
func (d *decision) propose(pieces []piece, err error) {
	d.pieces, d.failed, d.found, d.donor = pieces, err, 0, nil
	gave, most := map[*donor]int{}, 0
	for _, p := range pieces {
		d.found += p.length
		gave[p.donor] += p.length
	}
	for _, p := range pieces {
		if gave[p.donor] > most {
			d.donor, most = p.donor, gave[p.donor]
		}
	}
}

// forget takes back everything semantic.
func (d *decision) forget() {
	d.semantic, d.found, d.pieces, d.donor, d.layers = 0, 0, nil, nil, 0
}

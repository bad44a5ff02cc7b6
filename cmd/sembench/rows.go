package main

import (
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"sembench"
)

// inlineRows is how many rows a result document holds itself; more stand in a file beside it.
const inlineRows = 5000

func withoutExt(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) }

// rowWriter writes offline rows one after another.
type rowWriter interface {
	write(row *sembench.Row) error
	close() error
}

func newRowWriter(w io.Writer, format string) rowWriter {
	if format == "parquet" {
		return &parquetRows{w: parquet.NewGenericWriter[rowColumns](w, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(rowGroup))}
	}
	return lineRows{w}
}

// lineRows is one JSON object a line: rows as a document holds them.
type lineRows struct{ w io.Writer }

func (l lineRows) write(row *sembench.Row) error {
	_, err := l.w.Write(append(sembench.Marshal(*row), '\n'))
	return err
}

func (l lineRows) close() error { return nil }

// rowGroup bounds what a Parquet writer holds in memory: some 20 MB.
const rowGroup = 50_000

// rowColumns is a row's offline columns, under the names of the document; planners are a list of structs with their name. Null is null.
type rowColumns struct {
	ItemID                  string          `parquet:"item_id"`
	Dataset                 string          `parquet:"dataset,dict"`
	Transform               string          `parquet:"transform,dict"`
	NegativeControl         bool            `parquet:"negative_control"`
	ControlKind             *string         `parquet:"control_kind,optional,dict"`
	LengthBand              *string         `parquet:"length_band,optional,dict"`
	DonorCount              int64           `parquet:"donor_count"`
	DonorIDs                []string        `parquet:"donor_ids,list"`
	PromptTokens            int64           `parquet:"prompt_tokens"`
	PromptTokensSource      *string         `parquet:"prompt_tokens_source,optional,dict"`
	TotalBlocks             int64           `parquet:"total_blocks"`
	LocalPromptTokens       *int64          `parquet:"local_prompt_tokens,optional"`
	LocalTotalBlocks        *int64          `parquet:"local_total_blocks,optional"`
	ExactHitBlocks          int64           `parquet:"exact_hit_blocks"`
	ExactHitTokens          int64           `parquet:"exact_hit_tokens"`
	ExactPrefixHitBlocks    *int64          `parquet:"exact_prefix_hit_blocks,optional"`
	SemanticCandidateBlocks *int64          `parquet:"semantic_candidate_blocks,optional"`
	SemanticCandidateTokens *int64          `parquet:"semantic_candidate_tokens,optional"`
	SemanticEligibleBlocks  *int64          `parquet:"semantic_eligible_blocks,optional"`
	SemanticEligibleTokens  *int64          `parquet:"semantic_eligible_tokens,optional"`
	SemanticNovelBlocks     *int64          `parquet:"semantic_novel_blocks,optional"`
	SemblendFound           *bool           `parquet:"semblend_found,optional"`
	SemblendSimilarity      *float64        `parquet:"semblend_similarity,optional"`
	SemblendReuseRatio      *float64        `parquet:"semblend_reuse_ratio,optional"`
	SemblendLatencyMS       *float64        `parquet:"semblend_latency_ms,optional"`
	RejectionReason         *string         `parquet:"rejection_reason,optional,dict"`
	Planners                []plannerColumn `parquet:"planners,list"`
}

type plannerColumn struct {
	Name            string   `parquet:"name,dict"`
	CandidateBlocks *int64   `parquet:"candidate_blocks,optional"`
	EligibleBlocks  *int64   `parquet:"eligible_blocks,optional"`
	NovelBlocks     *int64   `parquet:"novel_blocks,optional"`
	CopiedTokens    *int64   `parquet:"copied_tokens,optional"`
	IdenticalTokens *int64   `parquet:"identical_contiguous_tokens,optional"`
	ScatteredTokens *int64   `parquet:"identical_scattered_tokens,optional"`
	ApproxTokens    *int64   `parquet:"approximate_tokens,optional"`
	Found           *bool    `parquet:"found,optional"`
	Similarity      *float64 `parquet:"similarity,optional"`
	ReuseRatio      *float64 `parquet:"reuse_ratio,optional"`
	LatencyMS       *float64 `parquet:"latency_ms,optional"`
	RejectionReason *string  `parquet:"rejection_reason,optional,dict"`
	DonorIDs        []string `parquet:"donor_ids,list"`
	IndexCapped     bool     `parquet:"index_capped"`
	Error           *string  `parquet:"error,optional"`
}

type parquetRows struct {
	w *parquet.GenericWriter[rowColumns]
}

func (p *parquetRows) write(row *sembench.Row) error {
	_, err := p.w.Write([]rowColumns{columns(row)})
	return err
}

func (p *parquetRows) close() error { return p.w.Close() }

func columns(row *sembench.Row) rowColumns {
	out := rowColumns{
		ItemID: row.ItemID, Dataset: row.Dataset, Transform: row.Transform, NegativeControl: row.NegativeControl, ControlKind: row.ControlKind,
		LengthBand: row.LengthBand, DonorCount: int64(row.DonorCount), DonorIDs: row.DonorIDs, PromptTokens: int64(row.PromptTokens),
		PromptTokensSource: row.PromptTokensSource, TotalBlocks: int64(row.TotalBlocks), LocalPromptTokens: long(row.LocalPromptTokens),
		LocalTotalBlocks: long(row.LocalTotalBlocks), ExactHitBlocks: int64(row.ExactHitBlocks), ExactHitTokens: int64(row.ExactHitTokens),
		ExactPrefixHitBlocks: long(row.ExactPrefixHitBlocks), SemanticCandidateBlocks: long(row.SemanticCandidateBlocks),
		SemanticCandidateTokens: long(row.SemanticCandidateTokens), SemanticEligibleBlocks: long(row.SemanticEligibleBlocks),
		SemanticEligibleTokens: long(row.SemanticEligibleTokens), SemanticNovelBlocks: long(row.SemanticNovelBlocks), SemblendFound: row.SemblendFound,
		SemblendSimilarity: row.SemblendSimilarity, SemblendReuseRatio: row.SemblendReuseRatio, SemblendLatencyMS: row.SemblendLatencyMS,
		RejectionReason: row.RejectionReason,
	}
	for _, name := range slices.Sorted(maps.Keys(row.Planners)) {
		c := row.Planners[name]
		out.Planners = append(out.Planners, plannerColumn{
			Name: name, CandidateBlocks: long(c.CandidateBlocks), EligibleBlocks: long(c.EligibleBlocks), NovelBlocks: long(c.NovelBlocks),
			CopiedTokens: long(c.CopiedTokens), IdenticalTokens: long(c.IdenticalTokens), ScatteredTokens: long(c.ScatteredTokens),
			ApproxTokens: long(c.ApproxTokens), Found: c.Found, Similarity: c.Similarity, ReuseRatio: c.ReuseRatio, LatencyMS: c.LatencyMS,
			RejectionReason: c.RejectionReason, DonorIDs: c.DonorIDs, IndexCapped: c.IndexCapped, Error: c.Error,
		})
	}
	return out
}

func long(n *int) *int64 {
	if n == nil {
		return nil
	}
	return new(int64(*n))
}

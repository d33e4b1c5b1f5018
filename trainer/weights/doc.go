// Package weights moves trained weights between this program and others: it writes a checkpoint as one safetensors file with the names of Hugging
// Face's LLaMA, and reads such a file, or another checkpoint, for a run to start from.
//
// Rotary embeddings are of one kind on both sides: the two halves of a head rotate against each other, so that rows of q and k stay in
// their order. Meta's own checkpoints interleave the halves; they have to be converted first.
//
// Start reading at Open and Source, then Export.
package weights

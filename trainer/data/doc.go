// Package data turns what a user calls their data into the token ids of each step.
//
// A Source is a long sequence of tokens: the bytes of a text file or of every file of a folder (ids
// 0-255, whatever the vocabulary), or the tokens of `.bin` files as nanoGPT and llm.c write
// them, or of numpy's arrays. A source is an index of files that are mapped into memory: samples are read where they lie.
// Data is one or more sources with weights, and a Stream what of them is trained on or held out.
// Batches says which samples a step sees; that depends on the seed and the step alone, so every
// parallel layout trains on the same ones.
//
// Start reading at OpenParts, Stream and Batches; format.go, bin.go and layout.go are the file formats, open.go and folder.go how files are found.
package data

// Package data turns what a user calls their data into the token ids of each step.
//
// A Source is a long sequence of tokens: the bytes of a text file or of every file of a folder (ids
// 0-255, whatever the vocabulary), or the uint16 tokens of `.bin` files as nanoGPT and llm.c write
// them. Nothing is held in memory: a source is an index of files, and samples are read where they lie.
// Batches says which samples a step sees; that depends on the seed and the step alone, so every
// parallel layout trains on the same ones.
//
// Start reading at Open and Batches; bin.go is the file format, folder.go how folders are walked.
package data

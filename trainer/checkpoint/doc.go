// Package checkpoint is how the state of a training run lies on a disk, so that it can be continued, also by another
// number of ranks.
//
// A checkpoint is a folder, step-N, of safetensors files, one for each rank that had something to write, and a
// manifest.json that says what is in them: the tensors of the whole model and of its optimizer by name and shape, and for each
// where its slices lie. A slice is a rectangle of a matrix, or a stretch of one, or picked elements of a vector (Part). Nothing in it
// depends on how ranks were laid out, so that a reader asks for the part that it wants and gets it from whatever slices hold it.
//
// A checkpoint is whole or absent. Ranks write into a hidden folder beside it, everything is on the disk before the folder gets
// its name, and every slice has a checksum that its reader verifies.
//
// The package knows neither devices nor models: what it writes and reads is bytes with names. Start reading at Part, then
// Manifest, Writer and Checkpoint.
package checkpoint

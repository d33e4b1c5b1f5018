package experiment

import (
	"fmt"
	"strconv"
)

// EndOfDocument is the token that ends a document inside a file; false: a file is one document.
func (e Experiment) EndOfDocument() (id int32, there bool) {
	n, err := strconv.ParseInt(e.Train.DocumentToken, 10, 32)
	return int32(n), err == nil && n >= 0
}

// documentToken checks the token that ends documents.
func (c *checker) documentToken() {
	text := c.e.Train.DocumentToken
	if text == "" {
		return
	}
	id, there := c.e.EndOfDocument()
	switch {
	case !there:
		c.add("document-token", "the id of a token, or none", "is no id of a token", none)
	case int64(id) >= int64(c.e.Model.Vocab):
		c.add("document-token", "the model knows the token", fmt.Sprintf("is outside the vocabulary of %d", c.e.Model.Vocab), none)
	case c.e.Train.Documents != Separated:
		c.add("document-token", "documents are separated", "ends documents, and they are joined: set documents separated", none)
	}
}

package terminal

import "encoding/base64"

// clipboardLimit is what common terminals accept.
const clipboardLimit = 74 << 10

func encode(text string) string {
	if len(text) > clipboardLimit {
		text = text[:clipboardLimit]
	}
	return base64.StdEncoding.EncodeToString([]byte(text))
}

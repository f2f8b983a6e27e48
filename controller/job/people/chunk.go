package people

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/log"
)

// logPrefix begins the names of chunks in the store, before stream and number.
const logPrefix = "log-"

// chunk is a stored chunk of stdout or stderr.
type chunk struct {
	blob.Info

	stream string
	number int64
}

// parse reads the name of a chunk.
func parse(name string) (stream string, number int64, ok bool) {
	text, is := strings.CutPrefix(name, logPrefix)
	at := strings.LastIndex(text, "-")
	if !is || at < 0 {
		return "", 0, false
	}
	stream, number, err := log.ParseKey(text[:at] + "/" + text[at+1:])
	return stream, number, err == nil
}

// split returns the head of a stored chunk, and leaves its content to be read.
func split(key blob.Key, in *bufio.Reader) (head serve.Head, content io.Reader, err error) {
	line, err := in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &head)
	}
	if err != nil {
		return head, nil, fmt.Errorf("cannot read chunk %s: %w", key, err)
	}
	return head, in, nil
}

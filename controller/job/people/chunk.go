package people

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/log"
)

// chunk is a stored chunk of stdout or stderr.
type chunk struct {
	blob.Info

	stream string
	number int64
}

// split returns the head of a stored chunk, and leaves its content to be read.
func split(key blob.Key, in *bufio.Reader) (head log.Head, content io.Reader, err error) {
	line, err := in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &head)
	}
	if err != nil {
		return head, nil, fmt.Errorf("cannot read chunk %s: %w", key, err)
	}
	return head, in, nil
}

package contract_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// The first entry of a uid counts, for every C library.
func TestUsers(t *testing.T) {
	const image = "root:x:0:0:root:/root:/bin/bash\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n"
	const own = "orcon:x:65532:65532::/home/orcon:/bin/sh\n"
	assert.Equal(t, own, contract.Passwd(""), "an image of one program")
	assert.Equal(t, own+image, contract.Passwd(image), "its own home cannot be written")
	assert.Equal(t, "orcon:x:65532:\n", contract.Group(""))
	assert.Equal(t, "orcon:x:65532:\nroot:x:0:\n", contract.Group("root:x:0:\n"))
}

// FuzzUsers takes any files of an image: they stay whole, behind the entry of the user.
func FuzzUsers(f *testing.F) {
	f.Add("root:x:0:0:root:/root:/bin/sh")
	f.Add("\n\x00:65532:")
	f.Fuzz(func(t *testing.T, image string) {
		for _, file := range []string{contract.Passwd(image), contract.Group(image)} {
			first, rest, _ := strings.Cut(file, "\n")
			assert.Equal(t, "65532", strings.Split(first, ":")[2])
			assert.Equal(t, image, rest)
		}
	})
}

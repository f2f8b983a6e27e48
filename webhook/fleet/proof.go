package fleet

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"strings"
)

// proves reports whether a request comes from a party that knows the token: GitHub signs the body with it, GitLab and
// others send it. An empty token is never proven. The time that it takes depends on no byte of the token.
func proves(header http.Header, body []byte, token string) bool {
	signature := hmac.New(sha256.New, []byte(token))
	signature.Write(body)
	signed, err := hex.DecodeString(strings.TrimPrefix(header.Get("X-Hub-Signature-256"), "sha256="))
	proven := err == nil && hmac.Equal(signed, signature.Sum(nil))
	bearer, isBearer := strings.CutPrefix(header.Get("Authorization"), "Bearer ")
	proven = equal(header.Get("X-Gitlab-Token"), token) || proven
	proven = equal(bearer, token) && isBearer || proven
	return proven && token != ""
}

// equal compares texts in a time that does not depend on where they differ, or on their lengths.
func equal(a, b string) bool {
	sumA, sumB := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(sumA[:], sumB[:]) == 1
}

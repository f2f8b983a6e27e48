package bindings

import (
	"crypto/rand"
	"strings"
	"time"
)

// versionName returns a name for a version's directory in the kubelet's form.
func versionName() string {
	return time.Now().UTC().Format("..2006_01_02_15_04_05.") + unique()
}

// unique returns text that no other call returns.
func unique() string { return strings.ToLower(rand.Text()[:10]) }

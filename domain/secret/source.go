package secret

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// KeyGrantTo is the annotation by which a user's Secret consents to be granted: a list of endpoints, each endpoint or
// application:endpoint (SAFETY.md S1).
const KeyGrantTo = "tengu.io/grant-to"

// Sight is the part of a Secret that the controller may see.
type Sight string

// The sights.
const (
	// Open is a Secret that is there and may be read.
	Open Sight = "open"
	// Closed is one that may not be read, so that its existence is unknown.
	Closed Sight = "closed"
	// Missing is one that is not there.
	Missing Sight = "missing"
	// Unreadable is one that the API server could not read: it is as it was.
	Unreadable Sight = "unreadable"
)

// Source is a user's Secret that an application would grant, as far as the decision needs it: its content is never
// here.
type Source struct {
	Namespace, Name string
	Sight           Sight
	// Type is the Secret's own, GrantTo its annotation.
	Type, GrantTo string
	// Version differs whenever the Secret does.
	Version string
}

// The reasons for which a Secret is not granted.
const (
	ReasonNoPermission = "MayNotRead"
	ReasonNoSecret     = "NoSecret"
	ReasonNever        = "NeverGranted"
	ReasonNoConsent    = "NoConsent"
	ReasonUnreadable   = "Unreadable"
)

// Refusal returns why an endpoint of an application does not grant the Secret, and the command by which a permitted
// user consents; "" if it does (SAFETY.md S1). account is the controller's ServiceAccount, as namespace:name.
func (s Source) Refusal(application, endpoint, account string) (reason, message string) {
	switch {
	case s.Sight == Closed:
		return ReasonNoPermission, fmt.Sprintf("Orcon may not read Secrets of this namespace: kubectl create rolebinding "+
			"orcon-granted-secrets --clusterrole=orcon-granted-secrets --serviceaccount=%s -n %s", account, s.Namespace)
	case s.Sight == Unreadable:
		return ReasonUnreadable, fmt.Sprintf("the API server cannot read Secret %s (it is read again within half a minute): "+
			"kubectl -n %s get secret %s shows why", s.Name, s.Namespace, s.Name)
	case s.Sight == Missing:
		return ReasonNoSecret, fmt.Sprintf("Secret %s does not exist in this namespace: create it", s.Name)
	case own(s.Name):
		return ReasonNever, fmt.Sprintf("Secret %s is Orcon's own: name another", s.Name)
	case never(s.Type):
		return ReasonNever, fmt.Sprintf("Secret %s is of type %s, which is never granted: put what others need into one of type Opaque", s.Name, s.Type)
	case !Consents(s.GrantTo, application, endpoint):
		return ReasonNoConsent, fmt.Sprintf("Secret %s does not consent (it is read again within half a minute): "+
			"kubectl annotate secret %s -n %s --overwrite %s=%s", s.Name, s.Name, s.Namespace, KeyGrantTo,
			strings.Join(append(consented(s.GrantTo), endpoint), ","))
	default:
		return "", ""
	}
}

// Consents reports whether the value of a Secret's annotation names an endpoint of an application: endpoint, or
// application:endpoint to be exact. An invalid name matches nothing.
func Consents(grantTo, application, endpoint string) bool {
	for entry := range strings.SplitSeq(grantTo, ",") {
		entry = strings.TrimSpace(entry)
		if endpoint != "" && (entry == endpoint || entry == application+":"+endpoint) {
			return true
		}
	}
	return false
}

// consented lists what a Secret consents to already, as far as it may stand in a
// command.
func consented(grantTo string) []string {
	var all []string
	for entry := range strings.SplitSeq(grantTo, ",") {
		entry = strings.TrimSpace(entry)
		if entry != "" && strings.Trim(entry, "abcdefghijklmnopqrstuvwxyz0123456789:_-") == "" {
			all = append(all, entry)
		}
	}
	return all
}

// never reports whether Secrets of a type are for the cluster itself: tokens of accounts and nodes, credentials for
// images, and releases with their contents. Of Kubernetes' own types only those for applications may be granted.
func never(kind string) bool {
	group, _, _ := strings.Cut(kind, "/")
	switch {
	case slices.Contains([]string{"kubernetes.io/basic-auth", "kubernetes.io/ssh-auth", "kubernetes.io/tls"}, kind):
		return false
	case group == "kubernetes.io" || strings.HasSuffix(group, ".kubernetes.io") || strings.HasSuffix(group, ".k8s.io"):
		return true
	default:
		return group == "helm.sh" || group == "helm" // what Helm 2 called it
	}
}

// own reports whether a Secret of that name is one of Orcon's.
func own(name string) bool {
	return name == "orcon-ca" || name == "orcon-webhook-tls" || strings.HasPrefix(name, "orcon-secrets-")
}

// GrantedID returns the ID under which an endpoint grants a Secret: the same whatever
// Secret that is, so that another is a new revision, and the ID tells nothing of it.
func GrantedID(namespace, application, endpoint string) string {
	const length = 20
	sum := sha256.New()
	for _, part := range []string{namespace, application, endpoint} {
		_, _ = sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		_, _ = sum.Write([]byte(part))
	}
	text := new(big.Int).SetBytes(sum.Sum(nil)).Text(36)
	return text[len(text)-length:]
}

// Reference is how a bag names a secret (RELATIONS.md P5).
func Reference(id string) string { return "secret:" + id }

package revocation

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// Where the authority and the bundle are: Secret, in Orcon's namespace, has the authority, which signs with tls.key; and
// ConfigMap Bundle, in each namespace with agents, the certificates that they trust.
const (
	Secret    = "orcon-ca"
	Bundle    = "orcon-trust"
	BundleKey = "ca.crt"
)

// The keys of the Secret with the certificates of other authorities than the one that signs, which is in tls.crt.
const (
	Next = "ca.next.crt"
	Old  = "ca.old.crt"
)

// parse returns the certificates of a PEM text; none if it cannot be read.
func parse(text []byte) []*x509.Certificate {
	all, err := certutil.ParseCertsPEM(text)
	if err != nil {
		return nil
	}
	return all
}

// Work revokes the authority of one Orcon.
type Work struct {
	Client kubernetes.Interface
	// Namespace is Orcon's.
	Namespace string
}

// New returns the work for the Orcon of a cluster. It fails with ErrNotInstalled.
func New(ctx context.Context, config *rest.Config) (r Work, err error) {
	if r.Client, err = kubernetes.NewForConfig(config); err != nil {
		return r, fmt.Errorf("cannot reach the cluster: %w", err)
	}
	controllers, err := r.Client.AppsV1().Deployments("").List(ctx, metav1.ListOptions{
		LabelSelector: "app.kubernetes.io/part-of=orcon,app.kubernetes.io/name=relations-controller",
	})
	switch {
	case err != nil:
		return r, fmt.Errorf("cannot find Deployment relations-controller: %w", err)
	case len(controllers.Items) == 0:
		return r, ErrNotInstalled
	}
	r.Namespace = controllers.Items[0].Namespace
	return r, nil
}

// ErrNotInstalled reports that a cluster has no Orcon.
var ErrNotInstalled = errors.New("no Deployment relations-controller: Orcon is not installed in this cluster: orcon check shows what is")

// Agents is a namespace in which agents read the bundle.
type Agents struct {
	Namespace string
	// Pods is how many pods there have an agent.
	Pods int
	// Published reports whether the namespace has the ConfigMap of the bundle. Without it, agents trust what their pod was
	// admitted with until the pod is restarted.
	Published bool
}

// Affected returns the namespaces with agents, by name.
func (r Work) Affected(ctx context.Context) (all []Agents, err error) {
	pods, err := r.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{LabelSelector: application.KeyInjected})
	if err != nil {
		return nil, fmt.Errorf("cannot list pods with agents: %w", err)
	}
	count := map[string]int{}
	for _, p := range pods.Items {
		count[p.Namespace]++
	}
	maps, err := r.maps(ctx)
	if err != nil {
		return nil, err
	}
	for namespace, n := range count {
		all = append(all, Agents{namespace, n, maps[namespace] != nil})
	}
	slices.SortFunc(all, func(a, b Agents) int { return strings.Compare(a.Namespace, b.Namespace) })
	return all, nil
}

// maps returns the ConfigMaps of the bundle, by namespace.
func (r Work) maps(ctx context.Context) (map[string]*corev1.ConfigMap, error) {
	list, err := r.Client.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + Bundle})
	if err != nil {
		return nil, fmt.Errorf("cannot list ConfigMaps %s: %w", Bundle, err)
	}
	all := map[string]*corev1.ConfigMap{}
	for i := range list.Items {
		all[list.Items[i].Namespace] = &list.Items[i]
	}
	return all, nil
}

// Own returns the Secret of the authority. It fails if Orcon has none of its own.
func (r Work) Own(ctx context.Context) (*corev1.Secret, error) {
	where := "Secret " + r.Namespace + "/" + Secret
	secret, err := r.Client.CoreV1().Secrets(r.Namespace).Get(ctx, Secret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("cannot revoke the authority: %s does not exist: with cert-manager, Orcon has no authority of its own: "+
			"replace the authority and reissue both certificates with cert-manager, as docs/explanation/certificates.md shows", where)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", where, err)
	}
	return secret, nil
}

// Revoke revokes all authorities of the Secret. It fails if the authority is not Orcon's own, or has changed meanwhile.
func (r Work) Revoke(ctx context.Context) error {
	where := "Secret " + r.Namespace + "/" + Secret
	secret, err := r.Own(ctx)
	if err != nil {
		return err
	}
	gone := In(secret)
	for _, key := range []string{corev1.TLSCertKey, Next, Old} {
		for _, c := range parse(secret.Data[key]) {
			gone = append(gone, Fingerprint(c))
		}
	}
	slices.Sort(gone)
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, Annotation, strings.Join(slices.Compact(gone), ","))
	_, err = r.Client.CoreV1().Secrets(r.Namespace).Update(ctx, secret, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) {
		return fmt.Errorf("cannot write %s: it was renewed meanwhile: run the command again", where)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", where, err)
	}
	return nil
}

// Left returns what still trusts a revoked authority: ConfigMaps, and the Secret while no other authority is made.
func (r Work) Left(ctx context.Context) (left []string, err error) {
	secret, err := r.Client.CoreV1().Secrets(r.Namespace).Get(ctx, Secret, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot read Secret %s/%s: %w", r.Namespace, Secret, err)
	}
	if signers := parse(secret.Data[corev1.TLSCertKey]); len(In(secret).Without(signers)) == 0 {
		return []string{"Secret " + r.Namespace + "/" + Secret + " has no other authority yet"}, nil
	}
	maps, err := r.maps(ctx)
	if err != nil {
		return nil, err
	}
	for namespace, m := range maps {
		if slices.ContainsFunc(parse([]byte(m.Data[BundleKey])), In(secret).Has) {
			left = append(left, "ConfigMap "+namespace+"/"+Bundle)
		}
	}
	slices.Sort(left)
	return left, nil
}

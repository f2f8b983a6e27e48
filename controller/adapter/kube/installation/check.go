package installation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// Result is the outcome of a check.
type Result string

// The results. A check is skipped if the user may not read what it needs, or if there is nothing to try it on.
const (
	OK      Result = "ok"
	Failed  Result = "FAIL"
	Skipped Result = "SKIP"
)

// Finding is the result of one check.
type Finding struct {
	// Check names it: "Kubernetes 1.35 or newer", "Deployment orcon-system/relations-controller".
	Check string `json:"check"`
	// Result is ok, FAIL or SKIP.
	Result Result `json:"result"`
	// Message explains the failure and its cure, why the check was skipped, or what would fail; else empty.
	Message string `json:"message,omitempty"`
}

// notInstalled is the cure where nothing of Orcon is there.
const notInstalled = "not installed: orcon install builtin:selfsigned --name orcon -n default, " +
	"or builtin:certmanager where cert-manager is used"

// partOfOrcon is the label of all that is installed of Orcon.
var partOfOrcon = client.MatchingLabels{"app.kubernetes.io/part-of": "orcon"} //nolint:gochecknoglobals // a constant

// checker looks at one cluster.
type checker struct {
	reader client.Reader
	set    kubernetes.Interface
	// namespace is the one to look at; empty for the whole cluster.
	namespace string
	// command returns the command by which a namespace lets the bundle controller act as its accounts.
	command  func(namespace, controller string) string
	findings []Finding
	// half is the cure where the webhook runs, and other objects of the installation are gone; empty where it does not run.
	half string
}

// Check returns whether Orcon can serve a cluster, and whether what is installed of it works
// (SAFETY.md D13); with a namespace, whether that one is served. policies are the NetworkPolicies that
// ship with Orcon; command returns the command by which a namespace lets the bundle controller act as its accounts. It
// writes nothing. The error says why the cluster cannot be looked at.
func Check(
	ctx context.Context, cfg *rest.Config, namespace, policies string, command func(namespace, controller string) string,
) ([]Finding, error) {
	shipped, err := ParsePolicies(policies)
	if err != nil {
		return nil, err
	}
	quiet := rest.CopyConfig(cfg)
	quiet.WarningHandler = rest.NoWarnings{} // of the probe's pod
	set, err := kubernetes.NewForConfig(quiet)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the cluster: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("cannot reach the cluster: %w", err)
	}
	reader, err := client.New(quiet, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("cannot reach the cluster: %w", err)
	}
	c := checker{reader: reader, set: set, namespace: namespace, command: command}
	looks := []func(context.Context) error{c.version, c.kinds, c.deployments, c.webhooks, c.admission, lent{&c}.check, editors{&c}.check}
	if namespace != "" {
		looks = []func(context.Context) error{c.version, c.kinds, c.deployments, c.optIn, c.admission, c.applications, lent{&c}.check}
	}
	for _, look := range looks {
		if err := look(ctx); err != nil {
			return nil, err
		}
	}
	if namespace == "" {
		f, err := network(ctx, reader, shipped)
		return append(c.findings, f), err
	}
	return c.findings, nil
}

// add notes the result of a check: FAIL with what is wrong, ok without.
func (c *checker) add(check, wrong string) {
	result := OK
	if wrong != "" {
		result = Failed
	}
	c.findings = append(c.findings, Finding{check, result, wrong})
}

// skip notes a check that was not made, and why.
func (c *checker) skip(check, why string) {
	c.findings = append(c.findings, Finding{check, Skipped, why})
}

// list reads objects. It skips the check where the user may not read them; ok is then false.
func (c *checker) list(ctx context.Context, check string, into client.ObjectList, options ...client.ListOption) (ok bool, err error) {
	err = c.reader.List(ctx, into, options...)
	if apierrors.IsForbidden(err) {
		c.skip(check, "you may not list them")
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot list %s: %w", check, err)
	}
	return true, nil
}

func (c *checker) version(context.Context) error {
	err := CheckVersion(c.set.Discovery())
	switch {
	case errors.Is(err, ErrTooOld):
		c.add("Kubernetes 1.35 or newer", err.Error())
	case err != nil:
		return err
	default:
		c.add("Kubernetes 1.35 or newer", "")
	}
	return nil
}

// kinds checks that each kind of relations is served, and that none is being deleted, as far as the user may look.
func (c *checker) kinds(ctx context.Context) error {
	var d discovery.ServerResourcesInterface = c.set.Discovery()
	check := "kinds of " + v1alpha1.GroupVersion.String()
	served, err := d.ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String())
	switch {
	case apierrors.IsNotFound(err):
		c.add(check, notInstalled)
		return nil
	case err != nil:
		return fmt.Errorf("cannot list %s: %w", check, err)
	}
	missing, err := missingKinds(served)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		c.add(check, "no definition of "+strings.Join(missing, ", ")+
			": stop the controller and restore what was in it, as docs/how-to/restore.md shows; installing Orcon again makes relations anew")
		return nil
	}
	c.add(check, leavingDefinition(ctx, c.reader))
	return nil
}

// missingKinds returns the kinds of relations that are not served, in order.
func missingKinds(served *metav1.APIResourceList) (missing []string, err error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	known := scheme.KnownTypes(v1alpha1.GroupVersion)
	for kind := range known {
		_, listed := known[kind+"List"]
		is := func(r metav1.APIResource) bool { return r.Kind == kind }
		if listed && !slices.ContainsFunc(served.APIResources, is) {
			missing = append(missing, kind)
		}
	}
	slices.Sort(missing)
	return missing, nil
}

// leavingDefinition returns the trouble with a definition that is being deleted; nothing if the user may not read definitions.
func leavingDefinition(ctx context.Context, reader client.Reader) string {
	kind := metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinitionList"}
	list := metav1.PartialObjectMetadataList{TypeMeta: kind}
	if err := reader.List(ctx, &list); err != nil {
		return ""
	}
	for _, d := range list.Items {
		if d.DeletionTimestamp != nil && strings.HasSuffix(d.Name, "."+v1alpha1.GroupVersion.Group) {
			return "definition " + d.Name + " is being deleted, and its objects with it: save them (kubectl get " + d.Name +
				" -A -o yaml), let them go (orcon release), and restore them as docs/how-to/restore.md shows"
		}
	}
	return ""
}

// deployments checks Orcon's own Deployments, and sends a request to the relations API of each controller.
// For one namespace it checks only those that serve relations, and is silent where the user may not
// list them: users of one namespace seldom may.
func (c *checker) deployments(ctx context.Context) error {
	const check = "Deployments of Orcon"
	whole := c.namespace == ""
	var list appsv1.DeploymentList
	switch err := c.reader.List(ctx, &list, partOfOrcon); {
	case apierrors.IsForbidden(err) && whole:
		c.skip(check, "you may not list them")
		return nil
	case apierrors.IsForbidden(err):
		return nil
	case err != nil:
		return fmt.Errorf("cannot list %s: %w", check, err)
	case len(list.Items) == 0:
		c.add(check, notInstalled)
	}
	for _, d := range list.Items {
		if whole || !isAddOn(&d) {
			c.add(fmt.Sprintf("Deployment %s/%s", d.Namespace, d.Name), deploymentTrouble(&d))
		}
	}
	for i := range list.Items {
		if d := &list.Items[i]; d.Labels["app.kubernetes.io/name"] == "relations-mutating-webhook" {
			c.half = halfInstalled(d)
		}
	}
	for _, d := range list.Items {
		if whole && d.Labels["app.kubernetes.io/name"] == "relations-controller" {
			c.relationsAPI(ctx, d.Namespace)
		}
	}
	return absent{c}.check(ctx, list.Items)
}

// deploymentTrouble returns what is wrong with a Deployment of Orcon; empty if nothing is.
func deploymentTrouble(d *appsv1.Deployment) string {
	wanted, ready := 1, min(d.Status.ReadyReplicas, d.Status.UpdatedReplicas)
	if n := d.Spec.Replicas; n != nil {
		wanted = int(*n)
	}
	switch {
	case wanted == 0:
		return fmt.Sprintf("0 replicas are wanted: kubectl -n %s scale deployment %s --replicas=2", d.Namespace, d.Name)
	case int(d.Status.UpdatedReplicas) < wanted:
		return fmt.Sprintf("%d of %d replicas are ready, %d are of this version: kubectl -n %s describe deployment %s",
			d.Status.ReadyReplicas, wanted, d.Status.UpdatedReplicas, d.Namespace, d.Name)
	case int(ready) < wanted:
		return fmt.Sprintf("%d of %d replicas are ready: kubectl -n %s describe pods -l app.kubernetes.io/name=%s; "+
			"kubectl -n %[3]s logs deployment/%s",
			d.Status.ReadyReplicas, wanted, d.Namespace, d.Labels["app.kubernetes.io/name"], d.Name)
	}
	return ""
}

func (c *checker) webhooks(ctx context.Context) error {
	var list registrationv1.MutatingWebhookConfigurationList
	if ok, err := c.list(ctx, "MutatingWebhookConfigurations of Orcon", &list, partOfOrcon); err != nil || !ok {
		return err
	}
	if len(list.Items) == 0 {
		c.add("MutatingWebhookConfigurations of Orcon", cmp.Or(c.half, notInstalled))
	}
	for _, configuration := range list.Items {
		wrong := ""
		if slices.ContainsFunc(configuration.Webhooks, func(w registrationv1.MutatingWebhook) bool { return len(w.ClientConfig.CABundle) == 0 }) {
			wrong = "its caBundle is empty, so that the API server cannot trust the webhook: Orcon's controller, or cert-manager, " +
				"writes it: see their logs"
		}
		c.add("MutatingWebhookConfiguration "+configuration.Name, wrong)
	}
	return nil
}

// optIn looks at the labels of the namespace.
func (c *checker) optIn(ctx context.Context) error {
	var n corev1.Namespace
	check := "namespace " + c.namespace
	err := c.reader.Get(ctx, client.ObjectKey{Name: c.namespace}, &n)
	outside := ""
	if err == nil {
		outside = Outside(ctx, c.reader, &n)
	}
	switch value := n.Labels[application.LabelSchema]; {
	case apierrors.IsForbidden(err):
		c.skip(check, "you may not read it")
	case apierrors.IsNotFound(err):
		c.add(check, "no such namespace: kubectl create namespace "+c.namespace)
	case err != nil:
		return fmt.Errorf("cannot read %s: %w", check, err)
	case outside != "":
		c.add(check, outside)
	case n.Labels[application.LabelOptIn] != application.OptedIn:
		c.add(check, "not opted in: "+application.OptIn(c.namespace))
	default:
		c.add(check+" is opted in", "")
		wrong := ""
		if value != "" && !slices.Contains([]string{"warn", "enforce", "off"}, value) {
			wrong = fmt.Sprintf("label %s is %q and counts as warn: use warn, enforce or off", application.LabelSchema, value)
		}
		c.add(fmt.Sprintf("%s: schema mode %s", check, schema.ParseMode(value)), wrong)
	}
	return nil
}

// applications looks at the applications of the namespace that are not ready.
func (c *checker) applications(ctx context.Context) error {
	var list v1alpha1.RelatedApplicationList
	if err := c.reader.List(ctx, &list, client.InNamespace(c.namespace)); apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil // the kinds are not installed, which has its own finding
	}
	if ok, err := c.list(ctx, "applications of namespace "+c.namespace, &list, client.InNamespace(c.namespace)); err != nil || !ok {
		return err
	}
	for _, a := range list.Items {
		wrong := ""
		if ready, messages := Standing(a.Status.Conditions); !ready {
			wrong = strings.Join(messages, "; ") + " (orcon status -n " + c.namespace + ")"
		}
		c.add("application "+c.namespace+"/"+a.Name, wrong)
	}
	return nil
}

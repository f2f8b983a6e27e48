package installation

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// admission has the API server admit a declaring pod by a dry run in a labelled namespace: nothing
// is created, and the webhook answers as it would for a real one.
func (c *checker) admission(ctx context.Context) error {
	const check = "the webhook injects a pod"
	namespace, why, err := c.labelled(ctx)
	if err != nil {
		return err
	}
	if why != "" {
		c.skip(check, why)
		return nil
	}
	full := fmt.Sprintf("%s (dry run in %s)", check, namespace)
	if allowed, err := c.allowed(ctx, "create", namespace, "pods", ""); err != nil || !allowed {
		c.skip(check, "you may not create pods in namespace "+namespace)
		return err
	}
	pod, err := c.set.CoreV1().Pods(namespace).Create(ctx, probePod(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return c.admitted(full, pod, err)
}

// admitted notes what the API server answered to the pod of a check.
func (c *checker) admitted(full string, pod *corev1.Pod, err error) error {
	switch {
	case err == nil && pod.Labels[application.KeyInjected] == "":
		c.add(full, "the API server admits a declaring pod without calling the webhook: kubectl get mutatingwebhookconfigurations")
	case err == nil:
		c.add(full, "")
	case strings.Contains(err.Error(), "relations.tengu.io"):
		c.add(full, err.Error()+": look at the Deployment relations-mutating-webhook")
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsNotFound(err),
		strings.Contains(err.Error(), `webhook "`): // one of another project fails, or refuses with a code of its own
		c.skip(full, "another admission refuses the pod: "+err.Error())
	default:
		return fmt.Errorf("cannot try the webhook: %w", err)
	}
	return nil
}

// labelled returns a namespace that has opted in: the one to look at, or any. why says why there is
// none to try.
func (c *checker) labelled(ctx context.Context) (name, why string, err error) {
	if c.namespace != "" {
		return c.optedIn(ctx)
	}
	var list corev1.NamespaceList
	err = c.reader.List(ctx, &list, client.MatchingLabels{application.LabelOptIn: application.OptedIn})
	switch {
	case apierrors.IsForbidden(err):
		return "", "you may not list namespaces: name one that has opted in, with -n", nil
	case err != nil:
		return "", "", fmt.Errorf("cannot list namespaces: %w", err)
	}
	for _, n := range list.Items {
		if n.DeletionTimestamp == nil && Outside(ctx, c.reader, &n) == "" {
			return n.Name, "", nil
		}
	}
	return "", "no namespace has opted in: " + application.OptIn("NAME"), nil
}

// optedIn returns the namespace to look at if it has opted in. A user who may not read it has it
// tried.
func (c *checker) optedIn(ctx context.Context) (name, why string, err error) {
	var n corev1.Namespace
	err = c.reader.Get(ctx, client.ObjectKey{Name: c.namespace}, &n)
	switch {
	case apierrors.IsForbidden(err):
		return c.namespace, "", nil
	case apierrors.IsNotFound(err):
		return "", "there is no namespace " + c.namespace, nil
	case err != nil:
		return "", "", fmt.Errorf("cannot read namespace %s: %w", c.namespace, err)
	case Outside(ctx, c.reader, &n) != "":
		return "", "the webhook never acts in namespace " + c.namespace, nil
	case n.Labels[application.LabelOptIn] != application.OptedIn:
		return "", fmt.Sprintf("the webhook does not act in namespace %s, which has not opted in", c.namespace), nil
	}
	return c.namespace, "", nil
}

// allowed reports whether the user has a permission.
func (c *checker) allowed(ctx context.Context, verb, namespace, resource, sub string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Resource: resource, Subresource: sub},
	}}
	answer, err := c.set.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("cannot find out what you may do: %w", err)
	}
	return answer.Status.Allowed, nil
}

// probePod returns a pod that declares an optional endpoint and that the strictest Pod Security
// Standard admits.
func probePod() *corev1.Pod {
	resources := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m"), corev1.ResourceMemory: resource.MustParse("1Mi")}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "orcon-check-", Annotations: map[string]string{application.KeyConsumes: "orcon-check:http?"},
		},
		Spec: corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "check", Image: "registry.k8s.io/pause:3.10",
				Resources: corev1.ResourceRequirements{Requests: resources, Limits: resources},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(false), RunAsNonRoot: new(true),
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}

// relationsAPI sends a request to the relations API over TLS, through the API server's proxy of its
// Service. It needs no pod: the answer of the controller itself, whatever its code, shows that it
// serves.
func (c *checker) relationsAPI(ctx context.Context, namespace string) {
	check := fmt.Sprintf("the relations API of %s answers", namespace)
	if allowed, err := c.allowed(ctx, "get", namespace, "services", "proxy"); err != nil || !allowed {
		c.skip(check, "you may not use the proxy of Services in namespace "+namespace)
		return
	}
	path := "/api/v1/namespaces/" + namespace + "/services/https:relations-controller:relations/proxy/"
	err := c.set.CoreV1().RESTClient().Get().AbsPath(path).Do(ctx).Error()
	if err == nil || apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		c.add(check, "") // the controller itself answers that it has no such path
		return
	}
	c.add(check, fmt.Sprintf("%v: kubectl -n %s get pods,endpointslices", err, namespace))
}

// Standing reports whether an object is ready and has no other problem. If not, it returns the whole
// messages that explain it: Ready has them shortened, or only names the condition that has them.
func Standing(conditions []metav1.Condition) (ready bool, messages []string) {
	why := meta.FindStatusCondition(conditions, string(condition.Ready))
	if why == nil {
		return false, []string{"the controller has not seen it yet"}
	}
	ready = why.Status == metav1.ConditionTrue
	problems := problemsOf(conditions)
	for _, t := range []condition.Type{condition.Stalled, condition.Reconciling} {
		if c := meta.FindStatusCondition(conditions, string(t)); !ready && c != nil && c.Status == metav1.ConditionTrue && c.Message != "" {
			why = c
		}
	}
	if len(problems) > 0 && (ready || strings.Contains(why.Message, "see condition")) {
		return false, problems
	}
	messages = []string{wholeMessage(conditions, why.Message)}
	for _, p := range problems {
		if p != why.Message {
			messages = append(messages, p)
		}
	}
	return ready && len(problems) == 0, messages
}

// wholeMessage returns the message of the condition that a message only names.
func wholeMessage(conditions []metav1.Condition, message string) string {
	name, refers := strings.CutPrefix(message, "see condition ")
	if c := meta.FindStatusCondition(conditions, name); refers && c != nil && c.Message != "" {
		return c.Message
	}
	return message
}

// problemsOf returns the messages of the conditions that need attention.
func problemsOf(conditions []metav1.Condition) (problems []string) {
	for _, c := range conditions {
		if c.Status == metav1.ConditionTrue && condition.NeedsAttention(condition.Type(c.Type)) {
			problems = append(problems, c.Message)
		}
	}
	return problems
}

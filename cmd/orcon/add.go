package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// addOptions are the flags of add provider and add consumer.
type addOptions struct {
	endpoint, iface, to, object string
	optional, dryRun            bool
	limit                       int
}

func newAdd() *cobra.Command {
	c := &cobra.Command{
		Use:   "add",
		Short: "Write the annotations of a relation into a manifest",
		Long: `add writes the annotations that relate a workload or Service into a
manifest. Comments, order, other documents and everything else stay as they are. It needs no
cluster.`,
		Example: "  orcon add provider postgres.yaml --interface postgresql_client\n  orcon add consumer web.yaml --interface " +
			"postgresql_client --to postgres",
		Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.SuggestionsMinimumDistance = 2
	c.AddCommand(newAddProvider(), newAddConsumer())
	return c
}

// addCodes ends the help of both.
const addCodes = `

FILE is a manifest of one or more documents, or - for standard input, which writes to standard
output. If several objects of it could be meant, --object names one. Nothing is written if the
result is not valid.

Exit codes: 0 written, or there is nothing to change, 2 the command failed.`

func newAddProvider() *cobra.Command {
	var o addOptions
	c := &cobra.Command{
		Use:   "provider FILE --interface INTERFACE",
		Short: "Write what a Service or workload provides",
		Long: `add provider adds an endpoint to the annotation tengu.io/provides of a Service, or of a workload if FILE has no Service.` +
			addCodes,
		Example: `  orcon add provider postgres.yaml --interface postgresql_client
  orcon add provider shop.yaml --object Service/api --endpoint api --interface http
  kubectl get service db -o yaml | orcon add provider - --interface redis | kubectl apply -f -`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, application.Provider, args[0]) },
	}
	o.flags(c)
	return c
}

func newAddConsumer() *cobra.Command {
	var o addOptions
	c := &cobra.Command{
		Use:   "consumer FILE --interface INTERFACE [--to PROVIDER]",
		Short: "Write what a workload consumes, and its provider",
		Long: `add consumer adds an endpoint to the annotation tengu.io/consumes of a workload, and with --to the
provider to tengu.io/relations.` + addCodes,
		Example: `  orcon add consumer web.yaml --interface postgresql_client --to postgres
  orcon add consumer web.yaml --endpoint cache --interface redis --to redis:main --optional
  orcon add consumer web.yaml --interface http --to site --dry-run`,
		Args: arguments,
		RunE: func(c *cobra.Command, args []string) error { return o.run(c, application.Requirer, args[0]) },
	}
	o.flags(c)
	c.Flags().StringVar(&o.to, "to", "", "provider: APPLICATION[.NAMESPACE][:ENDPOINT]")
	c.Flags().BoolVar(&o.optional, "optional", false, "start without it")
	c.Flags().IntVar(&o.limit, "limit", 0, "most relations that the endpoint takes (default: no limit)")
	return c
}

func (o *addOptions) flags(c *cobra.Command) {
	c.Flags().StringVar(&o.endpoint, "endpoint", "", "name of the endpoint (default: that of the interface)")
	c.Flags().StringVar(&o.iface, "interface", "", "interface, or INTERFACE@VERSION; may be left out where --endpoint has its name; see orcon interfaces")
	c.Flags().StringVar(&o.object, "object", "", "KIND/NAME of the object, if FILE has several")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the difference, and write nothing")
	_ = c.RegisterFlagCompletionFunc("interface", func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return completeInterfaces(c.Context(), (&clusterOptions{}).known), cobra.ShellCompDirectiveNoFileComp
	})
}

func (o *addOptions) run(c *cobra.Command, role application.Role, file string) error {
	before, err := readFile(c, file)
	if err != nil {
		return err
	}
	named := o.endpoint != ""
	entry, err := o.entry(role)
	if err != nil {
		return err
	}
	m, err := parseAnnotated(before, file)
	if err != nil {
		return err
	}
	target, err := m.target(role, o.object)
	if err != nil {
		return err
	}
	if provided := o.provided(role, target); !named && provided != "" {
		s := screenOf(c)
		s.note(fmt.Sprintf("%s: %s provides %s already, as %s: to add another, name it by --endpoint", file, target, o.iface, provided))
		return o.write(s, file, before, before)
	}
	adds := []addition{{application.KeyProvides, entry}}
	if role == application.Requirer {
		adds[0].key = application.KeyConsumes
		if o.to != "" {
			adds = append(adds, addition{application.KeyRelations, o.reference()})
		}
	}
	after, err := m.add(target, adds)
	if err != nil {
		return err
	}
	s := screenOf(c)
	o.hint(s)
	if role == application.Requirer && o.to == "" {
		o.unnamed(s, target.declared()[application.KeyRelations])
	}
	if bytes.Equal(before, after) {
		s.note(fmt.Sprintf("%s: %s has this endpoint already", file, target))
	}
	return o.write(s, file, before, after)
}

// unnamed notes that relations may name no provider for the endpoint.
func (o *addOptions) unnamed(s screen, relations string) {
	references, _ := application.ParseRelations(relations)
	var others []string
	for _, r := range references {
		switch r.Endpoint {
		case o.endpoint:
			return
		case "":
			others = append(others, r.String())
		}
	}
	unless := ""
	if len(others) > 0 {
		unless = ", unless it is " + strings.Join(others, " or ")
	}
	s.note(fmt.Sprintf("note: no provider is named for endpoint %s%s: run this again with --to PROVIDER", o.endpoint, unless))
}

// entry returns the entry of provides or consumes.
func (o *addOptions) entry(role application.Role) (string, error) {
	name, _, _ := strings.Cut(o.iface, "@")
	if o.endpoint == "" {
		o.endpoint = name
	}
	if o.endpoint == "" {
		return "", errors.New("cannot add an endpoint: --interface is missing (orcon interfaces lists them)")
	}
	if o.limit < 0 {
		return "", fmt.Errorf("--limit is %d: use 1 or more; without --limit the endpoint takes any number of relations", o.limit)
	}
	entry := o.endpoint
	if o.iface != "" && o.iface != o.endpoint {
		entry += ":" + o.iface
	}
	if o.optional {
		entry += "?"
	}
	if o.limit > 0 {
		entry += fmt.Sprintf("!%d", o.limit)
	}
	parse := application.ParseProvides
	if role == application.Requirer {
		parse = application.ParseConsumes
	}
	_, problems := parse(entry)
	return entry, application.Refusals(problems)
}

// provided returns the entry by which an object provides the interface already: with a second one,
// consumers that name no endpoint would find the choice ambiguous. It is empty if there is none.
func (o *addOptions) provided(role application.Role, target *annotated) string {
	if role != application.Provider {
		return ""
	}
	endpoints, _ := application.ParseProvides(target.declared()[application.KeyProvides])
	for _, e := range endpoints {
		if name, _, _ := strings.Cut(o.iface, "@"); e.Interface == name {
			return e.Name + ":" + e.Interface
		}
	}
	return ""
}

// reference returns the entry of relations, which names the endpoint that it is for.
func (o *addOptions) reference() string {
	if strings.Contains(o.to, "=") {
		return o.to
	}
	return o.endpoint + "=" + o.to
}

// hint notes an interface that is not built in: it may be published in the cluster, or mistyped.
func (o *addOptions) hint(s screen) {
	name, _, _ := strings.Cut(o.iface, "@")
	library, err := schema.Library()
	if name == "" {
		name = o.endpoint
	}
	if err != nil {
		return
	}
	if slices.ContainsFunc(library, func(i schema.Interface) bool { return i.Name == name }) {
		return
	}
	suggested := ""
	if near := schema.NewCatalog(library...).Near(name); near != "" {
		suggested = fmt.Sprintf(": did you mean %s?", near)
	}
	s.note(fmt.Sprintf("note: interface %s is not built in%s", name, suggested))
}

// write puts the manifest where it came from, or shows what would change.
func (o *addOptions) write(s screen, file string, before, after []byte) error {
	switch {
	case o.dryRun:
		return printDifference(s, file, before, after)
	case file == "-":
		_, err := s.out.Write(after)
		return err
	case bytes.Equal(before, after):
		return nil
	}
	info, err := os.Stat(file)
	if err == nil {
		err = os.WriteFile(file, after, info.Mode().Perm())
	}
	if err != nil {
		return fmt.Errorf("cannot write the manifest: %w", err)
	}
	if !s.quiet {
		return printDifference(s, file, before, after)
	}
	return nil
}

// readFile returns the text of a manifest, or of standard input for "-".
func readFile(c *cobra.Command, file string) ([]byte, error) {
	read := func() ([]byte, error) { return os.ReadFile(file) } //nolint:gosec // the user names it
	if file == "-" {
		read = func() ([]byte, error) { return io.ReadAll(c.InOrStdin()) }
	}
	text, err := read()
	if err != nil {
		return nil, fmt.Errorf("cannot read the manifest: %w", err)
	}
	return text, nil
}

// printDifference prints the lines that differ, in the form of a unified diff.
func printDifference(s screen, file string, before, after []byte) error {
	a, b := strings.SplitAfter(string(before), "\n"), strings.SplitAfter(string(after), "\n")
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	removed, added := a[head:len(a)-tail], b[head:len(b)-tail]
	if len(removed)+len(added) == 0 {
		return nil
	}
	fmt.Fprintf(s.out, "--- %s\n+++ %[1]s\n%s\n", file,
		s.paint(faint, fmt.Sprintf("@@ -%d,%d +%d,%d @@", head+1, len(removed), head+1, len(added))))
	for _, line := range removed {
		fmt.Fprintln(s.out, s.paint(bad, "-"+strings.TrimRight(line, "\r\n")))
	}
	for _, line := range added {
		fmt.Fprintln(s.out, s.paint(good, "+"+strings.TrimRight(line, "\r\n")))
	}
	return nil
}

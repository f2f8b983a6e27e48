package main

import (
	"go/ast"
	"slices"
	"strings"
)

// metric is a metric that our code registers.
type metric struct{ name, kind, labels, help, program string }

// programs says which program serves the metrics of a folder.
func programs() map[string]string {
	return map[string]string{
		"controller/serve": "relations-controller", "controller/serve/limit": "relations-controller",
		"cmd/relations-controller":    "relations-controller",
		"controller/relation":         "relations-controller",
		"controller/adapter/listener": "relations-controller", "controller/adapter/kube/identity": "relations-controller",
		"cmd/relations-mutating-webhook": "relations-mutating-webhook", "webhook/...": "relations-mutating-webhook",
		"cmd/bundle-controller": "bundle-controller", "controller/bundledeployment": "bundle-controller", "controller/fleet": "bundle-controller",
		"controller/job/collection": "job-controller",
		"controller/agent":          "relation-agent", "controller/adapter/stream": "relation-agent",
		"controller/adapter/certificate": "webhook and controllers",
	}
}

// metrics writes every metric that our code registers.
func (g generator) metrics() error {
	all, err := g.registered()
	if err != nil {
		return err
	}
	p := newPage("Metrics")
	p.prose("The webhook and the controllers serve these at `/metrics`, beside what controller-runtime and Go's Prometheus client " +
		"count of themselves: `controller_runtime_*`, `workqueue_*`, `rest_client_*`, `go_*` and `process_*`. " +
		"An agent serves its own if its pod template names a port. [Monitor](../how-to/monitor.md) tells how, and which ones to watch.")
	p.table("metric", "type", "unit", "labels", "program", "meaning")
	for _, m := range all {
		p.row("`"+m.name+"`", m.kind, unit(m.name, m.kind), m.labels, m.program, m.help)
	}
	return g.write("metrics.md", p)
}

// registered finds the metrics in the source of the programs, in order of name.
func (g generator) registered() (all []metric, err error) {
	for folder, program := range programs() {
		files, err := g.root.source(folder)
		if err != nil {
			return nil, err
		}
		specs, err := g.root.specs(folder)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				m, ok := metricOf(n, specs)
				if !ok {
					m, ok = agentMetricOf(n)
				}
				if ok {
					m.program = program
					all = append(all, m)
				}
				return true
			})
		}
	}
	slices.SortFunc(all, func(a, b metric) int { return strings.Compare(a.name+a.program, b.name+b.program) })
	return all, nil
}

// metricOf reads prometheus.NewCounterVec(prometheus.CounterOpts{Name: …, Help: …}, labels). The labels may be constants.
func metricOf(n ast.Node, constants []spec) (m metric, ok bool) {
	call, isCall := n.(*ast.CallExpr)
	if !isCall || len(call.Args) == 0 {
		return m, false
	}
	made, isSelector := call.Fun.(*ast.SelectorExpr)
	options, isLiteral := call.Args[0].(*ast.CompositeLit)
	if !isSelector || !isLiteral || !strings.HasPrefix(made.Sel.Name, "New") {
		return m, false
	}
	m.kind = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(made.Sel.Name, "New"), "Vec"))
	m.labels = labels(call.Args[1:], constants)
	for _, e := range options.Elts {
		pair, isPair := e.(*ast.KeyValueExpr)
		if !isPair {
			continue
		}
		switch key, _ := pair.Key.(*ast.Ident); key.Name {
		case "Name":
			m.name = text(pair.Value)
		case "Help":
			m.help = text(pair.Value)
		}
	}
	return m, m.name != "" && m.help != ""
}

// agentMetricOf reads a metric that an agent writes itself: {kind, name, help, value}.
func agentMetricOf(n ast.Node) (m metric, ok bool) {
	line, is := n.(*ast.CompositeLit)
	if !is || line.Type != nil || len(line.Elts) != 4 {
		return m, false
	}
	m = metric{kind: text(line.Elts[0]), name: "orcon_agent_" + text(line.Elts[1]), help: text(line.Elts[2])}
	return m, m.kind == "counter" || m.kind == "gauge"
}

// unit returns the unit of a metric, by the suffix that Prometheus' conventions give it.
func unit(name, kind string) string {
	switch {
	case strings.HasSuffix(name, "_seconds"):
		return "seconds"
	case strings.HasSuffix(name, "_bytes"):
		return "bytes"
	case kind == "counter":
		return "events since the start"
	}
	return "number"
}

// labels returns the names of a metric's labels, which may be constants.
func labels(args []ast.Expr, constants []spec) string {
	var all []string
	for _, arg := range args {
		if list, ok := arg.(*ast.CompositeLit); ok {
			for _, e := range list.Elts {
				all = append(all, "`"+label(e, constants)+"`")
			}
		}
	}
	return strings.Join(all, ", ")
}

// label returns the name of a label.
func label(e ast.Expr, constants []spec) string {
	name, isName := e.(*ast.Ident)
	for _, c := range constants {
		if isName && c.name == name.Name {
			return c.value
		}
	}
	return text(e)
}

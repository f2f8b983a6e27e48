package main

import (
	"context"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// tailLines is the number of lines of a log that are shown, and tailWidth that of characters of a line.
const (
	tailLines = 10
	tailWidth = 300
)

// tails returns what reads the last lines of a log. There are none where the user may not read it, or it
// is gone with its pod.
func tails(ctx context.Context, config *rest.Config) func(bundle.Log) []string {
	return func(l bundle.Log) []string {
		cluster, err := corev1client.NewForConfig(config)
		if err != nil {
			return nil
		}
		last := int64(tailLines)
		text, err := cluster.Pods(l.Namespace).GetLogs(l.Pod, &corev1.PodLogOptions{Container: l.Container, TailLines: &last}).DoRaw(ctx)
		if err != nil {
			return nil
		}
		return printable(string(text))
	}
}

// printable returns the lines of a text, without what would steer a terminal.
func printable(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.Map(func(r rune) rune {
			switch {
			case r == '\t':
				return ' '
			case unicode.IsPrint(r):
				return r
			}
			return -1
		}, line)
		if line = strings.TrimRight(line, " "); line != "" {
			lines = append(lines, shorten(line, tailWidth))
		}
	}
	return lines
}

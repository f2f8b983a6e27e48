// Command fetch prints what a URL answers. It runs in the pods of the cluster's
// own tests.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// timeout bounds the whole answer.
const timeout = 20 * time.Second

func main() {
	if err := fetch(os.Args[len(os.Args)-1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fetch:", err)
		os.Exit(1)
	}
}

func fetch(url string, out io.Writer) error {
	response, err := (&http.Client{Timeout: timeout}).Get(url)
	if err != nil {
		return fmt.Errorf("cannot fetch: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(out, response.Body); err != nil {
		return fmt.Errorf("cannot fetch %s: %w", url, err)
	}
	return nil
}

package pod

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// lookAgain is how often the file is read: a kubelet takes up to a minute to
// bring a new one, and reading it costs nothing.
const lookAgain = 2 * time.Second

// Source holds the present settings: tenguconfig.yaml, followed on disk, and
// what the process learns from the cluster. Methods may be called at any time.
type Source struct {
	file         string
	defaultImage string

	lock    sync.RWMutex
	now     injection.Settings
	text    string // of the file, as last read
	trouble string // of the file, as last told
}

// NewSource returns settings of Orcon's namespace with the file's configuration, which must be right: a server must
// not begin with other settings. An empty file name means the defaults. The default image is the agent's where the
// file names none; empty for the built-in one.
func NewSource(namespace, file, defaultImage string) (*Source, error) {
	s := &Source{file: file, defaultImage: defaultImage}
	s.now = injection.Settings{Namespace: namespace, Config: injection.DefaultConfig()}
	s.withImage(&s.now.Config)
	if file == "" {
		return s, nil
	}
	if _, err := s.read(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Source) withImage(c *injection.Config) {
	if s.defaultImage != "" && c.Agent.Image == injection.DefaultImage {
		c.Agent.Image = s.defaultImage
	}
}

// Settings returns the present settings.
func (s *Source) Settings() injection.Settings {
	s.lock.RLock()
	defer s.lock.RUnlock()
	return s.now
}

// Learn changes what did not come from the file.
func (s *Source) Learn(change func(*injection.Settings)) {
	s.lock.Lock()
	defer s.lock.Unlock()
	change(&s.now)
}

// read takes the file into use if it is right, and reports whether it changed.
func (s *Source) read() (changed bool, err error) {
	text, err := os.ReadFile(s.file)
	if err != nil {
		return false, fmt.Errorf("cannot read configuration: %w", err)
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	if string(text) == s.text && s.trouble == "" {
		return false, nil
	}
	config, err := injection.ParseConfig(text)
	if err != nil {
		return false, fmt.Errorf("cannot use configuration %s: %w", s.file, err)
	}
	s.withImage(&config)
	changed = s.text != "" && string(text) != s.text
	s.now.Config, s.text = config, string(text)
	return changed, nil
}

// NeedLeaderElection is false: each replica reads its own file.
func (s *Source) NeedLeaderElection() bool { return false }

// Start follows the file until ctx ends. A file that is wrong leaves the last
// good configuration in use.
func (s *Source) Start(ctx context.Context) error {
	if s.file == "" {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		s.reload()
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// reload says once what is wrong, and once that it is right again.
func (s *Source) reload() {
	changed, err := s.read()
	text := ""
	if err != nil {
		text = err.Error()
	}
	s.lock.Lock()
	before := s.trouble
	s.trouble = text
	s.lock.Unlock()
	switch {
	case text != "" && text != before:
		glog.Errorf("the last good configuration stays in use: %v", err)
	case text == "" && (changed || before != ""):
		glog.Infof("configuration read from %s", s.file)
	}
}

package injection

import (
	"slices"
	"strings"
)

// refused reports whether a name is never set from relation data, on any request (SAFETY.md P8): such a variable
// changes the code that runs, where it connects or the peers that it trusts.
func refused(name string) bool {
	return refusedName(name) ||
		slices.ContainsFunc(refusedPrefixes(), func(p string) bool { return strings.HasPrefix(name, p) }) ||
		slices.ContainsFunc(refusedSuffixes(), func(s string) bool { return strings.HasSuffix(name, s) })
}

// refusedPrefixes returns the prefixes of names that are never set.
func refusedPrefixes() []string {
	return []string{
		"KUBERNETES_", "JUJU_", "ORCON_", "SERVICE_BINDING_",
		"LD_", "DYLD_", "MALLOC_", "GLIBC_", "RESOLV_", // loader and C library
		"BASH_", "GIT_",
		"PYTHON", "PERL5", "PERL_", "RUBY", "NODE_", "NPM_CONFIG_", "BUN_", "DENO_", "YARN_",
		"DOTNET_", "CORECLR_", "COR_", "COMPLUS_", "JAVA_", "_JAVA_", "JDK_JAVA_", "IBM_JAVA_",
		"PHP_INI_", "LUA_", "ERL_", "GUILE_", "PIP_", "UV_", "CARGO_", "RUSTC_", "RUSTUP_", "GEM_", "BUNDLE_", "BUNDLER_",
		"OPENSSL_", "GNUTLS_", "SSL_CERT_", "PERL_LWP_SSL_",
	}
}

// refusedSuffixes are families recognised by their ends.
func refusedSuffixes() []string {
	return []string{
		"_PROXY", "_CA_BUNDLE", "_CA_CERTS", "_CACERT", "_CAINFO", "_CAPATH",
		"_PRELOAD", "_LIBRARY_PATH", "JAVA_OPTS", "JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "JVM_OPTS", "JVM_ARGS", "_ASKPASS",
	}
}

// refusedName reports the names refused one by one.
func refusedName(name string) bool {
	switch name {
	case
		// shell and what it starts
		"PATH", "IFS", "ENV", "SHELL", "SHELLOPTS", "BASHOPTS", "CDPATH", "FPATH", "GLOBIGNORE", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS3", "PS4",
		"HOME", "USER", "LOGNAME", "PWD", "OLDPWD", "TMPDIR", "TERM", "TERMINFO", "ZDOTDIR", "POSIXLY_CORRECT", "INPUTRC", "HISTFILE",
		"EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "LESSOPEN", "LESSCLOSE", "SUDO_ASKPASS", "HOSTNAME",
		// loader and C library
		"GCONV_PATH", "GETCONF_DIR", "HOSTALIASES", "LOCALDOMAIN", "LOCPATH", "NIS_PATH", "NLSPATH", "RES_OPTIONS", "TZDIR", "LIBPATH", "SHLIB_PATH",
		// language runtimes
		"CLASSPATH", "JRE_HOME", "CATALINA_OPTS", "MAVEN_OPTS", "GRADLE_OPTS", "SBT_OPTS", "ANT_OPTS", "KAFKA_OPTS",
		"GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK", "GOFLAGS", "GOPATH", "GOROOT", "GOENV", "GOPROXY", "GOPRIVATE", "GONOSUMDB", "GOSUMDB", "GOINSECURE", "GOTOOLCHAIN", "GOCOVERDIR",
		"PERLLIB", "PERLDB_OPTS", "JULIA_LOAD_PATH", "JULIA_DEPOT_PATH", "OCAMLRUNPARAM", "GHCRTS", "JYTHONPATH", "JRUBY_OPTS", "R_LIBS_SITE",
		"MONO_PATH", "MONO_ENV_OPTIONS", "ASPNETCORE_HOSTINGSTARTUPASSEMBLIES",
		"PHPRC", "R_HOME", "R_PROFILE", "R_PROFILE_USER", "R_ENVIRON", "R_ENVIRON_USER", "R_LIBS", "R_LIBS_USER", "TCLLIBPATH", "ELIXIR_ERL_OPTIONS", "RUST_LOG", "RUSTFLAGS", "TS_NODE_PROJECT", "OMP_NUM_THREADS",
		// trust and keys
		"SSLKEYLOGFILE", "CURL_HOME", "PIP_CERT", "HTTPLIB2_CA_CERTS", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "KRB5_CONFIG", "SSH_AUTH_SOCK",
		"HGRCPATH", "SVN_SSH", "CVS_RSH", "RSYNC_RSH", "KUBECONFIG", "DOCKER_HOST", "DOCKER_CONFIG":
		return true
	default:
		return false
	}
}

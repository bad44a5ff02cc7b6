package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"sembench/internal/scenario"
)

// tlsConfig trusts --ca-cert beside the system's authorities and presents --client-cert; nil when neither was given.
func tlsConfig(s *scenario.Scenario) (*tls.Config, error) {
	if s.CACert == "" && s.ClientCert == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.CACert != "" {
		text, err := os.ReadFile(s.CACert)
		if err != nil {
			return nil, usage(fmt.Errorf("reading --ca-cert: %w", err), "")
		}
		if c.RootCAs, err = x509.SystemCertPool(); err != nil {
			c.RootCAs = x509.NewCertPool()
		}
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, usage(fmt.Errorf("reading --ca-cert: %s holds no PEM certificate", s.CACert), "")
		}
	}
	if s.ClientCert != "" {
		pair, err := tls.LoadX509KeyPair(s.ClientCert, s.ClientCert)
		if err != nil {
			return nil, usage(fmt.Errorf("reading --client-cert: %w", err), "want one PEM file with the certificate and its key")
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

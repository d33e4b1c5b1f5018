package runner

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// ownAddress finds the IP address at which other hosts reach this one. face is what the user asked for: the name of an
// interface, an address of this host, or a network (10.0.0.0/8) that one of its addresses is in; empty: nothing. peers are names
// or addresses of other hosts, of which any one that leads somewhere will do.
func ownAddress(face string, peers ...string) (string, error) {
	own, err := ownAddresses()
	if err != nil {
		return "", err
	}
	if face != "" {
		return chosenAddress(face, own)
	}
	for _, peer := range peers {
		if ip := routeTo(peer); ip.IsValid() && !ip.IsLoopback() {
			return ip.String(), nil
		}
	}
	if ip := namedAddress(own); ip.IsValid() {
		return ip.String(), nil
	}
	for _, a := range own {
		if reachable(a.ip) {
			return a.ip.String(), nil
		}
	}
	return "", fmt.Errorf("this host has no address that others could reach it at: say with --interface which network leads to them; it has %s", listAddresses(own))
}

// leadersAddress is ownAddress for the first host, which the others will reach: by what its name means to them, if that is one
// of its own addresses, before the way to any of them.
func leadersAddress(face string, peers ...string) (string, error) {
	own, err := ownAddresses()
	if err != nil {
		return "", err
	}
	if ip := namedAddress(own); face == "" && ip.IsValid() {
		return ip.String(), nil
	}
	return ownAddress(face, peers...)
}

// ownIP is an address of this host.
type ownIP struct {
	ip   netip.Addr
	face string
	up   bool
}

func ownAddresses() ([]ownIP, error) {
	faces, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("network interfaces of this host: %w", err)
	}
	var own []ownIP
	for _, f := range faces {
		list, err := f.Addrs()
		if err != nil {
			continue // it has just gone
		}
		for _, a := range list {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				own = append(own, ownIP{p.Addr().Unmap(), f.Name, f.Flags&net.FlagUp != 0})
			}
		}
	}
	// Addresses of version 4 first: they need no thought about zones, and clusters route them.
	slices.SortStableFunc(own, func(a, b ownIP) int { return -compareBool(a.ip.Is4(), b.ip.Is4()) })
	return own, nil
}

func reachable(ip netip.Addr) bool {
	return ip.IsGlobalUnicast() && !ip.IsLoopback()
}

// noInterface says of a host that it lacks what the user asked for.
const noInterface = "this host has no such interface, address or network with an address to be reached at"

// chosenAddress is the address that a user's word means here.
func chosenAddress(face string, own []ownIP) (string, error) {
	network, isNetwork := netip.Prefix{}, false
	if p, err := netip.ParsePrefix(face); err == nil {
		network, isNetwork = p.Masked(), true
	}
	ip, err := netip.ParseAddr(face)
	isIP := err == nil
	for _, a := range own {
		switch {
		case isNetwork && network.Contains(a.ip), isIP && a.ip == ip.Unmap(), a.face == face && reachable(a.ip):
			return a.ip.String(), nil
		}
	}
	return "", fmt.Errorf("interface %q: "+noInterface+"; it has %s", clean(face, 80), listAddresses(own))
}

func listAddresses(own []ownIP) string {
	var words []string
	for _, a := range own {
		if !a.ip.IsLoopback() && !a.ip.IsLinkLocalUnicast() {
			words = append(words, clean(a.face, 20)+" "+a.ip.String())
		}
	}
	if len(words) == 0 {
		return "none but loopback"
	}
	return strings.Join(words[:min(len(words), 12)], ", ")
}

// namedAddress is the address that this host's own name means, where that is one of its own and no loopback.
func namedAddress(own []ownIP) netip.Addr {
	name, err := os.Hostname()
	if err != nil {
		return netip.Addr{}
	}
	found, err := net.LookupHost(name)
	if err != nil {
		return netip.Addr{}
	}
	for _, a := range own {
		if reachable(a.ip) && slices.Contains(found, a.ip.String()) {
			return a.ip
		}
	}
	return netip.Addr{}
}

// routeTo is the own address from which the kernel would send to a host. Nothing is sent: a datagram socket is connected.
func routeTo(peer string) netip.Addr {
	host := peer
	if h, _, err := net.SplitHostPort(peer); err == nil {
		host = h
	}
	if host == "" {
		return netip.Addr{}
	}
	const discard = "9" // any port will do
	conn, err := net.Dial("udp", net.JoinHostPort(host, discard))
	if err != nil {
		return netip.Addr{}
	}
	defer conn.Close()
	at, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap()
}

// Package wire is how ranks on several hosts meet and move bytes over TCP: what the cpu device makes its communicators
// of where members do not share memory. It knows neither devices nor tensors.
//
// A Node is a rank's socket, bound to one address. Whoever makes a group invites (Node.Invite); its node is the group's
// hub, which all members dial (Node.Join). The connections to the hub carry no data: they say who is where, that each
// member is alive, and why a group fails, the same to all. Data goes over lanes, one-way connections between two members,
// made when they are first used. Both ends of every connection know the run's secret and run the same binary; what is
// read is bounded before it is allocated; whoever is silent for too long is taken for dead.
//
// Lanes are authenticated when they are made; what then crosses them is not sealed: the network of a cluster is
// trusted to deliver bytes as they were sent, as NCCL and MPI trust it.
//
// Start reading at Node, then Group; hub.go is the other side of Group; ring.go moves data.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"boost-tui/internal/handshake"
	"boost-tui/kernels"
)

// spoken is the protocol of both kinds of connections.
const spoken handshake.Protocol = "boost-wire 1"

// Bounds and deadlines.
const (
	MaxMembers = 1024 // of a group
	MaxBlob    = 512  // bytes of what one member says in an Exchange

	maxText        = 512
	maxControl     = 1 + MaxMembers*(2+MaxBlob)
	handshakeLimit = 5 * time.Second
	redial         = 20 * time.Millisecond
	redialLimit    = 5 * time.Second
	unluckyLimit   = 1500 * time.Millisecond // for how long a node that breaks off the handshake is tried again
	strangers      = 64                      // connections that may stand in the handshake at once
	partLimit      = 2 * time.Second
)

// DefaultSilence is how long a member may say nothing before it is taken for dead. Members say something every fifth of it.
const DefaultSilence = 15 * time.Second

// Options of a Node.
type Options struct {
	Secret  string // of the run, at least 16 bytes
	Address string // IP address, or name of a network interface, that the node listens on and dials from
	Version string // identity of the binary: nodes of different ones refuse each other
	Silence time.Duration
	Say     func(format string, args ...any) // told of connections that were refused, now and then; nil: nobody is
}

func (o *Options) check() error {
	if o.Silence <= 0 {
		o.Silence = DefaultSilence
	}
	switch {
	case len(o.Secret) < handshake.MinSecret:
		return fmt.Errorf("the secret has %d bytes, at least %d are needed", len(o.Secret), handshake.MinSecret)
	case len(o.Version) > handshake.MaxVersion:
		return fmt.Errorf("version of %d bytes, at most %d", len(o.Version), handshake.MaxVersion)
	}
	return nil
}

// Resolve finds the IP address that an address or an interface's name stands for. It is the address of one network, never
// that of all: nobody listens where he was not told to.
func Resolve(address string) (netip.Addr, error) {
	if ip, err := netip.ParseAddr(address); err == nil {
		ip = ip.Unmap().WithZone("")
		if ip.IsUnspecified() || ip.IsMulticast() {
			return netip.Addr{}, fmt.Errorf("%s is no address of one host: name the address, or the network interface, that leads to the other hosts", ip)
		}
		return ip, nil
	}
	face, err := net.InterfaceByName(address)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("%q is neither an IP address nor a network interface of this host: %w", address, err)
	}
	list, err := face.Addrs()
	if err != nil {
		return netip.Addr{}, fmt.Errorf("addresses of interface %s: %w", address, err)
	}
	var best netip.Addr
	for _, a := range list {
		p, err := netip.ParsePrefix(a.String())
		if err != nil || p.Addr().IsLinkLocalUnicast() {
			continue
		}
		if ip := p.Addr().Unmap(); !best.IsValid() || ip.Is4() && !best.Is4() {
			best = ip
		}
	}
	if !best.IsValid() {
		return best, fmt.Errorf("interface %s has no address that other hosts could reach", address)
	}
	return best, nil
}

// Failure is why a group failed: the same on every member.
type Failure struct {
	Text    string
	Aborted bool // somebody wanted it
}

func (f *Failure) Error() string { return f.Text }

// Unwrap is kernels.ErrAborted or kernels.ErrComm.
func (f *Failure) Unwrap() error {
	if f.Aborted {
		return kernels.ErrAborted
	}
	return kernels.ErrComm
}

// failureOf makes a Failure of any error.
func failureOf(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	return &Failure{Text: err.Error(), Aborted: errors.Is(err, kernels.ErrAborted)}
}

// Invitation is what members need to find a group.
type Invitation struct {
	Hub   netip.AddrPort
	nonce [16]byte
}

const invitationMagic = "boostwir"

// Bytes encodes the invitation.
func (v Invitation) Bytes() []byte {
	b := append([]byte(invitationMagic), v.nonce[:]...)
	ip := v.Hub.Addr().As16()
	b = append(b, ip[:]...)
	return binary.BigEndian.AppendUint16(b, v.Hub.Port())
}

// ParseInvitation decodes what Bytes gave; bytes may follow. ok is false for anything else.
func ParseInvitation(b []byte) (v Invitation, ok bool) {
	const n = len(invitationMagic)
	if len(b) < n+16+16+2 || string(b[:n]) != invitationMagic {
		return v, false
	}
	copy(v.nonce[:], b[n:])
	ip := netip.AddrFrom16([16]byte(b[n+16 : n+32])).Unmap()
	v.Hub = netip.AddrPortFrom(ip, binary.BigEndian.Uint16(b[n+32:]))
	return v, true
}

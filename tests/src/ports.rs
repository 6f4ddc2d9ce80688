//! Ports for servers that come back on the same one. They lie below those the kernel gives to
//! connections that leave this machine: otherwise one of these could take the port of a server that
//! is down for a while.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU16, Ordering};

const FIRST: u16 = 12_000;
const COUNT: u16 = 20_000;

/// Where this process goes on looking; each begins elsewhere.
static NEXT: LazyLock<AtomicU16> = LazyLock::new(|| AtomicU16::new(fastrand::u16(..COUNT)));

/// A port of this machine that nobody listens on and that no other call in this process gets.
pub fn free() -> u16 {
    for _ in 0..COUNT {
        let port = FIRST + NEXT.fetch_add(1, Ordering::Relaxed) % COUNT;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
    panic!("no free port");
}

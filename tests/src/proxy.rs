//! A TCP proxy on this machine whose line can be cut, and can fall silent.

use crate::ports;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    Open,
    /// What is connected is hung up on, what connects too.
    Cut,
    /// Connections stay, and nothing comes through until the line is open again.
    Silent,
}

struct Shared {
    line: Mutex<(Line, Vec<TcpStream>)>,
    changed: Condvar,
}

pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

impl Proxy {
    /// To a server on this machine.
    pub fn to(target: u16) -> Self {
        let port = ports::free();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("the port is free");
        let shared = Arc::new(Shared { line: Mutex::new((Line::Open, Vec::new())), changed: Condvar::new() });
        let proxy = Self { port, shared: Arc::clone(&shared) };
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                connect(&client, target, &shared);
            }
        });
        proxy
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn set(&self, line: Line) {
        let mut state = self.shared.line.lock().expect("no holder panics");
        state.0 = line;
        if line == Line::Cut {
            for stream in state.1.drain(..) {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
        self.shared.changed.notify_all();
    }
}

impl Drop for Proxy {
    /// The listener stays for as long as this process does, and takes nobody any more.
    fn drop(&mut self) {
        self.set(Line::Cut);
    }
}

fn connect(client: &TcpStream, target: u16, shared: &Arc<Shared>) {
    let mut state = shared.line.lock().expect("no holder panics");
    if state.0 == Line::Cut {
        let _ = client.shutdown(Shutdown::Both);
        return;
    }
    let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, target)) else {
        let _ = client.shutdown(Shutdown::Both);
        return;
    };
    for (from, to) in [(client, &server), (&server, client)] {
        let _ = from.set_nodelay(true);
        let (from, to) = (clone(from), clone(to));
        state.1.push(clone(&from));
        let shared = Arc::clone(shared);
        std::thread::spawn(move || pass(from, to, &shared));
    }
}

fn clone(stream: &TcpStream) -> TcpStream {
    stream.try_clone().expect("a handle can be copied")
}

fn pass(mut from: TcpStream, mut to: TcpStream, shared: &Shared) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let state = shared.line.lock().expect("no holder panics");
        let state = shared.changed.wait_while(state, |state| state.0 == Line::Silent);
        drop(state.expect("no holder panics"));
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

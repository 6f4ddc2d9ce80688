//! A way to a server that can be cut and mended.

use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

#[derive(Default)]
struct Way {
    is_cut: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

/// Lives as long as the process, as its thread waits for connections.
pub struct Proxy {
    port: u16,
    way: Arc<Way>,
}

impl Proxy {
    /// To a port of this machine.
    pub fn to(port: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let way = Arc::<Way>::default();
        let proxy = Self { port: listener.local_addr().unwrap().port(), way: Arc::clone(&way) };
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if !way.is_cut.load(Ordering::SeqCst) {
                    pass(client, TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap(), &way);
                }
            }
        });
        proxy
    }

    /// To the server of a URL; and the URL by which it is reached through this.
    pub fn before(url: &str) -> (Self, String) {
        let port: u16 = url.split([':', '/']).find_map(|part| part.parse().ok()).unwrap();
        let proxy = Self::to(port);
        let by_proxy = url.replace(&format!(":{port}/"), &format!(":{}/", proxy.port()));
        (proxy, by_proxy)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends what is connected, and whoever connects from now on.
    pub fn cut(&self) {
        self.way.is_cut.store(true, Ordering::SeqCst);
        for stream in self.way.open.lock().unwrap().drain(..) {
            // It may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub fn mend(&self) {
        self.way.is_cut.store(false, Ordering::SeqCst);
    }
}

fn pass(client: TcpStream, server: TcpStream, way: &Way) {
    let copy = |stream: &TcpStream| stream.try_clone().unwrap();
    way.open.lock().unwrap().extend([copy(&client), copy(&server)]);
    for (mut from, mut to) in [(copy(&client), copy(&server)), (server, client)] {
        std::thread::spawn(move || {
            // Either side may close at any time.
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Both);
        });
    }
}

//! A worker's connections, as the thread that accepts them deals them out.

use axum::serve::Listener;
use std::io;
use std::net::{SocketAddr, TcpStream as Accepted};
use tokio::net::TcpStream;
use tokio::sync::mpsc::UnboundedReceiver;

pub struct Connections {
    pub dealt: UnboundedReceiver<Accepted>,
    pub address: SocketAddr,
}

impl Listener for Connections {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        loop {
            match self.dealt.recv().await.map(TcpStream::from_std) {
                Some(Ok(connection)) => return (connection, self.address),
                Some(Err(_)) => {}
                // Nobody accepts any more: this program ends.
                None => std::future::pending().await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}

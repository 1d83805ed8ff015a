//! A body over 127.0.0.1, for clients that take no transport of one's own.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use futures::StreamExt;

use super::{PATIENCE, RUNTIME};
use crate::floors::Floor;
use crate::peer::Chunks;

/// Sends the body once for every [`Loopback::next`].
pub(super) struct Loopback {
    listener: TcpListener,
    chunks: Chunks,
    /// Between chunks, so that the reader gets them as they are cut.
    pause: Duration,
}

impl Loopback {
    pub(super) fn new(chunks: &Chunks, pause: Duration) -> Self {
        Loopback {
            listener: TcpListener::bind("127.0.0.1:0").expect("a port of our own"),
            chunks: chunks.clone(),
            pause,
        }
    }

    pub(super) fn url(&self) -> String {
        let address = self.listener.local_addr().expect("an address");
        format!("http://{address}/v1/")
    }

    /// Answers the next request, and only that one.
    pub(super) fn next(&self) {
        let listener = self.listener.try_clone().expect("a second handle");
        let (chunks, pause) = (self.chunks.clone(), self.pause);
        thread::spawn(move || {
            // A client that goes away early has read what it wanted.
            let _ = listener
                .accept()
                .and_then(|(socket, _)| answer(socket, &chunks, pause));
        });
    }
}

fn answer(mut socket: TcpStream, chunks: &Chunks, pause: Duration) -> std::io::Result<()> {
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    let mut request = BufReader::new(socket.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        request.read_line(&mut line)?;
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.is_empty() {
            break;
        }
    }
    // A socket closed with unread bytes resets the connection under the reader.
    let mut body = vec![0; length];
    std::io::Read::read_exact(&mut request, &mut body)?;
    socket.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
    )?;
    for chunk in chunks.iter() {
        socket.write_all(chunk)?;
        if !pause.is_zero() {
            thread::sleep(pause);
        }
    }
    Ok(())
}

/// What the way over the loopback costs by itself.
pub const DRAINED: Floor = Floor {
    name: "floor: reqwest over 127.0.0.1",
    run: |chunks| {
        let server = Loopback::new(chunks, Duration::ZERO);
        server.next();
        RUNTIME.block_on(async {
            let response = reqwest::get(server.url()).await.expect("a response");
            let mut stream = response.bytes_stream();
            let mut drained = 0;
            while let Some(chunk) = stream.next().await {
                drained += chunk.expect("bytes").len();
            }
            drained
        })
    },
    right: |body| body.bytes.len(),
};

//! From an accepted connection to its end.

use std::{io, sync::Arc, time::Duration};

use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::{JoinSet, spawn_blocking},
    time::{sleep, timeout},
};

use super::{
    Denial, Permit, Permits, ProxyLimits, Why,
    denial::Denied,
    dial::{self, NoConnection},
    forward,
    head::{self, Bad, Plain, Request},
    reply::Reply,
    tunnel::{self, Activity, End},
};
use crate::{HostPort, Resolve};

/// Before accepting again where the machine has no descriptor left.
const PAUSE: Duration = Duration::from_millis(50);

/// What the connections of one box share.
pub(super) struct Service {
    pub(super) permits: Arc<dyn Permits>,
    pub(super) resolver: Arc<dyn Resolve>,
    pub(super) limits: ProxyLimits,
    pub(super) denied: Denied,
}

/// Accepts for ever; dropping the future ends every connection.
pub(super) async fn accept(listener: TcpListener, service: Arc<Service>, all: Arc<Semaphore>) {
    let own = Arc::new(Semaphore::new(service.limits.connections));
    let mut connections = JoinSet::new();
    loop {
        // What is too much waits to be accepted, in the box's own queue.
        let Ok(one) = Arc::clone(&own).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let Ok(of_all) = Arc::clone(&all).acquire_owned().await else { return };
                let service = Arc::clone(&service);
                connections.spawn(async move {
                    service.serve(stream).await;
                    drop((one, of_all));
                });
            }
            Err(_) => sleep(PAUSE).await,
        }
        while connections.try_join_next().is_some() {}
    }
}

impl Service {
    async fn serve(&self, mut stream: TcpStream) {
        let mut rest = Vec::new();
        let request = match timeout(self.limits.head, head::read(&mut stream, &mut rest)).await {
            Err(_) => return Reply::slow().send(stream).await,
            Ok(head) => head.and_then(|head| head::parse(&head)),
        };
        match request {
            Err(bad) => self.refuse_head(stream, bad).await,
            Ok(Request::Tunnel(target)) => self.tunnel(stream, target, rest).await,
            Ok(Request::Plain(request)) => self.plain(stream, request, rest).await,
        }
    }

    async fn refuse_head(&self, stream: TcpStream, bad: Bad) {
        if let Some(reply) = Reply::bad(bad) {
            reply.send(stream).await;
        }
    }

    async fn tunnel(&self, mut client: TcpStream, target: HostPort, first: Vec<u8>) {
        let server = match self.connect(&target).await {
            Ok(server) => server,
            Err(reply) => return reply.send(client).await,
        };
        if client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.is_err() {
            return;
        }
        let end = tunnel::join(client, server, first, target.host(), self.limits.idle).await;
        if end == End::OtherName {
            self.denied.add(&Denial { target, why: Why::OtherName });
        }
    }

    async fn plain(&self, mut client: TcpStream, request: Plain, first: Vec<u8>) {
        let server = match self.connect(&request.target).await {
            Ok(server) => server,
            Err(reply) => return reply.send(client).await,
        };
        let activity = Activity::new();
        let exchange = forward::exchange(&mut client, server, first, &request, &activity);
        let done = tokio::select! {
            done = exchange => done,
            () = activity.quiet(self.limits.idle) => Err(io::ErrorKind::TimedOut.into()),
        };
        if done.is_err() && !activity.answered() {
            let reply = Reply::unreachable(&request.target, "it sent no answer that can be read");
            reply.send(client).await;
        }
    }

    /// Asks the policy, then connects; else what the client is told.
    async fn connect(&self, target: &HostPort) -> Result<TcpStream, Reply> {
        let (permits, asked) = (Arc::clone(&self.permits), target.clone());
        let permit = spawn_blocking(move || permits.permit(&asked)).await;
        // A policy that fails allows nothing.
        let permit = permit.unwrap_or(Permit::No);
        let outcome = if permit == Permit::No {
            let why = target.out_of_reach().map_or(Why::NotAllowed, Why::Address);
            Err(NoConnection::Denied(Denial { target: target.clone(), why }))
        } else {
            dial::dial(target, permit, self.resolver.as_ref(), &self.limits).await
        };
        outcome.map_err(|none| match none {
            NoConnection::Denied(denial) => {
                self.denied.add(&denial);
                Reply::denied(&denial)
            }
            NoConnection::Failed(what) => Reply::unreachable(target, what),
        })
    }
}

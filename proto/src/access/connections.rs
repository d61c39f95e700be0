//! Limits on the number of connections, in total and per peer.
//!
//! A connection is *unproven* until it has carried a request with the right token. Only a few connections may
//! be unproven, and a new one replaces the oldest one of the peer that has the most. So a peer that opens
//! silent connections cannot keep out a peer that shows the token immediately. A proven connection is never
//! closed in favour of another one.
//!
//! The limits are well below the process's limit of file descriptors, so that the journal and the layer files
//! can always be opened.

use fathom_command::machine;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// The limits on the connections of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest number of connections.
    pub all: usize,
    /// Largest number of connections from one IP address.
    pub of_peer: usize,
    /// Largest number of unproven connections.
    pub unproven: usize,
    /// Largest number of unproven connections from one IP address.
    pub unproven_of_peer: usize,
}

impl Limits {
    /// Returns the limits for a process that may have `descriptors` file descriptors: half of them are for
    /// connections.
    pub fn of_descriptors(descriptors: u64) -> Self {
        let all = (descriptors / 2).clamp(32, 16_384) as usize;
        let unproven = (all / 4).min(512);
        Self { all, of_peer: all / 2, unproven, unproven_of_peer: (unproven / 2).min(128) }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::of_descriptors(machine::descriptor_limit())
    }
}

/// The connections of a process.
#[derive(Clone, Debug, Default)]
pub(super) struct Connections(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    limits: Limits,
    next: u64,
    members: BTreeMap<u64, Member>,
    of_peer: BTreeMap<IpAddr, usize>,
    /// The numbers of the unproven connections, oldest first.
    unproven: BTreeMap<u64, CancellationToken>,
    numbers: BTreeMap<SocketAddr, u64>,
}

#[derive(Debug)]
struct Member {
    peer: SocketAddr,
}

/// The place of a connection, which is free again once this value is dropped.
#[derive(Debug)]
pub(super) struct Place {
    number: u64,
    connections: Connections,
    /// Cancelled when the connection must end, because another one takes its place.
    pub(super) end: CancellationToken,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.lock().remove(self.number);
    }
}

/// The error that another connection exceeds a limit: the limit, and its scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many connections: the limit is {0} {1}")]
pub(super) struct Full(usize, &'static str);

impl Connections {
    fn lock(&self) -> MutexGuard<'_, Table> {
        // No change of the table can panic half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place for a connection, if necessary that of an unproven connection.
    pub(super) fn enter(&self, peer: SocketAddr) -> Result<Place, Full> {
        let (number, end) = self.lock().enter(peer)?;
        Ok(Place { number, connections: self.clone(), end })
    }

    /// Notes that a connection has shown the token.
    pub(super) fn prove(&self, peer: SocketAddr) {
        let mut table = self.lock();
        if let Some(number) = table.numbers.get(&peer).copied() {
            table.unproven.remove(&number);
        }
    }
}

impl Table {
    fn enter(&mut self, peer: SocketAddr) -> Result<(u64, CancellationToken), Full> {
        let ip = peer.ip();
        let Limits { all, of_peer, unproven, unproven_of_peer } = self.limits;
        if self.of_peer.get(&ip).is_some_and(|&count| count >= of_peer) && !self.displace(Some(ip)) {
            return Err(Full(of_peer, "per peer"));
        }
        if self.members.len() >= all && !self.displace(None) {
            return Err(Full(all, "in total"));
        }
        if self.unproven_of(ip) >= unproven_of_peer {
            self.displace(Some(ip));
        }
        if self.unproven.len() >= unproven {
            self.displace(None);
        }
        let (number, end) = (self.next, CancellationToken::new());
        self.next += 1;
        self.members.insert(number, Member { peer });
        *self.of_peer.entry(ip).or_default() += 1;
        self.unproven.insert(number, end.clone());
        self.numbers.insert(peer, number);
        Ok((number, end))
    }

    fn unproven_of(&self, ip: IpAddr) -> usize {
        self.unproven.keys().filter(|&number| self.ip(*number) == Some(ip)).count()
    }

    fn ip(&self, number: u64) -> Option<IpAddr> {
        self.members.get(&number).map(|member| member.peer.ip())
    }

    /// Ends the oldest unproven connection of an address, or of the address that has the most. Returns
    /// whether there was one.
    fn displace(&mut self, of: Option<IpAddr>) -> bool {
        let most = || {
            let mut counts: BTreeMap<IpAddr, usize> = BTreeMap::new();
            for ip in self.unproven.keys().filter_map(|&number| self.ip(number)) {
                *counts.entry(ip).or_default() += 1;
            }
            counts.into_iter().max_by_key(|(_, count)| *count).map(|(ip, _)| ip)
        };
        let ip = of.or_else(most);
        let oldest = self.unproven.keys().copied().find(|&number| self.ip(number) == ip);
        let Some(oldest) = oldest else { return false };
        if let Some(end) = self.unproven.get(&oldest) {
            end.cancel();
        }
        self.remove(oldest);
        true
    }

    fn remove(&mut self, number: u64) {
        self.unproven.remove(&number);
        let Some(Member { peer }) = self.members.remove(&number) else { return };
        if self.numbers.get(&peer) == Some(&number) {
            self.numbers.remove(&peer);
        }
        if let Some(count) = self.of_peer.get_mut(&peer.ip()) {
            *count -= 1;
            if *count == 0 {
                self.of_peer.remove(&peer.ip());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { all: 6, of_peer: 4, unproven: 4, unproven_of_peer: 3 };

    fn connections() -> Connections {
        Connections(Arc::new(Mutex::new(Table { limits: LIMITS, ..Table::default() })))
    }

    fn peer(host: u8, port: u16) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, host], port))
    }

    #[test]
    fn newest_connection_replaces_oldest_of_its_peer() {
        let all = connections();
        let other = all.enter(peer(2, 1)).unwrap();
        let places: Vec<Place> = (0..5).map(|port| all.enter(peer(1, port)).unwrap()).collect();
        let ended: Vec<bool> = places.iter().map(|place| place.end.is_cancelled()).collect();
        assert_eq!(ended, [true, true, false, false, false]);
        assert!(!other.end.is_cancelled(), "the peer with the most connections gives way");
        drop(places);
        assert_eq!(all.lock().of_peer.len(), 1);
        drop(other);
        let table = all.lock();
        assert!(table.members.is_empty() && table.unproven.is_empty() && table.numbers.is_empty());
        assert!(table.of_peer.is_empty());
    }

    #[test]
    fn proven_connections_are_never_closed() {
        let all = connections();
        let enter = |host, port| {
            let place = all.enter(peer(host, port))?;
            all.prove(peer(host, port));
            Ok::<_, Full>(place)
        };
        let mut places: Vec<Place> = (0..4).map(|port| enter(1, port).unwrap()).collect();
        assert_eq!(enter(1, 4).unwrap_err(), Full(4, "per peer"));
        places.extend((0..2).map(|port| enter(2, port).unwrap()));
        assert_eq!(enter(3, 0).unwrap_err(), Full(6, "in total"));
        assert!(places.iter().all(|place| !place.end.is_cancelled()));
        places.pop();
        // An unproven connection is replaced by any new one.
        let unproven = all.enter(peer(3, 0)).unwrap();
        places.push(enter(4, 0).unwrap());
        assert!(unproven.end.is_cancelled());
    }

    #[test]
    fn half_of_the_descriptors_are_reserved_for_files() {
        for descriptors in [64, 256, 1024, 4096, 1 << 20] {
            let Limits { all, of_peer, unproven, unproven_of_peer } = Limits::of_descriptors(descriptors);
            assert!(all as u64 <= descriptors / 2 && of_peer < all && unproven < all);
            assert!(unproven_of_peer < unproven && unproven_of_peer > 0);
        }
    }
}

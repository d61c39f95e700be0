//! Layers whose files are on workers, for audits: states are looked up by the workers that hold the files.

use anyhow::{Context, Result, anyhow, bail};
use fathom_engine::audit::{KeptLayer, Place};
use fathom_engine::run::{Geometry, ShardId};
use fathom_proto::access::{Access, Connection};
use fathom_proto::convert::{self, MAX_LOOKED_UP};
use fathom_proto::v1;
use fathom_proto::v1::exchange_client::ExchangeClient;
use fathom_proto::v1::fetch_failure::Kind;
use fathom_proto::v1::look_up_response::Result as Answer;
use fathom_space::CosetId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// The time limit for connecting to a worker.
pub const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// The time limit for an answer of a worker, which may have to open and check a file first.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// The file of a shard and the workers that hold it.
#[derive(Clone, Debug)]
pub struct KeptShard {
    /// The depth.
    pub depth: u32,
    /// The shard.
    pub shard: u32,
    /// The digest of the file's checksums.
    pub digest: Vec<u8>,
    /// Addresses of workers.
    pub holders: Vec<String>,
}

impl KeptShard {
    /// Returns the shards of all kept layers, in the order of the list.
    pub fn all(listed: &v1::ListFilesResponse) -> Vec<Self> {
        let Some(holders) = &listed.holders else { return Vec::new() };
        let of_layer = |layer: &v1::HeldLayer| {
            let depth = layer.depth;
            let kept = |(shard, of_shard): (u32, &v1::HeldShard)| {
                let addresses = of_shard.holders.iter().filter_map(|&n| holders.addresses.get(n as usize));
                let digest = of_shard.digest.to_vec();
                Self { depth, shard, digest, holders: addresses.cloned().collect() }
            };
            (0..).zip(&layer.shards).map(kept).collect::<Vec<_>>()
        };
        holders.layers.iter().flat_map(of_layer).collect()
    }

    /// Returns the identifier of the file used in requests to workers.
    pub fn stored_file(&self) -> v1::StoredFile {
        let file = v1::File { depth: self.depth, shard: self.shard };
        v1::StoredFile { file: Some(file), digest: self.digest.clone().into() }
    }
}

/// The workers of a run.
pub struct Workers {
    runtime: Runtime,
    access: Access,
    fingerprint: Vec<u8>,
    geometry: Geometry,
    clients: Mutex<BTreeMap<String, ExchangeClient<Connection>>>,
}

/// A layer whose files are stored on workers.
struct FarLayer {
    shards: Vec<KeptShard>,
    workers: Arc<Workers>,
}

impl Workers {
    /// Returns the workers of the run with this fingerprint.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub fn new(access: Access, fingerprint: Vec<u8>, geometry: Geometry) -> Result<Arc<Self>> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        Ok(Arc::new(Self { runtime, access, fingerprint, geometry, clients: Mutex::default() }))
    }

    /// Returns a layer by its shards, in order.
    pub fn layer(self: &Arc<Self>, shards: Vec<KeptShard>) -> Box<dyn KeptLayer> {
        Box::new(FarLayer { shards, workers: Arc::clone(self) })
    }

    /// Asks the holders of a file one after the other, until one answers.
    fn ask(&self, shard: &KeptShard, places: &[Place], words: &[u64]) -> Result<LookedUp> {
        let mut why = Vec::new();
        for address in &shard.holders {
            let asked = self.runtime.block_on(async {
                tokio::time::timeout(ANSWER_LIMIT, self.ask_one(address, shard, places, words)).await
            });
            match asked.unwrap_or_else(|_| Err(anyhow!("no response"))) {
                Ok(looked_up) => return Ok(looked_up),
                Err(error) => why.push(format!("{address}: {error:#}")),
            }
        }
        let KeptShard { depth, shard, .. } = shard;
        match why.is_empty() {
            true => bail!("no connected worker has shard {shard} of depth {depth}"),
            false => bail!("cannot read shard {shard} of depth {depth}: {}", why.join("; ")),
        }
    }

    async fn ask_one(
        &self,
        address: &str,
        shard: &KeptShard,
        places: &[Place],
        words: &[u64],
    ) -> Result<LookedUp> {
        let mut client = self.client(address).await?;
        let request = v1::LookUpRequest {
            fingerprint: self.fingerprint.clone().into(),
            file: Some(shard.stored_file()),
            places: places.iter().map(|&(CosetId(coset), position)| v1::Place { coset, position }).collect(),
            words: words.to_vec(),
        };
        let answer = client.look_up(request).await.map_err(|status| anyhow!("{}", status.message()))?;
        let v1::LookedUp { found, of_words, words: number } = match answer.into_inner().result {
            Some(Answer::LookedUp(looked_up)) => looked_up,
            Some(Answer::Failure(v1::FetchFailure { kind })) => match kind {
                Some(Kind::Missing(_)) => {
                    bail!("the file no longer exists; the run deletes old layers as it continues")
                }
                Some(Kind::Damaged(damaged)) => bail!("{}", damaged.message),
                Some(Kind::OtherRun(_)) => bail!("the worker belongs to another run"),
                Some(Kind::Other(other)) => bail!("{}", other.message),
                None => bail!("empty response"),
            },
            None => bail!("empty response"),
        };
        let of_words = convert::looked_up(&of_words, &[], ShardId(shard.shard), &self.geometry)?;
        if found.len() != places.len() || of_words.len() != words.len() {
            bail!("response does not match the request");
        }
        let of_words = of_words.into_iter().map(|(coset, position)| (CosetId(coset), position)).collect();
        Ok(LookedUp { found, of_words, words: number })
    }

    async fn client(&self, address: &str) -> Result<ExchangeClient<Connection>> {
        let clients = || self.clients.lock().expect("no thread panics while it holds the lock");
        if let Some(client) = clients().get(address) {
            return Ok(client.clone());
        }
        let connection = self.access.connect(address, CONNECT_LIMIT).await;
        let client = ExchangeClient::new(connection.map_err(|error| anyhow!("{error}"))?);
        Ok(clients().entry(address.to_owned()).or_insert(client).clone())
    }
}

/// The answer of a worker about a file.
struct LookedUp {
    found: Vec<bool>,
    of_words: Vec<Place>,
    words: u64,
}

impl FarLayer {
    fn shard_of(&self, coset: CosetId) -> Result<usize> {
        let shard = self.workers.geometry.cut.shard_of(coset.0).0 as usize;
        (shard < self.shards.len()).then_some(shard).context("the coordinator does not list all shards")
    }
}

impl KeptLayer for FarLayer {
    fn contain(&self, places: &[Place]) -> Result<Vec<bool>> {
        let mut by_shard: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, &(coset, _)) in places.iter().enumerate() {
            by_shard.entry(self.shard_of(coset)?).or_default().push(index);
        }
        let mut found = vec![false; places.len()];
        for (shard, indices) in by_shard {
            for indices in indices.chunks(MAX_LOOKED_UP) {
                let asked: Vec<Place> = indices.iter().map(|&index| places[index]).collect();
                let answer = self.workers.ask(&self.shards[shard], &asked, &[])?;
                indices.iter().zip(answer.found).for_each(|(&index, is_there)| found[index] = is_there);
            }
        }
        Ok(found)
    }

    fn draw(&self, samples: u64, random: &mut fastrand::Rng) -> Result<Vec<Place>> {
        let mut all = 0;
        let mut up_to = Vec::new();
        for shard in &self.shards {
            all += u128::from(self.workers.ask(shard, &[], &[])?.words);
            up_to.push(all);
        }
        if all == 0 {
            bail!("the layer has no states");
        }
        let mut words: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for _ in 0..samples {
            let word = random.u128(..all);
            let shard = up_to.partition_point(|&up_to| up_to <= word);
            let before = shard.checked_sub(1).map_or(0, |before| up_to[before]);
            words.entry(shard).or_default().push((word - before) as u64);
        }
        let mut drawn = Vec::new();
        for (shard, words) in words {
            for words in words.chunks(MAX_LOOKED_UP) {
                drawn.extend(self.workers.ask(&self.shards[shard], &[], words)?.of_words);
            }
        }
        Ok(drawn)
    }

    fn for_each(&self, show: &mut dyn FnMut(Place)) -> Result<()> {
        for shard in &self.shards {
            let words = self.workers.ask(shard, &[], &[])?.words;
            // The words of one stored state have consecutive numbers, so all but the first are skipped.
            let mut last = None;
            for first in (0..words).step_by(MAX_LOOKED_UP) {
                let some: Vec<u64> = (first..words.min(first + MAX_LOOKED_UP as u64)).collect();
                for place in self.workers.ask(shard, &[], &some)?.of_words {
                    if last.replace(place) != Some(place) {
                        show(place);
                    }
                }
            }
        }
        Ok(())
    }
}

//! Calls of workers: attempts may be lost, duplicated or late, and are repeated until one is answered.

use super::*;
use fathom_proto::sealed::Sealed;
use fathom_proto::v1;
use fathom_worker::cluster::coordinator_client::is_final;
use prost::Message;
use tonic::{Code, Status};

/// What a service that is not the coordinator may answer: a web server, a load balancer without a target, or
/// the coordinator of another run with another token.
const FOREIGN: &[Code] = &[
    Code::Unauthenticated,
    Code::PermissionDenied,
    Code::Unimplemented,
    Code::Unavailable,
    Code::Internal,
    Code::Unknown,
];

impl Simulation {
    pub(super) fn call(&mut self, worker: usize, request: Request) {
        let now = self.now;
        let Some(process) = &mut self.workers[worker].process else { return };
        process.last_call += 1;
        let call = process.last_call;
        process.calls.insert(call, Call { request, attempt: 0, since: now });
        self.send(worker, call);
    }

    pub(super) fn send(&mut self, worker: usize, call: u64) {
        let life = self.workers[worker].life;
        let Some(of) = self.workers[worker].process.as_ref().and_then(|process| process.calls.get(&call))
        else {
            return;
        };
        let sender = Sender { worker, life, call, attempt: of.attempt };
        let (epoch, request) = (self.coordinator.epoch, of.request.clone());
        let passes = self.cuts.passes(Host::Worker(worker), Host::Coordinator, self.now);
        if !passes || self.is_lost() || self.is_flipped(&request) {
            return self.later(100, 5000, Happening::Retry(sender));
        }
        if self.now < self.foreign_until {
            let code = *self.rng.choice(FOREIGN).expect("there are some");
            return self.soon(Happening::Foreign(sender, code));
        }
        if self.rng.u8(..) < self.doubling {
            self.soon(Happening::Arrives(sender, epoch, request.clone()));
        }
        self.soon(Happening::Arrives(sender, epoch, request));
    }

    /// Returns whether a bit of a report flips on its way, which the coordinator must notice.
    fn is_flipped(&mut self, request: &Request) -> bool {
        let &Request::Report(session, number, ref outcomes) = request else { return false };
        if self.rng.u8(..) >= self.flipping {
            return false;
        }
        let outcomes = outcomes.iter().cloned().map(Into::into).collect();
        let report = v1::ReportRequest { session, number, outcomes, ..Default::default() };
        let mut bytes = report.clone().seal().encode_to_vec();
        let at = self.rng.usize(..bytes.len());
        bytes[at] ^= 1 << self.rng.u8(..8);
        let read = v1::ReportRequest::decode(&bytes[..]).ok().and_then(|message| message.open().ok());
        // Not every bit has a meaning: a number may be written in two ways.
        assert!(read.is_none_or(|read| read == report), "a changed report of session {session} is accepted");
        true
    }

    /// A worker gets an answer that is not the coordinator's.
    pub(super) fn foreign(&mut self, sender: Sender, code: Code) {
        if !self.expects(sender, || Happening::Foreign(sender, code)) {
            return;
        }
        let worker = sender.worker;
        let Some(process) = &self.workers[worker].process else { return };
        let has_registered = process.has_registered;
        if !is_final(&Status::new(code, "another service"), has_registered) {
            return self.retry(sender);
        }
        if has_registered {
            self.gone_for_good =
                Some(format!("worker {worker} ended at an answer {code:?} of another service"));
        }
        // Somebody starts it again when the coordinator is back.
        self.end_worker(worker, 30_000);
    }

    /// Returns whether the process of a sender is alive and awake, and waits for this very attempt. For a
    /// sleeping process the event is scheduled again, for when the process wakes.
    pub(super) fn expects(&mut self, sender: Sender, again: impl FnOnce() -> Happening) -> bool {
        let worker = &self.workers[sender.worker];
        let call = worker.process.as_ref().and_then(|process| process.calls.get(&sender.call));
        if worker.life != sender.life || call.is_none_or(|call| call.attempt != sender.attempt) {
            return false;
        }
        let wakes = worker.asleep_until;
        if wakes > self.now {
            self.at(wakes, again());
            return false;
        }
        true
    }

    pub(super) fn answered(&mut self, sender: Sender, answer: Answer) {
        let again = answer.clone();
        if !self.expects(sender, || Happening::Answered(sender, again)) {
            return;
        }
        let Some(process) = &mut self.workers[sender.worker].process else { return };
        process.calls.remove(&sender.call);
        process.has_registered |= matches!(answer, Answer::Input(Input::Registered { .. }));
        match (&mut process.last_words, answer) {
            (None, Answer::Input(input)) => self.step(sender.worker, input),
            (None, Answer::Left) => {}
            (Some(words), _) => match words.pop_front() {
                Some(request) => self.call(sender.worker, request),
                None => self.end_worker(sender.worker, 5000),
            },
        }
    }

    pub(super) fn retry(&mut self, sender: Sender) {
        if !self.expects(sender, || Happening::Retry(sender)) {
            return;
        }
        let now = self.now;
        let Some(process) = &mut self.workers[sender.worker].process else { return };
        let Some(call) = process.calls.get_mut(&sender.call) else { return };
        call.attempt += 1;
        let patience = if process.last_words.is_some() { 5000 } else { PATIENCE };
        if now - call.since > patience {
            return self.end_worker(sender.worker, 5000);
        }
        self.send(sender.worker, sender.call);
    }
}

//! Calls of workers: attempts may be lost, duplicated or late, and are repeated until one is answered.

use super::*;

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
        if !passes || self.is_lost() {
            return self.later(100, 5000, Happening::Retry(sender));
        }
        if self.rng.u8(..) < self.doubling {
            self.soon(Happening::Arrives(sender, epoch, request.clone()));
        }
        self.soon(Happening::Arrives(sender, epoch, request));
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

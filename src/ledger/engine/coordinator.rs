//! DeepSpeed ZeRO stage 3: which parameters are gathered, when, and how long they stay.
//!
//! Written as `deepspeed/runtime/zero/partitioned_param_coordinator.py` (0.19.8) runs once it has recorded the order of
//! modules: each module fetches its parameters and, ahead, those of modules to come; it gives its own back unless they
//! are needed again soon. Within a layer the modules run one after another before the layer's own tensors are looked
//! at.

use super::DeepSpeed;
use std::collections::VecDeque;

/// A run of one module.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Its parameters (indices).
    pub(super) params: Vec<usize>,
}

/// What happens to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// A parameter's tensor of so many elements.
    Gathered(u64),
    Released(u64),
    /// All that one collective gathers, before it is copied out.
    Flat(u64),
    FlatFreed(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Away,
    Flying(usize),
    There,
}

/// One collective.
#[derive(Debug)]
struct Flight {
    params: Vec<usize>,
    /// Elements of its flat output (none for a single parameter).
    flat: Option<u64>,
    landed: bool,
    /// Parameters whose turn has not come.
    left: usize,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Coordinator {
    elements: Vec<u64>,
    /// Small ones stay gathered.
    persists: Vec<bool>,
    order: Vec<Step>,
    /// For each parameter the steps that read it.
    uses: Vec<Vec<usize>>,
    /// For each step the elements that the ones before it read.
    before: Vec<u64>,
    queue: VecDeque<(usize, usize)>,
    status: Vec<Status>,
    /// The step for which a parameter was last fetched, or skipped because it was there.
    fetched_for: Vec<Option<usize>>,
    flights: Vec<Flight>,
    available: u64,
    at: usize,
    most: u64,
    prefetch: u64,
    reuse: u64,
    pub(super) changes: Vec<Change>,
}

impl Coordinator {
    pub(super) fn new(zero: &DeepSpeed, elements: Vec<u64>, order: Vec<Step>) -> Self {
        let persists: Vec<bool> = elements.iter().map(|elements| *elements <= zero.persistence).collect();
        let status = persists.iter().map(|stays| if *stays { Status::There } else { Status::Away }).collect();
        let steps = order.iter().enumerate();
        let queue: VecDeque<(usize, usize)> =
            steps.flat_map(|(at, step)| step.params.iter().map(move |param| (*param, at))).collect();
        let mut uses = vec![Vec::with_capacity(3); elements.len()];
        for (param, at) in &queue {
            uses[*param].push(*at);
        }
        let mut sum = 0_u64;
        let mut before = vec![0];
        before.extend(order.iter().map(|step| {
            sum = step.params.iter().map(|param| elements[*param]).fold(sum, u64::saturating_add);
            sum
        }));
        Self {
            fetched_for: vec![None; elements.len()],
            elements,
            persists,
            order,
            uses,
            before,
            queue,
            status,
            flights: Vec::new(),
            available: 0,
            at: 0,
            most: zero.live,
            prefetch: zero.prefetch,
            reuse: zero.reuse,
            changes: Vec::new(),
        }
    }

    /// `fetch_sub_module`: the next module of the order is about to run.
    pub(super) fn fetch(&mut self) {
        let Some(step) = self.order.get(self.at).cloned() else { return };
        self.gather(step.params.clone());
        for param in &step.params {
            self.wait(*param);
        }
        // Its parameters leave the queue …
        let fresh =
            step.params.iter().filter(|param| self.fetched_for[**param].is_none_or(|step| step < self.at));
        for _ in 0..fresh.count() {
            if let Some((param, at)) = self.queue.pop_front() {
                self.fetched_for[param] = Some(at);
            }
        }
        // … and those of modules to come are gathered ahead.
        let room = self.most.saturating_sub(self.available).min(self.prefetch);
        let (mut ahead, mut sum) = (Vec::new(), 0_u64);
        while sum < room {
            let Some((param, at)) = self.queue.pop_front() else { break };
            self.fetched_for[param] = self.fetched_for[param].max(Some(at));
            if self.status[param] == Status::Away && !ahead.contains(&param) {
                ahead.push(param);
                sum = sum.saturating_add(self.elements[param]);
            }
        }
        self.gather(ahead);
        self.at += 1;
    }

    /// One collective for those that are away.
    fn gather(&mut self, mut params: Vec<usize>) {
        params.retain(|param| self.status[*param] == Status::Away);
        if params.is_empty() {
            return;
        }
        let sum = params.iter().map(|param| self.elements[*param]).fold(0, u64::saturating_add);
        self.available = self.available.saturating_add(sum);
        let flat = (params.len() > 1).then_some(sum);
        self.changes.push(flat.map_or(Change::Gathered(sum), Change::Flat));
        for param in &params {
            self.status[*param] = Status::Flying(self.flights.len());
        }
        self.flights.push(Flight { left: params.len(), params, flat, landed: false });
    }

    /// The first to be waited for copies all of its collective out; the flat output goes with the last.
    fn wait(&mut self, param: usize) {
        let Status::Flying(flight) = self.status[param] else { return };
        self.status[param] = Status::There;
        let flight = &mut self.flights[flight];
        if !std::mem::replace(&mut flight.landed, true) && flight.flat.is_some() {
            let elements = &self.elements;
            self.changes.extend(flight.params.iter().map(|param| Change::Gathered(elements[*param])));
        }
        flight.left -= 1;
        if let Some(flat) = flight.flat.filter(|_| flight.left == 0) {
            self.changes.push(Change::FlatFreed(flat));
        }
    }

    /// `release_sub_module`: the module that ran at `step` is through.
    pub(super) fn release(&mut self, step: usize) {
        let Some(params) = self.order.get(step).map(|step| step.params.clone()) else { return };
        for param in params {
            let skipped = self.fetched_for[param].is_some_and(|step| step > self.at);
            let stays = self.persists[param] || skipped || self.needed_soon(param);
            if !stays && self.status[param] == Status::There {
                self.status[param] = Status::Away;
                self.available = self.available.saturating_sub(self.elements[param]);
                self.changes.push(Change::Released(self.elements[param]));
            }
        }
    }

    /// Whether a module that runs within the reuse distance reads it.
    fn needed_soon(&self, param: usize) -> bool {
        let next = self.uses[param].iter().find(|step| **step >= self.at);
        let distance = next.map(|next| self.before[*next].saturating_sub(self.before[self.at]));
        distance.is_some_and(|distance| distance < self.reuse)
    }

    /// Whatever is there goes when backward is over.
    pub(super) fn reset(&mut self) {
        for param in 0..self.status.len() {
            self.wait(param);
            if self.status[param] == Status::There && !self.persists[param] {
                self.status[param] = Status::Away;
                self.changes.push(Change::Released(self.elements[param]));
            }
        }
    }
}

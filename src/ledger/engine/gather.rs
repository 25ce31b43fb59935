//! DeepSpeed ZeRO stage 3 over a step: in which order modules run, and what the coordinator does before and after each
//! part.

pub(super) use super::coordinator::{Change, Step};

use super::DeepSpeed;
use super::coordinator::Coordinator;
use super::units::Unit;
use std::ops::Range;

/// Modules of one part in the order of their forward: a parent (which has no parameters of its own, but fetches ahead as
/// every module does), then each module with its parameters.
pub(super) fn steps(unit: &Unit, first: usize) -> Vec<Step> {
    let mut steps = vec![Step { params: Vec::new() }];
    let mut last = ("", "");
    for (index, stored) in unit.trained().enumerate() {
        let module = stored.weight.param.module();
        let parent = module.split('.').next().unwrap_or(module);
        if parent != last.0 && parent != module {
            steps.push(Step { params: Vec::new() });
        }
        match steps.last_mut() {
            Some(step) if module == last.1 => step.params.push(first + index),
            _ => steps.push(Step { params: vec![first + index] }),
        }
        last = (parent, module);
    }
    steps
}

/// See the module.
#[derive(Debug)]
pub(super) struct Gather {
    pub(super) coordinator: Coordinator,
    /// Steps of the forward of each part: embedding, layers, head.
    forward: Vec<Range<usize>>,
    /// Steps of the recomputation of each part, and of its backward.
    again: Vec<Range<usize>>,
    backward: Vec<Range<usize>>,
}

impl Gather {
    /// `modules` of embedding, layers and head; which layers are recomputed.
    pub(super) fn new(
        zero: &DeepSpeed,
        elements: Vec<u64>,
        modules: &[Vec<Step>],
        recomputed: &[bool],
    ) -> Self {
        // The model and its body come first.
        let mut order = vec![Step { params: Vec::new() }; 2];
        let mut add = |steps: &mut dyn Iterator<Item = &Step>| {
            let start = order.len();
            order.extend(steps.cloned());
            start..order.len()
        };
        let forward: Vec<_> = modules.iter().map(|steps| add(&mut steps.iter())).collect();
        let (mut again, mut backward) = (vec![0..0; modules.len()], vec![0..0; modules.len()]);
        for (part, steps) in modules.iter().enumerate().rev() {
            let layer = part.checked_sub(1).and_then(|layer| recomputed.get(layer));
            if layer.copied().unwrap_or(false) {
                again[part] = add(&mut steps.iter());
            }
            backward[part] = add(&mut steps.iter().rev());
        }
        Self { coordinator: Coordinator::new(zero, elements, order), forward, again, backward }
    }

    /// Runs these modules one after another; all but the last give back what they fetched.
    fn run(&mut self, steps: Range<usize>) {
        let last = steps.end;
        for step in steps {
            self.coordinator.fetch();
            if step + 1 < last {
                self.coordinator.release(step);
            }
        }
    }

    fn last(&mut self, steps: &Range<usize>) {
        if let Some(last) = steps.end.checked_sub(1).filter(|last| *last >= steps.start) {
            self.coordinator.release(last);
        }
    }

    pub(super) fn before_embedding(&mut self) {
        self.run(0..2);
        self.before(0);
    }

    pub(super) fn before(&mut self, part: usize) {
        self.run(self.forward[part].clone());
    }

    pub(super) fn after(&mut self, part: usize) {
        self.last(&self.forward[part].clone());
    }

    pub(super) fn before_loss_backward(&mut self) {
        let head = self.backward.len() - 1;
        self.run(self.backward[head].clone());
    }

    pub(super) fn after_loss_backward(&mut self) {
        let head = self.backward.len() - 1;
        self.last(&self.backward[head].clone());
    }

    pub(super) fn before_backward(&mut self, layer: usize) {
        self.run(self.again[layer + 1].clone());
        self.last(&self.again[layer + 1].clone());
        // The first module of its backward.
        let first = self.backward[layer + 1].start;
        self.run(first..first + 1);
    }

    pub(super) fn after_backward(&mut self, layer: usize) {
        let steps = self.backward[layer + 1].clone();
        self.coordinator.release(steps.start);
        self.run(steps.start + 1..steps.end);
        self.last(&(steps.start + 1..steps.end));
    }

    pub(super) fn before_embedding_backward(&mut self) {
        self.run(self.backward[0].clone());
    }
}

//! FSDP2 (`torch.distributed.fsdp.fully_shard`): every parameter is split along its first axis; each layer is a group
//! that is gathered before it runs and reduced once its backward is over, and what is around the layers is one more.
//!
//! Written as `torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py` and `_fsdp_collectives.py` (torch 2.15) run.

use super::script::{BufferId, Owner, Script, Side};
use super::units::{Stored, Unit, Units};
use super::{Accumulated, Fsdp};
use crate::ledger::{Block, Dtype, Phase, Shape, Symbols};
use crate::text::tensors;

/// The buffers of one group.
#[derive(Clone, Copy, Debug)]
struct Buffers {
    /// This rank's shard in the type that is gathered, where it is stored in another one.
    cast: Option<BufferId>,
    /// All shards one after another, as the collective writes them.
    output: BufferId,
    /// The parameters, copied out of it.
    parameters: BufferId,
    /// Whole gradients in the reduced type, kept while micro-batches are not reduced.
    whole: BufferId,
    /// The gradients in the order in which they are scattered.
    reduce_input: BufferId,
    /// Where each of them is: the copying kernel's table.
    table: BufferId,
    /// This rank's share of their sum, where it is cast afterwards.
    reduce_output: Option<BufferId>,
    /// The gradients of the shards.
    gradients: BufferId,
    trains: bool,
}

/// Where the framework stands.
struct Run<'r> {
    script: Script,
    fsdp: &'r Fsdp,
    numbers: &'r Symbols,
    /// The layers' groups, then those of the ends.
    groups: Vec<Buffers>,
    gathered: Vec<bool>,
    /// A group whose collective was started ahead.
    prefetched: Option<usize>,
    /// The output of the last group gathered in forward: freed once the next one is copied out.
    deferred: Option<usize>,
    /// The input of the last reduction, kept until the next one.
    reducing: Option<usize>,
    /// This rank's rows of the embedding's gradient, where that is made for the whole vocabulary: copied out of it when
    /// gradients are taken (`FSDPParam._get_grad_inner_tensor`).
    own_rows: Option<BufferId>,
    /// They are there.
    moved: Option<BufferId>,
}

/// The groups around the layers.
#[derive(Clone, Copy)]
enum Ends {
    /// The root: embedding, final norm and head.
    Root(usize),
    /// torchtitan: the embedding; final norm and head.
    Wrapped { embedding: usize, head: usize },
}

/// A step. `order` gives for each layer its kind.
#[inline(never)] // apart: a first visit has none
pub(super) fn script(
    fsdp: &Fsdp,
    units: &Units,
    order: &[usize],
    (stream, whole_embedding): (Dtype, bool),
    numbers: &Symbols,
) -> Script {
    let layers = order.len();
    let mut run = Run {
        script: Script::new(layers, stream, numbers),
        fsdp,
        numbers,
        groups: Vec::with_capacity(layers + 2),
        gathered: vec![false; layers + 2],
        prefetched: None,
        deferred: None,
        reducing: None,
        own_rows: None,
        moved: None,
    };
    if let Some(table) = units.embedding.trained().next().filter(|_| whole_embedding) {
        let (elements, dtype) = (table.shape.elements(numbers), fsdp.gathered(table.dtype));
        let span = (Phase::EmbeddingBackward, Phase::EmbeddingBackward);
        let tensor = &tensors::REDISTRIBUTED_GRADIENT;
        let rows = units.embedding.flat(tensor, Block::Overhead, (elements, dtype), span, numbers);
        run.own_rows = Some(run.script.buffer(rows));
    }
    let kinds: Vec<Buffers> = units.kinds.iter().map(|unit| run.declare(unit)).collect();
    run.groups.extend(order.iter().map(|kind| kinds[*kind]));
    let ends = if fsdp.wrap_head {
        let (embedding, head) = (run.declare(&units.embedding), run.declare(&units.head));
        run.groups.extend([embedding, head]);
        Ends::Wrapped { embedding: layers, head: layers + 1 }
    } else {
        let root = run.declare(&units.root());
        run.groups.push(root);
        Ends::Root(layers)
    };
    for buffers in &run.groups {
        match fsdp.accumulated {
            Accumulated::No => {}
            Accumulated::Reduced => run.script.buffers[buffers.gradients].at_start += 1,
            Accumulated::Whole => run.script.buffers[buffers.whole].at_start += 1,
        }
    }
    run.forward(layers, ends);
    run.backward(layers, ends);
    run.script
}

impl Run<'_> {
    /// Declares the buffers of a group.
    fn declare(&mut self, unit: &Unit) -> Buffers {
        let Self { fsdp, numbers, .. } = *self;
        let share = |stored: &Stored| {
            let one = stored.shape.sharded(fsdp.shards).elements(numbers);
            one.saturating_mul(stored.weight.count)
        };
        // Parameters of several types are gathered as bytes.
        let mut types = unit.params.iter().map(|stored| fsdp.gathered(stored.dtype));
        let first = types.next().unwrap_or(Dtype::Byte);
        let dtype = if types.all(|dtype| dtype == first) { first } else { Dtype::Byte };
        let local = unit.params.iter().fold(0_u64, |sum, stored| {
            let width = fsdp.gathered(stored.dtype).bytes() / dtype.bytes();
            sum.saturating_add(share(stored).saturating_mul(width))
        });
        let moves =
            fsdp.offload || unit.params.iter().any(|stored| fsdp.gathered(stored.dtype) != stored.dtype);
        let trained = unit.trained().map(share).fold(0_u64, u64::saturating_add);
        let reduced = fsdp.reduced(unit.trained().next().map_or(dtype, |stored| stored.dtype));
        let rows = unit.trained().fold(TABLE_ENDS, |sum, stored| {
            let bytes = stored.shape.sharded(fsdp.shards).elements(numbers).saturating_mul(reduced.bytes());
            let each = bytes.div_ceil(TABLE_BLOCK).saturating_add(TABLE_COLUMNS);
            sum.saturating_add(each.saturating_mul(stored.weight.count))
        });
        let differs = unit.trained().any(|stored| stored.dtype != reduced);

        let script = &mut self.script;
        let mut flat = |tensor, elements, dtype, span| {
            script.buffer(unit.flat(tensor, Block::Overhead, (elements, dtype), span, numbers))
        };
        let runs = (Phase::Embedding, Phase::EmbeddingBackward);
        let backward = (Phase::Backward, Phase::EmbeddingBackward);
        let whole = local.saturating_mul(fsdp.shards);
        let cast = moves.then(|| flat(&tensors::ALL_GATHER_INPUT, local, dtype, runs));
        let output = flat(&tensors::ALL_GATHER_OUTPUT, whole, dtype, runs);
        let parameters = flat(&tensors::GATHERED, whole, dtype, runs);
        let reduce_input =
            flat(&tensors::REDUCE_INPUT, trained.saturating_mul(fsdp.shards), reduced, backward);
        let table = flat(&tensors::COPY_TABLE, rows, Dtype::Int64, backward);
        let reduce_output =
            (differs && trained > 0).then(|| flat(&tensors::REDUCE_OUTPUT, trained, reduced, backward));
        let sharded = |shape: Shape| shape.sharded(fsdp.shards);
        let gradients = unit.gradients(&tensors::WEIGHT_GRADIENT, |stored| stored.dtype, sharded, numbers);
        let kept = unit.gradients(&tensors::WHOLE_GRADIENT, |_| reduced, |shape| shape, numbers);
        Buffers {
            cast,
            output,
            parameters,
            whole: script.buffer(kept),
            reduce_input,
            table,
            reduce_output,
            gradients: script.buffer(gradients),
            trains: trained > 0,
        }
    }

    fn forward(&mut self, layers: usize, ends: Ends) {
        self.script.at(Side::Before, Phase::Embedding, 0);
        let (Ends::Root(first) | Ends::Wrapped { embedding: first, .. }) = ends;
        self.unshard(first);
        self.wait_for_unshard(first, true);
        if self.fsdp.reshard && matches!(ends, Ends::Wrapped { .. }) {
            self.script.at(Side::After, Phase::Embedding, 0);
            self.reshard(first);
        }
        for layer in 0..layers {
            self.script.at(Side::Before, Phase::Forward, layer);
            self.unshard(layer);
            self.wait_for_unshard(layer, true);
            if self.fsdp.reshard {
                self.script.at(Side::After, Phase::Forward, layer);
                self.reshard(layer);
            }
        }
        if let Ends::Wrapped { head, .. } = ends {
            self.script.at(Side::Before, Phase::Loss, 0);
            self.unshard(head);
            self.wait_for_unshard(head, true);
        }
        // The model's forward is over.
        let side = if self.fsdp.loss_outside { Side::Before } else { Side::After };
        self.script.at(side, Phase::Loss, 0);
        self.release_deferred();
    }

    fn backward(&mut self, layers: usize, ends: Ends) {
        let side = if self.fsdp.loss_outside { Side::After } else { Side::Before };
        self.script.at(side, Phase::LossBackward, 0);
        // The group of the head has its parameters still, and starts to gather the last layer.
        if let Some(last) = layers.checked_sub(1) {
            self.unshard(last);
        }
        if let Ends::Wrapped { head, .. } = ends {
            self.script.at(Side::After, Phase::LossBackward, 0);
            self.post_backward(head, &[Owner::Loss]);
        }
        for layer in (0..layers).rev() {
            self.script.at(Side::Before, Phase::Backward, layer);
            self.unshard(layer);
            self.wait_for_unshard(layer, false);
            match (layer.checked_sub(1), ends) {
                (Some(before), _) => self.unshard(before),
                (None, Ends::Wrapped { embedding, .. }) => self.unshard(embedding),
                (None, Ends::Root(_)) => {}
            }
            self.script.at(Side::After, Phase::Backward, layer);
            self.post_backward(layer, &[Owner::Here]);
        }
        let (Ends::Root(last) | Ends::Wrapped { embedding: last, .. }) = ends;
        if matches!(ends, Ends::Wrapped { .. }) {
            self.script.at(Side::Before, Phase::EmbeddingBackward, 0);
            self.unshard(last);
            self.wait_for_unshard(last, false);
        }
        self.script.at(Side::After, Phase::EmbeddingBackward, 0);
        let owners: &[Owner] =
            if matches!(ends, Ends::Root(_)) { &[Owner::Here, Owner::Loss] } else { &[Owner::Here] };
        self.moved = self.own_rows;
        if let Some(rows) = self.moved {
            self.script.make(rows);
            self.script.release(Owner::Here);
        }
        self.post_backward(last, owners);
        self.finalize();
        self.script.at(Side::After, Phase::Optimizer, 0);
        for group in 0..self.groups.len() {
            if !self.fsdp.offload {
                self.script.free(self.groups[group].gradients);
            }
        }
        self.script.close();
    }

    /// `FSDPParamGroup.unshard`: starts the collective, unless it was started or the parameters are there.
    fn unshard(&mut self, group: usize) {
        if self.gathered[group] || self.prefetched == Some(group) {
            return;
        }
        let Buffers { cast, output, .. } = self.groups[group];
        if let Some(cast) = cast {
            self.script.make(cast);
        }
        self.script.make(output);
        if let Some(cast) = cast {
            self.script.free(cast);
        }
        self.prefetched = Some(group);
    }

    /// `FSDPParamGroup.wait_for_unshard`: copies the parameters out. In forward the output lives until the next group is
    /// copied out, so that the two overlap.
    fn wait_for_unshard(&mut self, group: usize, forward: bool) {
        if self.gathered[group] {
            return;
        }
        self.prefetched = None;
        self.release_deferred();
        self.script.make(self.groups[group].parameters);
        self.gathered[group] = true;
        if forward {
            self.deferred = Some(group);
        } else {
            self.script.free(self.groups[group].output);
        }
    }

    fn release_deferred(&mut self) {
        if let Some(deferred) = self.deferred.take() {
            self.script.free(self.groups[deferred].output);
        }
    }

    fn reshard(&mut self, group: usize) {
        if std::mem::take(&mut self.gathered[group]) {
            self.script.free(self.groups[group].parameters);
        }
    }

    /// `FSDPParamGroup.post_backward` and `foreach_reduce`.
    fn post_backward(&mut self, group: usize, owners: &[Owner]) {
        let buffers = self.groups[group];
        self.reshard(group);
        if let Some(last) = self.reducing.take() {
            self.script.free(self.groups[last].reduce_input);
        }
        if !buffers.trains {
            return;
        }
        self.script.make(buffers.reduce_input);
        self.script.make(buffers.table);
        self.script.free(buffers.table);
        for owner in owners {
            self.script.release(*owner);
        }
        if let Some(rows) = self.moved.take() {
            self.script.free(rows);
        }
        if self.fsdp.accumulated == Accumulated::Whole {
            self.script.free(buffers.whole);
        }
        if let Some(output) = buffers.reduce_output {
            self.script.make(output);
        }
        self.script.make(buffers.gradients);
        if let Some(output) = buffers.reduce_output.filter(|_| !self.held()) {
            self.script.free(output);
        }
        // Added to those of the micro-batches before, or copied to the host.
        if self.fsdp.offload || self.fsdp.accumulated == Accumulated::Reduced {
            self.script.free(buffers.gradients);
        }
        self.reducing = Some(group);
    }

    /// An all-reduce between the replicas holds what it reduced until backward is over (`AllReduceState`).
    fn held(&self) -> bool {
        self.fsdp.replicas > 1
    }

    fn finalize(&mut self) {
        if let Some(last) = self.reducing.take() {
            self.script.free(self.groups[last].reduce_input);
        }
        if self.held() {
            for group in 0..self.groups.len() {
                if let Some(output) = self.groups[group].reduce_output {
                    self.script.free(output);
                }
            }
        }
    }
}

/// Bytes that one block of the kernel `_chunk_cat` copies, what its table holds for each tensor beside its blocks, and
/// what for all (pytorch/aten/src/ATen/native/cuda/TensorShape.cu, `get_chunk_cat_metadata`).
const TABLE_BLOCK: u64 = 2048;
const TABLE_COLUMNS: u64 = 6;
const TABLE_ENDS: u64 = 2;
